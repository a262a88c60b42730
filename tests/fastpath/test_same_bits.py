"""The native loader gives what the reference gives, tensor by tensor, on random corpora and plans (C3.1, C3.2, D0)."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from plans import corpora_of, length_of
from pool import make_pool
from random_plans import plans

from fivepoint.reference import checkpoint
from fivepoint.reference.batch import BatchReader
from fivepoint.reference.loader import Loader as Reference
from fivepoint.reference.plan import Plan

torch = pytest.importorskip("torch")
fastpath = pytest.importorskip("fivepoint.fastpath")
pytestmark = [pytest.mark.torch, pytest.mark.slow, pytest.mark.timeout(1500)]

KINDS = ["document_ids", "position_ids", "loss_mask", "cu_seqlens"]
RUNS = 500


def expect_equal(found, expected) -> None:
    """Compare two batches, dtypes and shapes too."""
    for name, value in vars(expected).items():
        actual = getattr(found, name)
        if isinstance(value, np.ndarray):
            array = np.asarray(actual)
            assert (array.dtype, array.shape) == (value.dtype, value.shape), name
            assert np.array_equal(array, value), name
        else:
            assert actual == value, name


@pytest.mark.clause("C3.1")
def test_five_hundred_plans(tmp_path):
    pool = make_pool(tmp_path)
    tally = Counter()

    @settings(max_examples=RUNS, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
    @given(st.data())
    def run(data):
        compare(data.draw, data.draw(plans(pool)), tally)

    run()
    print(dict(tally))
    assert tally["plans"] >= RUNS
    wanted = ("uint16", "uint32", "shards", "unions", "phases", "skips", "boundaries", "epochs", "resumed")
    assert all(tally[what] >= 50 for what in wanted), tally


def compare(draw, value, tally):
    """Serve some steps of a plan on one rank of some layout with both loaders, from some position on."""
    plan = Plan.from_json(value)
    dp_size, micro_batch = draw(st.sampled_from([(1, 1), (1, 12), (2, 3), (3, 2), (4, 3), (12, 1)]))
    rank = draw(st.integers(0, dp_size - 1))
    kinds = draw(st.sampled_from([(), KINDS, *([kind] for kind in KINDS)]))
    options = {"boundaries": kinds, "checkpoint": None}
    consumed = draw(st.integers(0, length_of(value))) if draw(st.booleans()) else 0
    if consumed:
        options["checkpoint"] = checkpoint.make(plan, consumed, consumed)
    reference = Reference(plan, rank, dp_size, micro_batch, **options)
    ahead = {"steps_ahead": draw(st.integers(1, 4)), "threads": draw(st.integers(1, 6))}
    served = set()
    with fastpath.Loader(plan, rank, dp_size, micro_batch, **options, **ahead) as loader:
        for _ in range(draw(st.integers(1, 12))):
            expected, found = next(reference, None), next(loader, None)
            assert (expected is None) == (found is None)
            if expected is None or found is None:
                break
            for one, other in zip(expected, found, strict=True):
                expect_equal(other, one)
                served.update(one.positions.tolist())
            reference.commit()
            loader.commit()
            assert loader.state_dict() == reference.state_dict()
        assert loader.rows_read >= len(served), "rows that the native reader did not bring"
        tally["rows"] += len(served)
    samples = [plan.resolve(position) for position in served]
    held = {(name, corpus.manifest["name"]): corpus.manifest for name, corpora in corpora_of(value).items() for corpus in corpora}
    manifests = [held[sample.source, sample.spans[0].corpus] for sample in samples]
    tally.update(
        ["plans"]
        + sorted({manifest["dtype"] for manifest in manifests})
        + ["shards"] * any(len(manifest["shards"]) > 1 for manifest in manifests)
        + ["unions"] * any(len(source.corpora) > 1 for source in plan.sources)
        + ["phases"] * (len({sample.phase for sample in samples}) > 1)
        + ["skips"] * bool(plan.skips)
        + ["boundaries"] * bool(kinds)
        + ["resumed"] * bool(consumed)
        + ["epochs"] * any(sample.epoch > 0 for sample in samples)
    )


@pytest.mark.clause("C3.1")
def test_batches_by_position(tmp_path):
    pool = make_pool(tmp_path)

    @settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
    @given(st.data())
    def run(data):
        plan = Plan.from_json(data.draw(plans(pool)))
        kinds = data.draw(st.sampled_from([(), KINDS]))
        dataset, reader = fastpath.PositionDataset(plan, kinds), BatchReader(plan, kinds)
        first = data.draw(st.integers(0, plan.length - 1))
        positions = range(first, min(plan.length, first + data.draw(st.integers(1, 9))))
        expect_equal(dataset.__getitems__(positions), reader.read(positions))

    run()
