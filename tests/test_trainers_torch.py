"""fivepoint.trainers.torch: the reference's batches as tensors, and a checkpoint in one safetensors file."""

import copy
import json
import struct

import numpy as np
import pytest
from served import write_plan

from fivepoint.errors import CheckpointError, OutputError, UsageError
from fivepoint.reference.loader import Loader
from fivepoint.reference.plan import Plan

torch = pytest.importorskip("torch")
save_file = pytest.importorskip("safetensors.torch").save_file
glue = pytest.importorskip("fivepoint.trainers.torch")
fastpath = pytest.importorskip("fivepoint.fastpath")
pytestmark = pytest.mark.torch

BOUNDARIES = ["document_ids", "position_ids", "loss_mask", "cu_seqlens"]


@pytest.fixture(scope="module")
def plan(tmp_path_factory) -> Plan:
    return Plan.load(write_plan(tmp_path_factory.mktemp("plan")))


@pytest.mark.parametrize("kind", [Loader, fastpath.Loader])
@pytest.mark.parametrize("boundaries", [None, BOUNDARIES])
def test_batches_are_those_of_the_loader(plan, boundaries, kind):
    wrapped = glue.TorchLoader(kind(plan, 1, 2, 3, boundaries=boundaries))
    for expected_step, step in zip(Loader(plan, 1, 2, 3, boundaries=boundaries), wrapped, strict=False):
        for expected, batch in zip(expected_step, step, strict=True):
            assert batch.inputs.dtype == batch.targets.dtype == torch.int64
            for name, value in vars(expected).items():
                found = getattr(batch, name)
                assert np.array_equal(value, found) if isinstance(value, np.ndarray) else value == found, name
        wrapped.commit()
        assert wrapped.consumed == 12, "everything but the batches is the wrapped loader's"
        break


def test_what_is_logged_stays_on_the_host(plan):
    with Loader(plan, 0, 2, 3, boundaries="loss_mask") as loader:
        batch = glue.to_torch(next(next(loader)), "meta")
    assert {name for name, value in vars(batch).items() if value is not None and value.is_meta} == {"inputs", "targets", "loss_mask"}
    assert batch.positions.tolist() == [0, 1, 2]


def test_iterating_again_goes_on_after_the_last_commit(plan):
    loader = glue.TorchLoader(Loader(plan, 0, 2, 3))
    for _ in range(2):
        for step in loader:
            assert step.remaining == step.accumulation == 2
            list(step)
            loader.commit()
            break
    assert loader.state_dict()["step"] == 2


def test_it_is_an_iterator_and_a_context_and_may_be_copied(plan):
    with glue.TorchLoader(Loader(plan, 0, 2, 3)) as loader:
        step = next(loader)
        assert torch.is_tensor(next(step).inputs) and step.remaining == 1
        assert copy.copy(step).number == 1
        with pytest.raises(AttributeError, match="nothing"):
            _ = step.nothing
    with pytest.raises(UsageError, match="closed"):
        next(loader)


def test_a_checkpoint_gives_back_tensors_and_state(plan, tmp_path):
    loader = Loader(plan, 0, 2, 3)
    list(next(loader))
    loader.commit()
    weight = torch.arange(6, dtype=torch.float32).reshape(2, 3)
    tensors = {"weight": weight, "same memory": weight, "not contiguous": weight.T, "scalar": torch.tensor(3)}
    path = tmp_path / "a folder" / "step-1.safetensors"
    path.parent.mkdir()
    glue.save_checkpoint(path, tensors, loader.state_dict())
    found, state = glue.load_checkpoint(path)
    assert found.keys() == tensors.keys() and all(torch.equal(found[name], tensors[name]) for name in tensors)
    assert Loader(plan, 0, 3, 4, checkpoint=state).consumed == 12
    assert [each.name for each in path.parent.iterdir()] == [path.name], "nothing half-written stays"


def test_a_checkpoint_is_no_pickle(plan, tmp_path):
    glue.save_checkpoint(tmp_path / "file", {"weight": torch.zeros(2)}, Loader(plan, 0, 2, 3).state_dict())
    data = (tmp_path / "file").read_bytes()
    (length,) = struct.unpack("<Q", data[:8])
    header = json.loads(data[8 : 8 + length])
    assert json.loads(header["__metadata__"]["fivepoint"])["format"] == "fivepoint-checkpoint"
    assert len(data) == 8 + length + 8, "after the header come two floats and nothing else"


@pytest.mark.parametrize("content", [b"", b"not safetensors at all", struct.pack("<Q", 2) + b"{}"])
def test_a_file_that_is_no_checkpoint_is_refused(tmp_path, content):
    (tmp_path / "file").write_bytes(content)
    with pytest.raises(CheckpointError, match=r"expected a (checkpoint that save_checkpoint wrote|loader's state)"):
        glue.load_checkpoint(tmp_path / "file")


def test_a_file_of_tensors_without_a_state_is_told_from_a_damaged_one(tmp_path):
    save_file({"weight": torch.zeros(2)}, tmp_path / "plain")
    with pytest.raises(CheckpointError, match="found none; it is a file of tensors that save_checkpoint did not write"):
        glue.load_checkpoint(tmp_path / "plain")


@pytest.mark.parametrize(("content", "kind"), [(b'{"format": "fivepoint-checkpoint"}', "a checkpoint"), (b"seed = 1\n", "a TOML file")])
def test_another_kind_of_file_is_named(tmp_path, content, kind):
    (tmp_path / "file").write_bytes(content)
    with pytest.raises(CheckpointError, match=f"found what seems to be {kind}; "):
        glue.load_checkpoint(tmp_path / "file")


def test_a_checkpoint_that_is_missing_or_cannot_be_written(tmp_path):
    with pytest.raises(CheckpointError, match="found nothing there; give the file that save_checkpoint wrote"):
        glue.load_checkpoint(tmp_path / "none")
    with pytest.raises(CheckpointError, match="found a folder; give the file"):
        glue.load_checkpoint(tmp_path)
    with pytest.raises(OutputError):
        glue.save_checkpoint(tmp_path / "no folder" / "file", {}, {})
