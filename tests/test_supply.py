"""Loaders measured side by side: what is known of a driver is what is measured of it, and no loader keeps another from being measured."""

import errno
import json
import mmap
import os
import shlex
import shutil
import subprocess
import sys
import threading
import time
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import paced
import pytest
from typer.testing import CliRunner

from fivepoint.cli import app
from fivepoint.conformance import opening, peers
from fivepoint.conformance.doors import InProcess, Processes, procfs
from fivepoint.conformance.driver import Layout
from fivepoint.conformance.drivers.reference import ReferenceDriver
from fivepoint.conformance.peers import Peer
from fivepoint.conformance.supply import resuming
from fivepoint.conformance.supply import run as runs
from fivepoint.conformance.supply import seat as seats
from fivepoint.conformance.supply import slowly as slow_measures
from fivepoint.conformance.supply import table as tables
from fivepoint.conformance.supply.contestant import Contestant
from fivepoint.conformance.supply.data import write
from fivepoint.conformance.supply.dropping import stays
from fivepoint.conformance.supply.measures import Effort, prepare, round_of
from fivepoint.conformance.supply.mounting import missing, slow
from fivepoint.conformance.supply.results import LIMITS, MEASURES, Cell, Loader, Result, read
from fivepoint.conformance.supply.seat import Seat, Unmeasured
from fivepoint.conformance.supply.slowly import slowly, stalled
from fivepoint.conformance.supply.verdicts import verdicts
from fivepoint.errors import OutputError, UsageError
from fivepoint.reference.schema import validate

ROWS, SEQ_LEN = 4, 1024
EFFORT = Effort(rounds=1, seconds=0.4, demand=ROWS * SEQ_LEN / 0.05, steps=12, reach=1.5)
JAVASCRIPT = Path(__file__).parent / "javascript" / "loader.mjs"


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return write(tmp_path_factory.mktemp("data") / "corpus", 1_000_000, SEQ_LEN)


@pytest.fixture
def contestant(tmp_path):
    small = write(tmp_path / "small", 16 * SEQ_LEN, SEQ_LEN)

    def made(name: str, limit: float = 30.0) -> Contestant:
        door = Processes(shlex.split(name)) if " " in name else InProcess(f"paced:{name}", limit)
        one = Contestant(name, door, tmp_path / "loader", small, ROWS)
        one.declare()
        return one

    return made


@pytest.fixture
def slow_files():
    """Skips where there is no slow file system; where the tests are to be complete, there has to be one."""
    if reason := missing():
        assert "CI" not in os.environ, reason
        pytest.skip(reason)


def measured(one: Contestant, data) -> dict[str, Cell]:
    prepare(one, data)
    round_of(one, data, EFFORT, first=True)
    return one.finish().cells


@pytest.mark.slow
def test_a_known_pause_is_what_is_measured(contestant, data):
    cells = measured(contestant("Pauses"), data)
    most = ROWS / paced.PAUSE
    assert 0.5 * most < cells["warm"].value <= most
    assert cells["first_batch_warm"].value >= paced.PAUSE
    period = 0.05
    assert 0.3 < cells["demand"].value <= 1.01 * period / (period + paced.PAUSE)
    assert cells["memory_of_run"].value < cells["memory"].value


@pytest.fixture
def on_disk(data):
    """Skips where temporary files are in memory, or nothing that is fetched is counted; where the tests are to be complete, they are."""
    if reason := stays(data.shard):
        assert "CI" not in os.environ, reason
        pytest.skip(reason)


@pytest.mark.slow
@pytest.mark.usefixtures("on_disk")
def test_bytes_are_counted_where_windows_are_read_from_a_disk(contestant, data):
    cells = measured(contestant("Reads"), data)
    assert 0.9 < cells["bytes_read"].value < 4
    assert cells["cold"].value > 0


@pytest.fixture
def in_memory():
    """A folder whose files never leave memory."""
    if not os.access("/dev/shm", os.W_OK):
        assert "CI" not in os.environ, "expected a file system in memory at /dev/shm"
        pytest.skip("needs a file system in memory at /dev/shm")
    with TemporaryDirectory(dir="/dev/shm") as folder:
        yield Path(folder)


@pytest.mark.slow
def test_what_stays_in_memory_is_not_called_cold(in_memory, tmp_path):
    kept = write(in_memory / "corpus", 1_000_000, SEQ_LEN)
    assert stays(kept.shard) == "its pages stay in memory"
    one = Contestant("Pauses", InProcess("paced:Pauses"), in_memory / "loader", write(in_memory / "small", 16 * SEQ_LEN, SEQ_LEN), ROWS)
    one.declare()
    cells = measured(one, kept)
    for name in ("cold", "first_batch_cold", "bytes_read"):
        assert cells[name] == Cell(reason="not cold: its pages stay in memory"), name
    assert cells["warm"].value > 0 and cells["memory"].value > 0
    (in_memory / "run").mkdir()
    result = runs.measured([], 1_000_000, EFFORT, in_memory / "run", lambda *_: None)
    said = f"no disk below {in_memory}: its pages stay in memory; name one with --folder"
    assert result.limits["pread_cold"] == result.limits["mmap_cold"] == Cell(reason=said)
    assert result.limits["pread_warm"].value and result.limits["pread_warm_threads"].value
    validate(result.to_json(), "supply", "the result", UsageError)


def test_a_readahead_that_nobody_knows_is_called_unknown(data, monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(procfs, "BLOCK", tmp_path)
    assert procfs.readahead(data.shard) == 1 << 24, "a check allows for so much"
    unknown = Result(runs.conditions(data, data, EFFORT), {limit.name: Cell(1.0) for limit in LIMITS}, [])
    assert unknown.conditions["readahead_bytes"] is None
    validate(unknown.to_json(), "supply", "the result", UsageError)
    tables.print_result(unknown)
    assert "reads ahead as much as it does not say" in " ".join(capsys.readouterr().out.split())


@pytest.mark.slow
def test_what_hides_latency_by_workers_is_measured_with_them(contestant, data, slow_files):
    one = contestant("ReadsAheadByWorkers")
    cells = measured(one, data)
    assert cells["demand"].note.endswith(" workers"), cells["demand"]
    slowly(one, data, Effort(demand=ROWS * SEQ_LEN / 0.1, latency=0.06, stall=0.5, steps=15))
    cells = one.finish().cells
    assert cells["demand_slow"].value > 0.7 and cells["demand_slow"].note.endswith("2 workers")
    assert cells["stall"].value < 0.3 and cells["stall"].note.endswith("2 workers")
    assert set(cells) >= {"cold", "memory", "first_batch_slow"} and not (cells["cold"].value and not cells["cold"].note)


def test_the_better_number_of_workers_counts_and_one_that_failed_does_not(contestant):
    one = contestant("ReadsAheadByWorkers")
    for workers, warm, wait in ((0, 10.0, 0.2), (2, 20.0, 0.1)):
        one.add(f"warm {workers}", warm)
        one.add(f"memory {workers}", warm, "held")
        one.add(f"stall {workers}", wait)
        one.add(f"cold {workers}", warm)
    with one.kept("cold 2"):
        raise Unmeasured("fails")
    with one.kept("demand 0", "demand 2"):
        raise Unmeasured("refuses")
    cells = one.finish().cells
    assert cells["warm"] == Cell(20.0, note="2 workers")
    assert cells["memory"] == Cell(20.0, note="held, 2 workers")
    assert cells["stall"] == Cell(0.1, note="2 workers")
    assert cells["cold"] == Cell(10.0, note="0 workers; with 2: fails")
    assert cells["demand"] == Cell(reason="refuses")


def test_memory_is_shown_where_there_was_no_supply_to_choose_workers_by(contestant):
    one = contestant("ReadsAheadByWorkers")
    one.add("memory 0", 5.0)
    with one.kept("warm 0", "warm 2"):
        raise Unmeasured("served nothing")
    cells = one.finish().cells
    assert cells["memory"] == Cell(5.0, note="0 workers") and cells["warm"] == Cell(reason="served nothing")


def pulled(seat: Seat, data, workdir: Path, **asked):
    seat.build(data, workdir, Layout(0, 1, ROWS))
    return seat.pull(5, **asked)


def test_steps_are_taken_in_the_process_of_the_driver_or_over_the_pipe(data, tmp_path):
    for pulls in (True, False):
        with Seat(InProcess("paced:Pauses"), tmp_path, pulls) as seat:
            found = pulled(seat, data.of_length(1000), tmp_path)
            assert (found.rows, len(found.waits), found.ended) == (5 * ROWS, 5, False)
            assert (found.waits >= paced.PAUSE).all() and found.seconds >= found.waits.sum()
            late = seat.pull(10**6, seconds=0.1)
            assert 1 <= len(late.waits) <= 6 and late.seconds < 1.5


def test_a_run_that_is_over_says_so(data, tmp_path):
    for pulls in (True, False):
        with Seat(InProcess("paced:Reads"), tmp_path, pulls) as seat:
            found = pulled(seat, data.of_length(3 * ROWS), tmp_path)
            assert (found.rows, found.ended) == (3 * ROWS, True)
            with pytest.raises(Unmeasured, match="the run was over"):
                _ = seat.pull(1).supply


@pytest.mark.parametrize(
    ("driver", "reason"),
    [
        ("Dies", "ended"),
        ("Fails", r"^fails: ValueError: a shard is missing"),
        ("Hangs", "did not answer within 9 s"),
        ("Nowhere", "."),
    ],
)
@pytest.mark.slow
def test_what_fails_is_a_reason_in_a_few_words(tmp_path, data, driver, reason):
    with pytest.raises(Unmeasured, match=reason) as raised, Seat(InProcess(f"paced:{driver}", 8.0), tmp_path) as seat:
        pulled(seat, data, tmp_path, seconds=1.0)
    assert len(str(raised.value)) < 110 and "\n" not in str(raised.value)


@pytest.mark.slow
def test_what_takes_too_much_memory_is_stopped(tmp_path, data, monkeypatch):
    monkeypatch.setattr(seats, "most_memory", lambda: 200 << 20)
    with pytest.raises(Unmeasured, match=r"was stopped at 0\.\d GiB of memory"), Seat(InProcess("paced:Grows"), tmp_path) as seat:
        pulled(seat, data, tmp_path)


@pytest.mark.slow
def test_no_loader_is_timed_whose_rows_are_no_windows(contestant, data):
    with pytest.raises(Unmeasured, match="no stretch of the corpus"):
        prepare(contestant("MakesItsOwn"), data)


def test_rows_are_told_from_windows(data):
    window = np.arange(5 * SEQ_LEN, 6 * SEQ_LEN)[None]
    assert data.unlike([{"inputs": window, "targets": window + 1}]) == ""
    assert "follow" in data.unlike([{"inputs": window, "targets": window}])
    assert "of a corpus of" in data.unlike([{"inputs": window + data.tokens}])
    assert "shape" in data.unlike([{"inputs": window[:, 1:]}])


@pytest.mark.slow
def test_a_loader_in_another_language_is_measured_over_the_pipe(contestant, data):
    if not shutil.which("node"):
        assert "CI" not in os.environ, "expected node"
        pytest.skip("needs node")
    one = contestant(shlex.join(["node", str(JAVASCRIPT)]))
    assert one.loader.over_a_pipe
    cells = measured(one, data)
    assert cells["warm"].value > 0 and cells["demand"].value > 0.3
    reached = resuming.reach(one, data, EFFORT)
    resuming.resume_round(one, reached, first=True)
    assert one.loader.exact and one.finish().cells["resume_99"].value > 0


@pytest.mark.slow
@pytest.mark.usefixtures("slow_files")
def test_only_who_reads_ahead_does_not_wait_for_slow_reads(contestant, data):
    effort = Effort(demand=ROWS * SEQ_LEN / 0.1, latency=0.06, stall=0.5, steps=15)
    waits = {}
    for driver in ("Reads", "ReadsAhead"):
        one = contestant(driver)
        slowly(one, data, effort)
        waits[driver] = one.finish().cells
        shutil.rmtree(one.folder)
    # Four reads, one after the other, and 100 ms of work; or all of them while it works.
    assert waits["Reads"]["demand_slow"].value < 0.4
    assert waits["ReadsAhead"]["demand_slow"].value > 0.7
    assert waits["Reads"]["first_batch_slow"].value > 4 * 0.06
    assert waits["ReadsAhead"]["first_batch_slow"].value > 0.06
    assert waits["Reads"]["stall"].value > 0.3
    assert waits["ReadsAhead"]["stall"].value < 0.3


@pytest.mark.usefixtures("slow_files")
def test_a_full_disk_is_a_reason(contestant, data, monkeypatch):
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    one = contestant("Reads")
    monkeypatch.setattr(slow_measures.shutil, "copytree", full)
    slowly(one, data, EFFORT)
    cells = one.finish().cells
    for name in ("first_batch_slow", "demand_slow", "stall"):
        assert cells[name] == Cell(reason="no slow files: No space left on device"), name


class Stalls:
    """Files that are told to stall, and cannot."""

    def stall(self, seconds: float) -> None:
        raise Unmeasured("the slow file system ended")


def test_a_stall_ends_with_whoever_waits_for_it():
    before = threading.active_count()
    begun = time.perf_counter()
    with pytest.raises(Unmeasured, match="the run was over"), stalled(Stalls(), 60.0, 1.0):
        raise Unmeasured("the run was over")
    assert time.perf_counter() - begun < 30 and threading.active_count() == before
    with pytest.raises(Unmeasured, match="file system ended"), stalled(Stalls(), 0.0, 1.0):
        time.sleep(0.2)


@pytest.fixture
def mounted(slow_files, tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "mounted").mkdir()
    (tmp_path / "real" / "large").write_bytes(bytes(range(256)) * 16384)
    with slow(tmp_path / "real", tmp_path / "mounted") as files:
        yield files
    assert not os.path.ismount(tmp_path / "mounted") and not list((tmp_path / "mounted").iterdir())


def took(do) -> float:
    begun = time.perf_counter()
    do()
    return time.perf_counter() - begun


def test_a_mapped_page_waits_once_and_reads_wait_side_by_side(mounted):
    mounted.latency(0.1)
    large = np.memmap(mounted.folder / "large", np.uint8, "r")
    assert took(lambda: large[1 << 20]) >= 0.1
    assert took(lambda: large[1 << 20]) < 0.05
    file = os.open(mounted.folder / "large", os.O_RDONLY)
    os.posix_fadvise(file, 0, 0, os.POSIX_FADV_RANDOM)
    places = [threading.Thread(target=os.pread, args=(file, 4096, (2 << 20) + (k << 16))) for k in range(16)]

    def together() -> None:
        for place in places:
            place.start()
        for place in places:
            place.join()

    assert 0.1 <= took(together) < 0.8
    os.close(file)


def test_a_stall_holds_every_read_until_it_is_over(mounted):
    mounted.stall(0.4)
    with (mounted.folder / "large").open("rb") as file:
        assert took(lambda: file.read(10)) > 0.3
        file.seek(3 << 20)
        assert took(lambda: file.read(10)) < 0.3


def test_files_are_written_renamed_and_removed_as_anywhere(mounted):
    folder = mounted.folder / "made"
    folder.mkdir()
    (folder / "one").write_text("begun")
    with (folder / "one").open("a") as file:
        file.write(" and continued")
        file.flush()
        os.fsync(file.fileno())
    os.replace(folder / "one", folder / "two")
    (folder / "link").symlink_to("two")
    os.link(folder / "two", folder / "twin")
    assert (folder / "link").read_text() == "begun and continued"
    assert sorted(path.name for path in folder.iterdir()) == ["link", "twin", "two"]
    os.truncate(folder / "two", 5)
    os.utime(folder / "two", ns=(1, 2_000_000_003))
    status = (folder / "two").stat()
    assert (status.st_size, status.st_mtime_ns, status.st_nlink) == (5, 2_000_000_003, 2)
    os.chmod(folder / "two", 0o640)
    assert (folder / "two").stat().st_mode & 0o777 == 0o640
    assert shutil.disk_usage(folder).free > 0
    with pytest.raises(FileExistsError):
        (folder / "two").open("x")
    with pytest.raises(OSError, match="not empty"):
        folder.rmdir()
    shutil.rmtree(folder)
    assert not folder.exists()


def test_a_file_that_is_mapped_to_be_written_is_written(mounted):
    with (mounted.folder / "mapped").open("w+b") as file:
        os.posix_fallocate(file.fileno(), 0, 8192)
        with mmap.mmap(file.fileno(), 8192) as held:
            held[4096:4102] = b"mapped"
            held.flush()
        os.unlink(mounted.folder / "mapped")
        file.seek(4096)
        assert file.read(6) == b"mapped"


@pytest.mark.usefixtures("slow_files")
def test_a_folder_that_cannot_be_mounted_is_a_reason(tmp_path):
    with pytest.raises(Unmeasured, match="no FUSE here"), slow(tmp_path, tmp_path / "nowhere"):
        pass


@pytest.mark.slow
def test_resumes_are_timed_from_states_that_were_reached_and_from_those_that_are_known(contestant, data):
    one = contestant("Pauses")
    # Few windows, so that the run passes through them more than once.
    few = write(one.folder / "few", 40 * SEQ_LEN, SEQ_LEN)
    measured(one, few)
    reached = resuming.reach(one, few, EFFORT)
    resuming.resume_round(one, reached, first=True)
    resuming.resume_long(one, reached, 1)
    cells = one.finish().cells
    assert one.loader.exact and one.loader.compared == ("1 %", "an epoch's end", "99 %")
    for name in ("resume_0", "resume_1", "resume_99", "resume_long"):
        assert cells[name].value >= paced.PAUSE, (name, cells[name].reason)
    assert " of " in cells["resume_99"].note


@pytest.mark.parametrize(("driver", "at_once"), [("GoesAstray", True), ("ForgetsItsEpoch", False)])
@pytest.mark.slow
def test_who_goes_astray_after_the_first_step_did_not_go_on_exactly(contestant, driver, at_once):
    one = contestant(driver)
    few = write(one.folder / "few", 100 * SEQ_LEN, SEQ_LEN)
    measured(one, few)
    resuming.resume_round(one, resuming.reach(one, few, EFFORT), first=True)
    assert "an epoch's end" in one.differs and ("1 %" in one.differs) == at_once
    assert not one.loader.exact and one.loader.compared == ("1 %", "an epoch's end", "99 %")


@pytest.mark.parametrize(
    ("driver", "measure", "reason"),
    [
        ("OnePass", "resume_99", "promises no resume"),
        ("CountsDifferently", "resume_long", "not reached, and its states do not tell another"),
    ],
)
@pytest.mark.slow
def test_what_was_not_reached_is_open_and_says_why(contestant, driver, measure, reason):
    one = contestant(driver)
    few = write(one.folder / "few", 40 * SEQ_LEN, SEQ_LEN)
    measured(one, few)
    reached = resuming.reach(one, few, EFFORT)
    resuming.resume_long(one, reached, 1)
    assert one.finish().cells[measure] == Cell(reason=reason)


def test_the_state_that_the_reference_foretells_is_the_one_that_it_saves(data, tmp_path):
    driver = ReferenceDriver()
    driver.build(data.corpus, tmp_path, data.settings, Layout(0, 1, ROWS), [])
    for _ in range(3):
        driver.next()
        driver.commit()
    assert driver.foretold(3 * ROWS) == driver.save() != driver.foretold(4 * ROWS)
    driver.close()


FIGURE = Cell(2.0, 0.5, "of 5")


@pytest.fixture
def result(data):
    from fivepoint.conformance.supply.run import conditions

    own = Loader(
        "own",
        "1",
        True,
        ("shuffle",),
        False,
        True,
        ("1 %", "an epoch's end", "99 %"),
        {measure.name: FIGURE for measure in MEASURES} | {"warm": Cell(30.0), "cold": Cell(50.0)},
    )
    peer = Loader(
        "peer",
        "2",
        False,
        ("resume",),
        True,
        True,
        ("1 %", "99 %"),
        {"warm": Cell(2.0), "resume_99": Cell(40.0), "stall": Cell(reason="no FUSE here")},
    )
    limits = {limit.name: Cell(10.0, 1.0) for limit in LIMITS}
    return Result(conditions(data, data, EFFORT), limits, [own, peer])


def test_the_file_fits_its_schema_and_is_read_again(result, tmp_path):
    validate(result.to_json(), "supply", "the result", UsageError)
    result.write(tmp_path / "supply.json")
    again = read(tmp_path / "supply.json")
    assert again.to_json() == result.to_json()
    assert set(result.to_json()["loaders"][1]["measures"]) == {measure.name for measure in MEASURES}
    with pytest.raises(UsageError, match="loaders"):
        validate({**result.to_json(), "loaders": 1}, "supply", "the result", UsageError)


def test_what_is_to_be_reached_is_said_beside_the_best_peer(result):
    said = [verdict.said for verdict in verdicts(result)]
    assert said == [
        "own, warm samples a second beside the best peer (peer): 15 times, wanted 10",
        "own, useful bytes a second from cold files beside a default mmap: 5 times, wanted 100 (short)",
        "own, resumed at 99 % of 10^9 beside the soonest exact peer (peer, at the latest that it was resumed at): 20 times, wanted 10",
    ]
    assert "nothing to compare" in verdicts(Result({}, {}, result.loaders[:1]))[0].said


def test_the_table_says_what_was_compared(result, capsys):
    tables.print_result(result)
    said = " ".join(capsys.readouterr().out.split())
    assert "went on exactly for 8 steps, resumed at 1 % and at 99 %: own, peer; over an epoch's end too: own" in said


def test_what_is_to_be_reached_cold_is_open_where_nothing_is_cold(result):
    result.limits["mmap_cold"] = Cell(reason="no disk below /tmp")
    assert verdicts(result)[1].said.endswith("default mmap: nothing to compare")


@pytest.mark.slow
def test_the_picture_shows_every_loader(result, tmp_path):
    pytest.importorskip("matplotlib")
    from fivepoint.conformance.supply.plot import draw

    draw(result, tmp_path / "plot.svg")
    drawn = (tmp_path / "plot.svg").read_text()
    for said in ("own", "peer", "no FUSE here", "warm supply"):
        assert f"<!-- {said}" in drawn, said


@pytest.mark.slow
def test_the_command_prints_a_table_and_writes_its_file(tmp_path):
    words = ["--alone", "--beside", "paced:Reads", "--beside", "paced:Dies", "--rounds", 1, "--seconds", 0.2, "--megatokens", 1]
    command = ["peers", "bench", *map(str, words), "--json", str(tmp_path / "supply.json"), "--folder", str(tmp_path)]
    done = CliRunner().invoke(app, command)
    assert done.exception is None, done.output
    for said in ("warm supply", "paced:Reads", "default mmap, cold", "promises no resume"):
        assert said in done.output, done.output
    value = json.loads((tmp_path / "supply.json").read_text())
    validate(value, "supply", "the file", UsageError)
    assert [loader["loader"] for loader in value["loaders"]] == ["paced:Reads", "paced:Dies"]
    assert "ended" in value["loaders"][1]["measures"]["warm"]["reason"]
    assert list(tmp_path.iterdir()) == [tmp_path / "supply.json"], "nothing else is left"


def bench(*words: object):
    return CliRunner().invoke(app, ["peers", "bench", *map(str, words)])


def test_figures_are_written_before_they_are_shown(result, tmp_path, monkeypatch):
    def leaves(_: object) -> None:
        raise BrokenPipeError

    monkeypatch.setattr(runs, "measured", lambda *_: result)
    monkeypatch.setattr(tables, "print_result", leaves)
    done = bench("--alone", "--beside", "paced:Reads", "--json", tmp_path / "supply.json", "--folder", tmp_path)
    assert done.exception is not None
    assert read(tmp_path / "supply.json").to_json() == result.to_json()


def test_figures_that_cannot_be_written_are_shown(result, tmp_path, monkeypatch):
    (tmp_path / "there").mkdir()

    def gone(*_: object) -> Result:
        (tmp_path / "there").rmdir()
        return result

    monkeypatch.setattr(runs, "measured", gone)
    done = bench("--alone", "--beside", "paced:Reads", "--json", tmp_path / "there" / "supply.json", "--folder", tmp_path)
    assert isinstance(done.exception, OutputError) and "warm supply" in done.output


def test_more_tokens_than_have_a_number_are_refused():
    done = bench("--alone", "--beside", "paced:Reads", "--megatokens", 5000)
    assert done.exit_code == 2 and "4294" in done.output


def test_what_the_disk_has_no_room_for_is_refused_before_it_is_written(tmp_path, monkeypatch):
    usage = shutil.disk_usage(tmp_path)
    heard = []
    loaders = [(name, InProcess(f"paced:{name}"), False) for name in ("Reads", "Copies")]
    for each in ("first", "second"):
        (tmp_path / each).mkdir()
    with pytest.raises(UsageError, match=r"^expected 0\.02\d GB free .* found 0\.010 GB; ask for fewer"):
        monkeypatch.setattr(runs.shutil, "disk_usage", lambda _: usage._replace(free=10_000_000))
        runs.measured(loaders, 2_000_000, EFFORT, tmp_path / "first", lambda *said: heard.append(said))
    assert not heard, "no loader was asked"
    monkeypatch.setattr(runs.shutil, "disk_usage", lambda _: usage._replace(free=35_000_000))
    with pytest.raises(UsageError, match=r"^expected 0\.05\d GB free in .* and what 2 loaders make of them, found 0\.035 GB"):
        runs.measured(loaders, 2_000_000, EFFORT, tmp_path / "second", lambda *said: heard.append(said))
    assert not (tmp_path / "second" / "corpus").exists()


@pytest.mark.slow
def test_a_peer_whose_ranks_are_forked_is_measured_in_every_part(tmp_path, monkeypatch):
    known = {"forking": Peer("forking", "paced:OnePass", "none", (), 0, forks=True)}
    monkeypatch.setattr(Peer, "python", lambda *_: Path(sys.executable))
    monkeypatch.setattr(peers, "peers", lambda: known)
    monkeypatch.setattr(opening, "peers", lambda: known)
    monkeypatch.chdir(Path(__file__).parent)
    monkeypatch.setattr(slow_measures, "missing", lambda: "none here")
    words = ["--beside", "paced:OnePass", "--rounds", 1, "--seconds", 0.1, "--megatokens", 1, "--folder", tmp_path]
    done = bench("forking", *words, "--json", tmp_path / "supply.json")
    assert done.exception is None, done.output
    found = json.loads((tmp_path / "supply.json").read_text())["loaders"]
    for name in ("start", "warm", "demand", "memory"):
        assert all("value" in loader["measures"][name] for loader in found), [loader["measures"][name] for loader in found]


def test_slow_files_end_with_whoever_started_them(slow_files, tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "mounted").mkdir()
    script = (
        "import sys; from pathlib import Path; from fivepoint.conformance.supply.mounting import slow\n"
        "with slow(Path(sys.argv[1]), Path(sys.argv[2])): print('mounted', flush=True); import os; os._exit(1)"
    )
    command = [sys.executable, "-P", "-c", script, str(tmp_path / "real"), str(tmp_path / "mounted")]
    assert "mounted" in subprocess.run(command, capture_output=True, text=True, check=False).stdout
    end = time.monotonic() + 10
    while os.path.ismount(tmp_path / "mounted") and time.monotonic() < end:
        time.sleep(0.05)
    assert not os.path.ismount(tmp_path / "mounted")
