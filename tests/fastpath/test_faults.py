"""Files that change, disks that fail and memory that ends under the native loader: an exception that says where, never wrong tokens."""

import os
import shutil
import time

import pytest
from corpora import Serial, write_corpus
from plans import make_plan, phase
from scripted import built_shim, ran
from served import write_plan

from fivepoint.errors import CorpusError
from fivepoint.reference.loader import Loader as Reference
from fivepoint.reference.plan import Plan

pytest.importorskip("torch")
fastpath = pytest.importorskip("fivepoint.fastpath")
pytestmark = [pytest.mark.torch, pytest.mark.slow, pytest.mark.clause("C3.6")]

SAME = """
loader, reference = Loader(plan, 0, 1, 12, threads=3), Reference(plan, 0, 1, 12)
for step, other in zip(loader, reference):
    for batch, known in zip(step, other, strict=True):
        assert batch.inputs.tolist() == known.inputs.tolist() and batch.targets.tolist() == known.targets.tolist()
    loader.commit(); reference.commit()
assert loader.complete and reference.complete
print("same", loader.steps)
"""


@pytest.fixture(scope="module")
def shim(tmp_path_factory):
    return built_shim(tmp_path_factory.mktemp("shim"))


@pytest.fixture
def plan(tmp_path):
    return write_plan(tmp_path)


@pytest.mark.parametrize("how", [{"SHIM_DELAY_MS": 3}, {"SHIM_EINTR": 1}], ids=["slow", "interrupted"])
def test_slow_and_interrupted_reads_are_the_same_tokens(plan, shim, how):
    assert ran(plan, SAME, LD_PRELOAD=shim, **how) == "same 18\n"


def test_short_reads_are_read_on(plan, shim):
    # The reference asks once and takes less for a fault: what is right is asked of it with whole reads.
    script = """
    loader, found = {kind}(plan, 0, 1, 12), []
    for step in loader:
        found += [batch.inputs.tolist() for batch in step]
        loader.commit()
    print(found)
    """
    whole = ran(plan, script.format(kind="Reference"))
    assert ran(plan, script.format(kind="Loader"), LD_PRELOAD=shim, SHIM_SHORT=3) == whole and len(whole) > 1000


def test_a_failing_disk_is_one_sentence_and_the_step_can_be_tried_again(plan, shim):
    script = """
    loader = Loader(plan, 0, 1, 12, threads=2)
    try:
        for step in loader: list(step); loader.commit()
    except CorpusError as reason:
        print(reason)
    assert 0 < loader.steps < 18
    import ctypes
    ctypes.CDLL(None).setenv(b"SHIM_EIO_AFTER", b"1000000000", 1)
    loader.rollback()
    for step in loader: list(step); loader.commit()
    print(loader.steps)
    """
    said, steps = ran(plan, script, LD_PRELOAD=shim, SHIM_EIO_AFTER=100).splitlines()
    assert "cannot read 18 bytes of tokens at byte " in said and ".bin: Input/output error; look after the disk" in said
    assert "(the sample at position " in said
    assert steps == "18"


def test_a_shard_that_is_cut_short_while_open_is_never_served_wrong(plan):
    opened = Plan.load(plan)
    expected = [[batch.inputs.tolist() for batch in step] for step in _steps(Reference(opened, 0, 1, 12))]
    loader = fastpath.Loader(opened, 0, 1, 12, steps_ahead=1, threads=2)
    assert [batch.inputs.tolist() for batch in next(loader)] == expected[0]
    while loader.rows_read < 24:  # by now every shard was opened
        time.sleep(0.01)
    for shard in sorted((plan.parent / "prose").glob("*.bin")):
        os.truncate(shard, shard.stat().st_size // 2)
    loader.commit()
    with pytest.raises(CorpusError, match=r"\.bin: expected 18 bytes of tokens at byte \d+, found \d+; the file changed .*position \d+"):
        for step in loader:
            assert [batch.inputs.tolist() for batch in step] == expected[loader.steps]
            loader.commit()
    assert loader.consumed < 18 * 12
    loader.close()


def test_a_shard_that_is_replaced_before_it_is_read_is_refused(plan, tmp_path):
    dataset = fastpath.PositionDataset(Plan.load(plan))
    for shard in sorted((plan.parent / "prose").glob("*.bin")):
        shutil.copy(shard, tmp_path / "copy")
        with open(tmp_path / "copy", "r+b") as file:
            file.write(bytes(100))
        os.replace(tmp_path / "copy", shard)
    with pytest.raises(CorpusError, match="expected the file that stood there when the loader was opened, found another"):
        dataset.__getitems__(range(48))


def test_a_shard_that_is_written_anew_in_its_place_is_refused(plan):
    """A file that is removed and written again may get the same inode."""
    dataset = fastpath.PositionDataset(Plan.load(plan))
    for shard in sorted((plan.parent / "prose").glob("*.bin")):
        before = shard.stat()
        shard.write_bytes(bytes(before.st_size))
        os.utime(shard, ns=(before.st_atime_ns, before.st_mtime_ns + 1))
        assert shard.stat().st_ino == before.st_ino
    with pytest.raises(CorpusError, match="expected the file that stood there when the loader was opened, found another"):
        dataset.__getitems__(range(48))


def test_a_pipe_in_a_shard_s_place_is_refused(plan):
    dataset = fastpath.PositionDataset(Plan.load(plan))
    for shard in sorted((plan.parent / "prose").glob("*.bin")):
        shard.unlink()
        os.mkfifo(shard)
    with pytest.raises(CorpusError, match="found another"):
        dataset.__getitems__(range(48))


def test_loaders_of_one_process_leave_descriptors_to_others(tmp_path):
    folder = write_corpus(tmp_path / "web", Serial().documents([9] * 400), shard_bytes=80, vocab_size=10_000)
    path = tmp_path / "plan.json"
    Plan.from_json(make_plan({"web": [folder]}, [phase(400, {"web": 1}, 8)])).save(path)
    script = """
    import resource
    resource.setrlimit(resource.RLIMIT_NOFILE, (128, 128))
    loaders = [Loader(plan, rank, 8, 1, threads=4) for rank in range(8)]
    before = files()
    for _ in range(50):
        for loader in loaders: list(next(loader)); loader.commit()
    print(files() - before <= 32, open(os.devnull).close())
    """
    assert ran(path, script) == "True None\n"


def test_a_file_that_is_held_open_is_read_whatever_stands_under_its_name(plan, tmp_path):
    opened = Plan.load(plan)
    expected = [[batch.inputs.tolist() for batch in step] for step in _steps(Reference(opened, 0, 1, 12))]
    with fastpath.Loader(opened, 0, 1, 12) as loader:
        found = []
        for number, step in enumerate(_steps(loader)):
            found.append([batch.inputs.tolist() for batch in step])
            if number == 8:  # by now every shard was opened
                for shard in plan.parent.glob("*/*.bin"):
                    (tmp_path / "new").write_bytes(bytes(shard.stat().st_size))
                    os.replace(tmp_path / "new", shard)
    assert found == expected


def _steps(loader):
    for step in loader:
        yield list(step)
        loader.commit()


@pytest.mark.parametrize(("dtype", "found"), [("uint16", 65_535), ("uint32", 4_294_967_295)])
def test_ids_outside_the_vocabulary_are_named(tmp_path, dtype, found):
    folder = write_corpus(tmp_path / "web", Serial().documents([300] * 3), dtype=dtype, vocab_size=1000)
    opened = Plan.from_json(make_plan({"web": [folder]}, [phase(100, {"web": 1}, 8)]))
    (shard,) = folder.glob("*.bin")
    data = bytearray(shard.read_bytes())
    data[400:408] = b"\xff" * 8
    shard.write_bytes(data)
    said = rf"expected ids below the vocabulary's size 1000, found {found} at byte 40\d; run `fivepoint verify`.*the sample at position \d+"
    with pytest.raises(CorpusError, match=said):
        list(_steps(fastpath.Loader(opened, 0, 1, 12)))


def test_memory_that_ends_is_an_exception(plan):
    script = """
    import resource
    free = int(Path("/proc/self/statm").read_text().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    resource.setrlimit(resource.RLIMIT_AS, (free + (1 << 30), resource.RLIM_INFINITY))
    kept, opened = [], 0
    try:
        while True:
            kept.append(Loader(plan, 0, 1, 12, threads=8))
            opened += 1
    except (MemoryError, OSError, RuntimeError) as reason:
        assert not isinstance(reason, CorpusError), reason
    assert opened
    resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    del kept
    loader = Loader(plan, 0, 1, 12)
    for step in loader: list(step); loader.commit()
    print(loader.steps)
    """
    assert ran(plan, script, timeout=120).splitlines()[-1] == "18"


def test_a_document_index_that_is_out_of_order_is_refused(tmp_path):
    folder = write_corpus(tmp_path / "web", Serial().documents([5] * 200), vocab_size=2000)
    opened = Plan.from_json(make_plan({"web": [folder]}, [phase(100, {"web": 1}, 8)]))
    (index,) = folder.glob("*.npy")
    data = bytearray(index.read_bytes())
    data[-8 * 100 : -8 * 99] = (900).to_bytes(8, "little")
    index.write_bytes(data)
    loaders = Reference(opened, 0, 1, 4, boundaries="document_ids"), fastpath.Loader(opened, 0, 1, 4, boundaries="document_ids")
    for loader in loaders:
        with pytest.raises(CorpusError, match="document starts that ascend from 0"):
            list(_steps(loader))
        loader.close()


@pytest.mark.parametrize("limit", [30, 64])
def test_few_descriptors_are_enough_for_many_shards(tmp_path, limit):
    folder = write_corpus(tmp_path / "web", Serial().documents([9] * 400), shard_bytes=80, vocab_size=10_000)
    assert len(list(folder.glob("*.bin"))) > 64
    path = tmp_path / "plan.json"
    Plan.from_json(make_plan({"web": [folder]}, [phase(400, {"web": 1}, 8)])).save(path)
    script = f"""
    import resource
    # Others open files, too, after the loader has counted how many it may have.
    resource.setrlimit(resource.RLIMIT_NOFILE, ({limit}, {limit}))
    loader, reference = Loader(plan, 0, 1, 8, threads=4), Reference(plan, 0, 1, 8)
    held = []
    try:
        while len(held) < {limit}: held.append(open("/dev/null"))
    except OSError:
        held.pop(), held.pop()
    for step in loader:
        assert [batch.inputs.tolist() for batch in step] == [batch.inputs.tolist() for batch in next(reference)]
        loader.commit(), reference.commit()
    print(loader.steps)
    """
    assert ran(path, script) == "50\n"
