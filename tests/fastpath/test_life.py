"""The native loader's threads through what happens to trainers: interruptions, exceptions, forks, and ends of every kind."""

import signal
import time

import pytest
from scripted import built_shim, finished, ran, start
from served import write_plan

pytest.importorskip("torch")
pytest.importorskip("fivepoint.fastpath")
pytestmark = [pytest.mark.torch, pytest.mark.slow]

SERVE = "for step in loader: list(step); loader.commit()\n"


@pytest.fixture(scope="module")
def plan(tmp_path_factory):
    return write_plan(tmp_path_factory.mktemp("life"))


@pytest.fixture(scope="module")
def shim(tmp_path_factory):
    return built_shim(tmp_path_factory.mktemp("shim"))


def test_an_interruption_is_heard_while_rows_are_waited_for(plan, shim):
    script = """
    loader = Loader(plan, 0, 1, 12)
    time.sleep(1)  # by now every row is being read by a thread
    print("begun", flush=True)
    try:
        list(next(loader))
    except KeyboardInterrupt:
        print("heard", flush=True)
        raise
    """
    process = start(plan, script, LD_PRELOAD=shim, SHIM_DELAY_MS=20_000)
    assert process.stdout.readline() == "begun\n"
    time.sleep(0.5)
    begun = time.monotonic()
    process.send_signal(signal.SIGINT)
    assert process.stdout.readline() == "heard\n"
    assert time.monotonic() - begun < 10, "heard no sooner than the rows were there"
    # Reads that have begun are waited for: they write into memory that goes.
    done = finished(process)
    assert "KeyboardInterrupt" in done.stderr and done.returncode != 0


def test_an_interrupted_loop_goes_on(plan):
    script = """
    loader, reference = Loader(plan, 0, 1, 12), Reference(plan, 0, 1, 12)
    signal.signal(signal.SIGALRM, lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
    interrupted = 0
    while not loader.complete:
        try:
            signal.setitimer(signal.ITIMER_REAL, 0.0005)
            step = next(loader)
            found = [batch.inputs.tolist() for batch in step]
            signal.setitimer(signal.ITIMER_REAL, 0)
        except KeyboardInterrupt:
            interrupted += 1
            loader.rollback()
            if interrupted < 50:
                continue
            step = next(loader)
            found = [batch.inputs.tolist() for batch in step]
        assert found == [batch.inputs.tolist() for batch in next(reference)], loader.consumed
        loader.commit(); reference.commit()
    assert interrupted
    print("same", loader.steps)
    """
    assert ran(plan, script) == "same 18\n"


def test_an_exception_in_the_training_loop_ends_the_process(plan):
    done = finished(start(plan, "loader = Loader(plan, 0, 1, 12)\nfor step in loader: raise RuntimeError('loss is NaN')"))
    assert done.returncode == 1 and done.stderr.endswith("RuntimeError: loss is NaN\n"), done.stderr


@pytest.mark.parametrize("end", ["", "sys.exit(3)", "del loader", "os._exit(3)", "os.kill(os.getpid(), signal.SIGTERM)"])
def test_the_interpreter_ends_with_reads_in_flight(plan, shim, end):
    script = f"loader = Loader(plan, 0, 1, 12, threads=4)\nlist(next(loader))\n{end}"
    done = finished(start(plan, script, LD_PRELOAD=shim, SHIM_DELAY_MS=20))
    assert (done.returncode, done.stderr) == ({"": 0, "del loader": 0}.get(end, -15 if "SIGTERM" in end else 3), "")


def test_several_loaders_in_one_process(plan):
    script = """
    loaders = [Loader(plan, rank, 4, 3, threads=3) for rank in range(4)]
    expected = Reference(plan, 0, 1, 12)
    while (step := next(expected, None)) is not None:
        whole = [row for batch in step for row in batch.inputs.tolist()]
        found = [row for loader in loaders for batch in next(loader) for row in batch.inputs.tolist()]
        assert found == whole
        for each in (expected, *loaders): each.commit()
    before = threads()
    loaders[1].close()
    assert threads() == before - 3
    print("same", all(loader.complete for loader in loaders))
    """
    assert ran(plan, script) == "same True\n"


def test_closing_waking_and_dropping_leave_no_thread(plan):
    script = """
    alone = threads()
    loader = Loader(plan, 0, 1, 12, threads=5)
    assert threads() == alone + 5
    with loader: list(next(loader))
    assert threads() == alone
    loader.close()
    loader = Loader(plan, 0, 1, 12, threads=5)
    del loader
    assert threads() == alone
    try:
        Loader(plan, 0, 1, 12, checkpoint={})
    except CheckpointError:
        pass
    assert threads() == alone
    """
    ran(plan, script)


FORKED = """
def child(work):
    pid = os.fork()
    if pid == 0:
        try:
            work()
        except BaseException as reason:
            print(type(reason).__name__, reason, flush=True)
            os._exit(9)
        sys.exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])

def serve():
    with Loader(plan, 0, 1, 12) as loader:
        for step in loader: list(step); loader.commit()
        assert loader.steps == 18
"""


def test_a_fork_before_and_after_opening(plan):
    script = (
        FORKED
        + """
assert child(serve) == 0
loader = Loader(plan, 0, 1, 12)
list(next(loader))
assert child(lambda: None) == 0, "a child that lets the parent's loader be"
assert child(lambda: loader.close()) == 0
assert child(serve) == 0, "a child with a loader of its own"
assert child(lambda: (loader.commit(), list(next(loader)))) == 9
loader.commit()
for step in loader: list(step); loader.commit()
assert loader.steps == 18
"""
    )
    assert ran(plan, script).startswith("UsageError expected a loader that was opened in this process, found one from before a fork")


def test_two_hundred_cycles_leave_nothing(plan):
    script = """
    def resident():
        return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")

    def cycle(number):
        loader = Loader(plan, 0, 2, 6, boundaries=["document_ids", "cu_seqlens"], threads=4, steps_ahead=1 + number % 3)
        for _ in range(number % 4):
            list(next(loader)); loader.commit()
        if number % 2: next(next(loader))
        if number % 3: loader.close()

    for number in range(40): cycle(number)
    before = threads(), files(), resident()
    for number in range(200): cycle(number)
    after = threads(), files(), resident()
    assert after[:2] == before[:2], (before, after)
    assert after[2] < before[2] + (2 << 20), (before, after)
    print("the same", after[2] - before[2])
    """
    assert ran(plan, script, timeout=300).startswith("the same")


@pytest.mark.parametrize("start_method", ["fork", "spawn"])
def test_torch_s_dataloader_serves_the_same(plan, start_method):
    script = f"""
    from torch.utils.data import DataLoader
    dataset = PositionDataset(plan, "loss_mask")
    sampler = PositionSampler(plan, 1, 2, 3, consumed=24)
    state = Reference(plan, 1, 2, 3)
    for _ in range(2): list(next(state)); state.commit()
    expected = Reference(plan, 1, 2, 3, boundaries="loss_mask", checkpoint=state.state_dict())
    for workers in (0, 2):
        options = dict(num_workers=workers, multiprocessing_context={start_method!r}) if workers else {{}}
        found = iter(DataLoader(dataset, batch_sampler=sampler, collate_fn=PositionDataset.collate, **options))
        fresh = Reference(plan, 1, 2, 3, boundaries="loss_mask", checkpoint=state.state_dict())
        batches = 0
        for step in fresh:
            for batch in step:
                other = next(found)
                assert batch.inputs.tolist() == other.inputs.tolist() and batch.loss_mask.tolist() == other.loss_mask.tolist()
                assert batch.positions.tolist() == other.positions.tolist()
                batches += 1
            fresh.commit()
        assert next(found, None) is None and batches == 52, batches
    """
    ran(plan, "if __name__ == '__main__':" + script, timeout=120)


def test_memory_is_used_again_only_when_nobody_holds_it(plan):
    script = """
    reference, firsts = Reference(plan, 0, 1, 12), []
    for step in reference:
        firsts.append([batch.inputs.tolist() for batch in step][0])
        reference.commit()
    loader, kept, addresses = Loader(plan, 0, 1, 12), [], set()
    for number, step in enumerate(loader):
        batch, *rest = step
        addresses.add(batch.inputs.data_ptr())
        # a view is enough to hold it, also after its batch is gone
        kept.append(batch.inputs[3:5] if number % 2 else None)
        del batch, rest, step
        loader.commit()
    loader.close()
    del loader
    for number, view in enumerate(kept):
        assert view is None or view.tolist() == firsts[number][3:5], number
    assert 9 <= len(addresses) < 18, "memory that nobody holds serves again"
    """
    ran(plan, script)


def test_threads_end_before_the_memory_goes_that_they_write_into(plan, shim):
    """Also when an interruption came between the finalizer's being used up and its work."""
    script = """
    import gc
    before = threads()
    loader = Loader(plan, 0, 1, 12, threads=8, steps_ahead=3)
    time.sleep(0.1)
    assert threads() == before + 8
    loader._reader._end.detach()
    began = time.monotonic()
    del loader
    gc.collect()
    print(threads() == before, time.monotonic() - began > 0.2)
    """
    assert ran(plan, script, LD_PRELOAD=shim, SHIM_DELAY_MS=500) == "True True\n"


@pytest.mark.parametrize("slow", [0, 5])
def test_a_daemon_thread_inside_the_native_part_does_not_end_the_process(plan, shim, slow):
    # Without a call of torch's, which ends the process where its own threads come back too late.
    script = """
    import numpy as np
    from fivepoint.fastpath import _C, native
    reader = native.reader(plan, ())
    def feed():
        rows, known = np.empty((2, 40, 8), np.int64), np.empty((3, 40), np.int64)
        memory = _C.Memory([each.ctypes.data for each in (*rows, *known)] + [0, 0, 0], False)
        while True: reader.read(list(range(40)), memory)
    for _ in range(3): threading.Thread(target=feed, daemon=True).start()
    time.sleep(0.3)
    """
    for _ in range(5):
        done = finished(start(plan, script, LD_PRELOAD=shim, SHIM_DELAY_MS=slow))
        assert (done.returncode, done.stdout) == (0, ""), done.stderr


@pytest.mark.clause("C4.2")
def test_a_log_that_fails_does_not_keep_the_next_step_from_being_served(plan):
    script = """
    def log(record):
        if fails: raise OSError(28, "No space left on device")
    fails = False
    loader, reference = Loader(plan, 0, 1, 12, log=log), Reference(plan, 0, 1, 12)
    state = loader.state_dict()
    fails = True
    for attempt in range(2):
        for step in loader:
            assert [b.positions.tolist() for b in step] == [b.positions.tolist() for b in next(reference)]
            reference.commit()
            try: loader.commit()
            except OSError: pass
        try: loader.load_state_dict(state)
        except OSError: pass
        reference.load_state_dict(state)
    list(next(loader))
    print(loader.steps)
    """
    assert ran(plan, script) == "0\n"


def test_sizes_past_the_run_take_no_memory_and_what_has_no_room_is_said(plan):
    script = """
    import dataclasses
    ramp = dataclasses.replace(plan, batch_sizes=((0, 12), (96, 12 * 10**9)))
    with Loader(ramp, 0, 1, 12) as loader:
        print(sum(1 for step in loader if [list(step), loader.commit()]))
    for given in ({"steps_ahead": 2.5}, {"steps_ahead": 0}, {"threads": "4"}, {"threads": 2000}, {"device": "tpu"}, {"log": "run.jsonl"},
                  {"override": 3}, {"boundaries": [["loss_mask"]]}):
        try: Loader(plan, 0, 1, 12, **given)
        except UsageError as reason: print(reason)
    try: Loader("plan.json", 0, 1, 12)
    except UsageError as reason: print(reason)
    """
    served, *refused = ran(plan, script).splitlines()
    assert served == "8" and len(refused) == 9
    assert all(line.startswith("expected ") and ", found " in line for line in refused), refused
