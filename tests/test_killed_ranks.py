"""Fifty jobs of real rank processes, killed by SIGKILL at random moments and resumed on other ranks (C4.9, C4.3)."""

import random
from itertools import count

import pytest
from plans import make_plan, phase
from pool import make_pool
from rank_job import Job, committed
from rank_process import digest
from ranks import Expected, Layout

KILLS = 50
KILLS_A_RUN = 10


@pytest.mark.slow
@pytest.mark.timeout(1500)  # a minute of two cores, which other tests may want too
@pytest.mark.clause("C4.9")
@pytest.mark.clause("C4.11")
def test_fifty_kills(tmp_path):
    pool = make_pool(tmp_path / "pool")
    kills = lost = 0
    for number in count():
        killed, redone = run_with_kills(tmp_path / f"run-{number}", pool, random.Random(number), min(KILLS - kills, KILLS_A_RUN))
        kills += killed
        lost += redone
        if kills == KILLS:
            break
    print(f"{kills} kills in {number + 1} runs, {lost} positions trained and lost")
    assert lost >= KILLS, "hardly any step was lost, so hardly anything was shown"


def run_with_kills(folder, pool, choose, kills):
    """Play one run to its end, and return how many kills came before it, and how many positions were lost and trained again."""
    plan = random_plan(pool, choose)
    expected = Expected(plan)
    digests = [digest(sample.tokens) for sample in expected.run]
    job = Job(folder, plan, choose)
    killed, lost = 0, 0
    trained_last = set()
    was_killed = True
    while was_killed:
        start = job.consumed
        layout = Layout(choose.choice([1, 2, 2, 3, 4]), choose.randint(1, 3), choose.randint(1, 3))
        trained, was_killed = job.leg(layout, kill=killed < kills)
        trained_now = check_leg(expected, digests, layout, start, trained)
        assert start <= job.consumed <= start + len(trained_now)
        lost += len(trained_last & trained_now)
        trained_last = {position for position in trained_now if position >= job.consumed}
        killed += was_killed
    assert expected.length - job.consumed < expected.batch_size(job.consumed, layout), "ended before the end"
    check_run_log(expected, job)
    return killed, lost


def check_leg(expected, digests, layout, start, trained):
    """Hold what each rank trained, from the state's `consumed` on, to the expected run; return the positions of whole steps."""
    size = expected.batch_size(start, layout)
    for rank, steps in enumerate(trained):
        for number, (consumed, rows) in enumerate(steps):
            assert consumed == start + number * size, f"rank {rank}, step {number} after a resume at {start}"
            positions = [row for batch in expected.micro_batches(consumed, layout, rank) for row in batch["positions"]]
            assert rows == [[position, digests[position]] for position in positions], f"rank {rank} at {consumed}"
    lengths = [len(steps) for steps in trained]
    assert max(lengths) - min(lengths) <= 1, f"a rank went on alone: {lengths}"
    return set(range(start, start + min(lengths) * size))


def check_run_log(expected, job):
    """The log of the steps that count runs from 0 to the state without a gap, and names what was served."""
    consumed = 0
    for record in committed(job.run_log):
        assert record["consumed"] - record["batch_size"] == consumed
        names = [sample.source for sample in expected.run[consumed : record["consumed"]]]
        assert record["samples"] == {name: names.count(name) for name in sorted(set(names))}
        consumed = record["consumed"]
    assert consumed == job.consumed


def random_plan(pool, choose):
    """Return a run of some thousands of positions over four sources, one of them a union, with three mixtures and skips."""
    folders = choose.sample(pool[3:], 6)
    sources = {"a": folders[:1], "b": folders[1:2], "union": folders[2:5], "web": folders[5:]}
    seq_len = choose.choice([4, 8])
    phases = [
        phase(choose.randint(100, 300), {"a": 1, "b": 2, "union": 4}, seq_len),
        phase(choose.randint(300, 1200), {"b": 3, "union": 2}, seq_len),
        phase(choose.randint(2500, 3000), {"a": 3, "b": 1, "union": 2, "web": 5}, seq_len, "furthest-behind"),
    ]
    skips = [[at, choose.randint(1, 20)] for at in sorted(choose.sample(range(2900), 4))]
    return make_plan(sources, phases, seed=choose.getrandbits(64), skips=skips)
