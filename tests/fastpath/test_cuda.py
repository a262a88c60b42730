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

pytest.importorskip("torch")
pytest.importorskip("fivepoint.fastpath")
pytestmark = [
    pytest.mark.checkout,
    pytest.mark.torch,
    pytest.mark.slow,
    pytest.mark.skipif(shutil.which("c++") is None, reason="needs a C++ compiler"),
]

BEGIN = """
from fake_cuda import Loader, calls, driver, seen
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
print(*opening[:8])
(batch,) = next(loader)
seen(batch)
calls()
loader.commit()
time.sleep(0.5)
print(*[call for call in calls() if "Ctx" not in call and "Thread" not in call][:4])
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
        *["cuEventCreate"] * (len(opening.split()) - 5 - opening.count("cuModuleLoadData")),
    ]
    # The slot is free once its copy is done; the copy waits for the kernels that read what it overwrites.
    assert sent.split() == ["cuEventSynchronize", "cuStreamWaitEvent", "cuMemcpyHtoDAsync_v2", "cuEventRecord"]
    # The consumer's stream waits for the copy; the kernels; what they read may be overwritten.
    assert taken.split() == [
        "cuStreamIsCapturing",
        "cuStreamWaitEvent",
        "cuLaunchKernel",
        "cuLaunchKernel",
        "cuStreamWaitEvent",
        "cuEventRecord",
    ]


OPENING = ["cuDeviceGet", "cuDevicePrimaryCtxRetain", "cuCtxPushCurrent_v2", "cuThreadExchangeStreamCaptureMode", "cuModuleLoadData"]
OPENING += ["cuModuleGetFunction", "cuStreamCreate", "cuEventCreate"]
SERVING = ["cuMemcpyHtoDAsync_v2", "cuEventRecord", "cuStreamWaitEvent", "cuEventSynchronize", "cuLaunchKernel", "cuStreamIsCapturing"]
SERVING += ["cuCtxPushCurrent_v2", "cuThreadExchangeStreamCaptureMode"]


@pytest.mark.parametrize("call", OPENING)
def test_a_call_that_fails_while_opening_is_named(plan, faked, call):
    script = (
        BEGIN
        + f"""
driver.fake_cuda_fail(b"{call}", 1, 700)
try: Loader(plan, 0, 1, 12)
except DeviceError as reason: print(reason)
driver.fake_cuda_fail(b"", 0, 0)
print(driver.fake_cuda_held())
loader = Loader(plan, 0, 1, 12)
list(next(loader))
"""
    )
    said, held = ran(plan, script, **faked).splitlines()
    assert f"{call} gave 700 (CUDA_ERROR_ILLEGAL_ADDRESS): an illegal memory access was encountered" in said
    assert held == "0"


@pytest.mark.parametrize("call", SERVING)
def test_a_call_that_fails_while_serving_is_named_and_the_loader_goes_on_when_it_works_again(plan, faked, call):
    script = (
        BEGIN
        + f"""
loader, expected = Loader(plan, 0, 1, 12, threads=2), Reference(plan, 0, 1, 12)
list(next(loader)), loader.commit(), list(next(expected)), expected.commit()
driver.fake_cuda_fail(b"{call}", 1, 700)
try:
    for step in loader: list(step), loader.commit(), list(next(expected)), expected.commit()
except DeviceError as reason: print(reason)
driver.fake_cuda_fail(b"", 0, 0)
loader.rollback()
for step in loader:
    found = [seen(batch)["inputs"] for batch in step]
    assert found == [batch.inputs.tolist() for batch in next(expected)]
    loader.commit(), expected.commit()
print(loader.steps)
"""
    )
    said, steps = ran(plan, script, **faked).splitlines()
    assert f"{call} gave 700 (CUDA_ERROR_ILLEGAL_ADDRESS): an illegal memory access was encountered" in said
    assert steps == "18"


def test_a_stream_that_is_captured_is_refused_and_served_afterwards(plan, faked):
    script = (
        BEGIN
        + """
loader = Loader(plan, 0, 1, 12)
driver.fake_cuda_capture(1)
try: list(next(loader))
except UsageError as reason: print(reason)
driver.fake_cuda_capture(0)
loader.rollback()
print(len(list(next(loader))))
"""
    )
    said, batches = ran(plan, script, **faked).splitlines()
    assert "outside of a CUDA graph" in said and batches == "1"


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
    said = ran(plan, script)
    assert all(line.startswith("expected a CUDA d") and ", found n" in line for line in said.splitlines()), said


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


def test_the_committed_ptx_is_what_nvcc_makes(tmp_path):
    if recipe().nvcc() is None:
        pytest.skip("no nvcc was found in CUDA_HOME or on PATH")
    assert recipe().ptx(tmp_path) == (ROOT / "csrc" / "device" / "kernels.ptx").read_text(), "csrc/device changed: make kernels"


def test_nothing_is_linked_with_the_driver():
    (extension,) = (ROOT / "fastpath").glob("_C*.so")
    needed = subprocess.run(["ldd", extension], capture_output=True, text=True, check=True).stdout
    assert "libcuda" not in needed and "libtorch" not in needed
    assert Path(extension).stat().st_size < 5 << 20
