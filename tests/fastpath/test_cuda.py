"""The CUDA backend without a GPU: over a driver that runs work late, checks what it is given, and fails where it is told to."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from built import recipe
from checkout import ROOT
from scripted import finished, ran, start
from served import write_plan

from fivepoint.errors import DeviceError

torch = pytest.importorskip("torch")
placement = pytest.importorskip("fivepoint.fastpath.placement").placement
pytestmark = [
    pytest.mark.checkout,
    pytest.mark.torch,
    pytest.mark.slow,
    pytest.mark.skipif(shutil.which("c++") is None, reason="needs a C++ compiler"),
]

BEGIN = """
from fake_cuda import Loader, calls, driver, fail, seen
KINDS = ["document_ids", "position_ids", "loss_mask", "cu_seqlens"]
"""


@pytest.fixture(scope="module")
def plan(tmp_path_factory):
    return write_plan(tmp_path_factory.mktemp("cuda"))


@pytest.fixture(scope="module")
def faked(tmp_path_factory):
    """What a process needs to find the fake driver."""
    library = recipe().build_fake_cuda(tmp_path_factory.mktemp("driver"))
    path = os.pathsep.join([str(ROOT / "tests"), os.environ.get("PYTHONPATH", "")])
    return {"LD_LIBRARY_PATH": str(library.parent), "PYTHONPATH": path.rstrip(os.pathsep)}


@pytest.mark.clause("C3.1")
@pytest.mark.parametrize("kinds", ["KINDS", "[]", "KINDS[1:3]", "['cu_seqlens']"])
def test_batches_on_the_device_are_the_reference_s(plan, faked, kinds):
    script = f"""
    {BEGIN.replace(chr(10), chr(10) + "    ")}
    expected = Reference(plan, 1, 2, 3, boundaries={kinds})
    with Loader(plan, 1, 2, 3, boundaries={kinds}, threads=3, steps_ahead=2) as loader:
        for step in loader:
            for batch, other in zip(step, next(expected), strict=True):
                wanted = {{name: getattr(value, "tolist", lambda: value)() for name, value in vars(other).items()}}
                assert seen(batch) == wanted, (step.number, seen(batch), wanted)
            loader.commit(), expected.commit()
            if loader.steps == 6 and loader.rows_read < 150:
                loader.load_state_dict(Reference(plan, 1, 2, 3).state_dict())  # back to the start
                expected = Reference(plan, 1, 2, 3, boundaries={kinds})
    assert not [call for call in calls() if "race" in call]
    print(loader.steps, driver.fake_cuda_capture_mode())
    """
    assert ran(plan, script, **faked) == "18 0\n"


def test_the_calls_of_a_step_come_in_their_order(plan, faked):
    script = (
        BEGIN
        + """
loader = Loader(plan, 0, 1, 12, threads=1, steps_ahead=1, boundaries=KINDS)
opening = [call for call in calls() if "Ctx" not in call and "Thread" not in call]
print(*opening[: opening.index("cuEventRecord") + 1])
(batch,) = next(loader)
seen(batch)
while loader.rows_read < 24: time.sleep(0.01)
time.sleep(0.1)
calls()
loader.commit()
time.sleep(0.5)
print(*[call for call in calls() if call != "cuEventQuery" and "Ctx" not in call and "Thread" not in call][:3])
(batch,) = next(loader)
print(*[call for call in calls() if "Ctx" not in call and "Thread" not in call][-6:])
"""
    )
    opening, sent, taken = ran(plan, script, **faked).splitlines()
    assert opening.split()[:2] == ["cuInit", "cuDeviceGet"]
    assert opening.replace("cuModuleLoadData ", "").split()[2:] == [
        "cuModuleGetFunction",
        "cuModuleGetFunction",
        "cuStreamCreate",
        # Whoever had the memory before is waited for.
        *["cuStreamIsCapturing", "cuEventCreate", "cuEventCreate", "cuEventRecord"],
    ]
    # The copy waits for the kernels that read what it overwrites.
    assert sent.split() == ["cuStreamWaitEvent", "cuMemcpyHtoDAsync_v2", "cuEventRecord"]
    # The consumer's stream waits for the copy; the kernels; what they read may be overwritten.
    assert taken.split() == [
        "cuStreamIsCapturing",
        "cuStreamWaitEvent",
        "cuLaunchKernel",
        "cuLaunchKernel",
        "cuStreamWaitEvent",
        "cuEventRecord",
    ]


OPENING = [
    "cuInit",
    "cuDeviceGet",
    "cuDevicePrimaryCtxRetain",
    "cuCtxPushCurrent_v2",
    "cuThreadExchangeStreamCaptureMode",
    "cuModuleLoadData",
]
OPENING += ["cuModuleGetFunction", "cuStreamCreate", "cuEventCreate", "cuEventRecord"]
SERVING = ["cuMemcpyHtoDAsync_v2", "cuEventRecord", "cuStreamWaitEvent", "cuEventQuery", "cuLaunchKernel", "cuStreamIsCapturing"]
SERVING += ["cuCtxPushCurrent_v2", "cuThreadExchangeStreamCaptureMode"]
SAID = "700 (CUDA_ERROR_ILLEGAL_ADDRESS): an illegal memory access was encountered"
ENDING = ["cuEventDestroy_v2", "cuStreamDestroy_v2", "cuModuleUnload", "cuDevicePrimaryCtxRelease_v2", "cuCtxPopCurrent_v2"]


def test_a_call_that_fails_while_opening_is_named(plan, faked):
    script = (
        BEGIN
        + f"""
for call in {OPENING}:
    for others in 0, 1, 4:
        fail(call, others, 1)
        try: Loader(plan, 0, 1, 12).close()
        except DeviceError as reason: print(call, reason)
        fail()
        assert driver.fake_cuda_held() == 0, (call, others)
loader = Loader(plan, 0, 1, 12)
list(next(loader))
"""
    )
    said = [line.partition(" ") for line in ran(plan, script, **faked).splitlines()]
    assert {call for call, _, _ in said} == {*OPENING}
    assert all(f"{call} gave {SAID}" in line for call, _, line in said), said


@pytest.mark.parametrize("call", SERVING)
def test_a_call_that_fails_while_serving_is_named_and_the_loader_goes_on_when_it_works_again(plan, faked, call):
    script = (
        BEGIN
        + f"""
for others, times in [(others, times) for others in range(5) for times in (1, 1000)]:
    loader, expected = Loader(plan, 0, 1, 12, threads=2, boundaries=KINDS), Reference(plan, 0, 1, 12)
    list(next(loader)), loader.commit(), list(next(expected)), expected.commit()
    fail("{call}", others, times)
    try:
        for step in loader: list(step), loader.commit(), list(next(expected)), expected.commit()
    except DeviceError as reason: print(times, reason)
    fail()
    loader.rollback()
    for step in loader:
        found = [seen(batch)["inputs"] for batch in step]
        assert found == [batch.inputs.tolist() for batch in next(expected)]
        loader.commit(), expected.commit()
    assert loader.steps == 18
    loader.close()
    made = calls()
    assert made.count("{call}") > others and not [line for line in made if "race" in line], others
"""
    )
    said = ran(plan, script, **faked).splitlines()
    assert all(f"{call} gave {SAID}" in line for line in said), said
    # One failure that nobody waited for is tried again, and goes unsaid.
    assert sum(line.startswith("1000 ") for line in said) == 5


def test_a_call_that_fails_at_the_end_ends_it_all_the_same(plan, faked):
    script = (
        BEGIN
        + f"""
for call in {ENDING}:
    loader = Loader(plan, 0, 1, 12)
    next(next(loader))
    fail(call)
    loader.close()
    del loader
    assert calls().count(call), call
    fail()
with Loader(plan, 0, 1, 12) as loader: print(len(seen(next(next(loader)))["inputs"]))
"""
    )
    assert ran(plan, script, **faked) == "12\n"


def test_a_gpu_that_no_kernel_is_for_is_served_by_torch_s_copies(plan, faked):
    script = (
        BEGIN
        + """
import warnings
from fivepoint.fastpath import placement
warnings.simplefilter("error")
assert Loader(plan, 0, 1, 12).transfers == "fivepoint"
fail("cuModuleLoadData", code=222)
try: Loader(plan, 0, 1, 12)
except RuntimeWarning as reason: print(reason)
warnings.simplefilter("ignore")
print(type(placement.placement("cuda")).transfers)
"""
    )
    said, transfers = ran(plan, script, **faked).splitlines()
    assert "expected kernels that the driver takes for this GPU, found that cuModuleLoadData gave 222" in said and "8 bytes a token" in said
    assert transfers == "torch"


def test_two_loaders_at_once_serve_what_each_should(plan, faked):
    script = (
        BEGIN
        + """
loaders = [Loader(plan, rank, 2, 3, threads=3) for rank in range(2)]
expected = [Reference(plan, rank, 2, 3) for rank in range(2)]
for _ in range(4):
    for loader, other in zip(loaders, expected):
        assert [seen(batch)["targets"] for batch in next(loader)] == [batch.targets.tolist() for batch in next(other)]
        loader.commit(), other.commit()
loaders[0].close()
assert [seen(batch)["inputs"] for batch in next(loaders[1])] == [batch.inputs.tolist() for batch in next(expected[1])]
assert not [call for call in calls() if "race" in call]
"""
    )
    assert ran(plan, script, **faked) == ""


def test_a_call_is_named_also_where_the_driver_has_no_word_for_its_code(plan, faked):
    script = (
        BEGIN
        + """
for second in "cuGetErrorName", "cuGetErrorString":
    loader = Loader(plan, 0, 1, 12)
    fail("cuLaunchKernel", second=second)
    try: next(next(loader))
    except DeviceError as reason: print(reason)
    fail()
"""
    )
    assert [line.partition("cuLaunchKernel")[2] for line in ran(plan, script, **faked).splitlines()] == [
        " gave 700 (no known code): an illegal memory access was encountered",
        " gave 700 (CUDA_ERROR_ILLEGAL_ADDRESS): ",
    ]


HANGING = (
    BEGIN
    + """
import signal
loader = Loader(plan, 0, 1, 12)
driver.fake_cuda_hang(1)
next(next(loader))
"""
)


def test_a_device_that_never_comes_to_an_end_keeps_nobody_from_being_interrupted(plan, faked):
    script = (
        HANGING
        + """
signal.setitimer(signal.ITIMER_REAL, 0.5)
signal.signal(signal.SIGALRM, signal.default_int_handler)
for wait in loader.close, lambda: next(next(loader)):
    try: wait()
    except KeyboardInterrupt: print("interrupted")
    except UsageError as reason: print(reason)
driver.fake_cuda_hang(0)
loader.close()
"""
    )
    assert ran(plan, script, **faked).startswith("interrupted\nexpected an open loader")


@pytest.mark.parametrize("end", ["raise SystemExit(3)", "del loader"])
def test_a_device_that_never_comes_to_an_end_keeps_no_process_from_ending(plan, faked, end):
    done = finished(start(plan, f"{HANGING}\n{end}", **faked), 40)
    assert (done.returncode, done.stderr) == (3 if "3" in end else 0, "")


def test_a_stream_that_is_captured_is_refused_and_what_the_threads_do_ends_no_capture(plan, faked):
    script = (
        BEGIN
        + """
loader = Loader(plan, 0, 1, 12)
list(next(loader))
while loader.rows_read < 36: time.sleep(0.01)
calls()
driver.fake_cuda_capture(1)
loader.commit()
while loader.rows_read < 48: time.sleep(0.01)
for refused in lambda: list(next(loader)), lambda: Loader(plan, 0, 1, 12):
    try: refused()
    except UsageError as reason: print(reason)
time.sleep(0.1)
print(*sorted({call for call in calls() if "Memcpy" in call or "Launch" in call}))
driver.fake_cuda_capture(0)
loader.rollback()
print(len(list(next(loader))), driver.fake_cuda_refused())
"""
    )
    taken, opened, done, batches = ran(plan, script, **faked).splitlines()
    assert "outside of a CUDA graph" in taken and taken == opened
    assert done == "cuMemcpyHtoDAsync_v2" and batches == "1 0"


@pytest.mark.parametrize("end", ["", "del loader", "loader.close()", "sys.exit(3)"])
def test_a_process_ends_with_copies_under_way(plan, faked, end):
    done = finished(start(plan, f"{BEGIN}\nloader = Loader(plan, 0, 1, 12, threads=4)\nnext(next(loader))\n{end}", **faked))
    assert (done.returncode, done.stderr) == (3 if "exit" in end else 0, "")


def test_without_a_driver_it_says_so(plan):
    script = """
    from fivepoint.fastpath import _C
    for open in (lambda: _C.open_cuda(0), lambda: Loader(plan, 0, 1, 12, device="cuda")):
        try: open()
        except DeviceError as reason: print(reason)
    """
    if torch.cuda.is_available():
        pytest.skip("there is one")
    said = ran(plan, script).splitlines()
    assert len(said) == 2 and all(line.startswith("expected a CUDA d") and ", found " in line for line in said), said


@pytest.mark.parametrize(
    ("available", "count", "device", "said"),
    [(False, 0, "cuda", "found none that this torch can use"), (True, 2, "cuda:2", "expected a CUDA device from 0 to 1, found number 2")],
)
def test_a_device_that_is_not_there_is_refused_before_the_driver_is_asked(monkeypatch, available, count, device, said):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: available)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: count)
    monkeypatch.setattr(torch.cuda, "init", lambda: None)
    with pytest.raises(DeviceError, match=said):
        placement(device)


@pytest.mark.parametrize("device", ["cuda", "cuda:0"])
def test_a_child_of_a_process_that_used_the_device_is_told_so(monkeypatch, device):
    def forked() -> None:
        raise RuntimeError("Cannot re-initialize CUDA in forked subprocess. To use CUDA with multiprocessing, you must use 'spawn'\nmore")

    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "init", forked)
    with pytest.raises(DeviceError, match=r"torch cannot use one in this process: Cannot re-initialize CUDA.*'spawn'$"):
        placement(device)


@pytest.mark.clause("C3.1")
def test_other_devices_of_torch_are_served_by_its_copies(plan):
    script = """
    from fivepoint.fastpath import loader as module
    from fivepoint.fastpath.placement import Copied, placement
    import torch
    assert isinstance(placement("mps"), Copied)
    module.placement = lambda device: Copied(torch.device("cpu"))
    loader, expected = Loader(plan, 0, 1, 12, device="mps", boundaries="loss_mask"), Reference(plan, 0, 1, 12, boundaries="loss_mask")
    for step in loader:
        for batch, other in zip(step, next(expected), strict=True):
            assert (batch.targets.tolist(), batch.loss_mask.tolist()) == (other.targets.tolist(), other.loss_mask.tolist())
        loader.commit(), expected.commit()
    print(loader.steps)
    """
    assert ran(plan, script) == "18\n"


def test_the_conformance_suite_holds(faked, tmp_path):
    command = [
        sys.executable,
        "-P",
        "-m",
        "fivepoint.cli",
        "conform",
        "fake_cuda:Driver",
        *(word for chapter in ("D0", "C1.3", "C2", "C4.1", "C4.3") for word in ("--select", chapter)),
    ]
    done = subprocess.run(command, cwd=tmp_path, env=os.environ | faked, capture_output=True, text=True, timeout=500)
    assert done.returncode == 0 and "\nholds: D0.1" in done.stdout, done.stdout[-4000:] + done.stderr[-2000:]


def test_ten_thousand_schedules_of_a_device_are_clean(tmp_path):
    tests = recipe().build_program(tmp_path, ["main.cpp", "device_test.cpp"], ["-UNDEBUG"])
    environment = {**os.environ, "FIVEPOINT_SEEDS": "10000"}
    command = [tests, "--test-case=nothing that runs at once*"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=500)
    assert done.returncode == 0 and "1 passed" in done.stdout and "30000 passed" in done.stdout, done.stdout[-3000:]


def test_the_committed_ptx_is_what_nvcc_makes(tmp_path):
    if recipe().nvcc() is None:
        pytest.skip("no nvcc was found in CUDA_HOME or on PATH")
    assert recipe().ptx(tmp_path) == (ROOT / "csrc" / "device" / "kernels.ptx").read_text(), "csrc/device changed: make kernels"


def test_nothing_is_linked_with_the_driver():
    (extension,) = (ROOT / "fastpath").glob("_C*.so")
    needed = subprocess.run(["ldd", extension], capture_output=True, text=True, check=True).stdout
    assert "libcuda" not in needed and "libtorch" not in needed
    assert Path(extension).stat().st_size < 5 << 20
