"""The demo's run: its size, and the TOML file that the plan is compiled from."""

from dataclasses import dataclass

SEED = 2024
VOCABULARY = 4096
LEAST_TOKENS = 6_000_000
"""From fewer the small source docs would be passed through more often than its budget, 3 epochs, allows."""


@dataclass(frozen=True)
class Size:
    """Tokens of text, steps in all, the position where the batch grows, steps between checkpoints, of the kill, and the last on 4 ranks."""

    tokens: int = 12_000_000
    steps: int = 320
    ramp: int = 2400
    checkpoint_every: int = 40
    kill_at: int = 91
    stop_at: int = 200


QUICK = Size(tokens=1_000_000, steps=40, ramp=576, checkpoint_every=8, kill_at=13, stop_at=28)

RUN_TOML = """\
seed = {seed}
seq_len = 128
steps = {steps}

[[batch]]            # a step holds 24 samples at first, and 48 from position {ramp} on
from = 0
size = 24
[[batch]]
from = {ramp}
size = 48

[sources.stdlib]
path = "corpus/stdlib"
max_epochs = 1
[sources.packages]
path = "corpus/packages"
max_epochs = 1
[sources.docs]       # small, and weighed past its size: it is passed through more than once
path = "corpus/docs"
max_epochs = 3

[[phases]]           # ends inside a step, and so does the next one
until = 500
weights = {{ stdlib = 1 }}
[[phases]]
until = "75%"
weights = {{ stdlib = 0.25, packages = 0.5, docs = 0.25 }}
[[phases]]
until = "100%"
weights = {{ stdlib = 0.2, packages = 0.2, docs = 0.6 }}
"""


def run_toml(size: Size) -> str:
    """Return the TOML file of a run of this size."""
    return RUN_TOML.format(seed=SEED, steps=size.steps, ramp=size.ramp)


FAULTS = {
    "prefetched": "whose saved state counts the two steps it had read ahead as trained on",
    "cursors": "that begins every source afresh when the mixture changes",
}
"""The planted faults of sabotage.py, in words."""

# What the proof must say first of each planted fault. Checkpoints are 8 steps of 24 samples apart, and the loader that
# counts what it had read ahead goes on two steps past the one it resumes from. At position 500 the mixture changes; position 503, in the
# same micro-batch, is the first that draws from a source which had been drawn from before.
REPORTS: dict[str, str] = {
    "prefetched": "step 9, rank 0, micro-batch 0: expected the tokens of positions 192 to 194, found those of positions 240 to 242",
    "cursors": "step 21, rank 2, micro-batch 1: expected the tokens of positions 500 to 503, found tokens that the plan has at no",
}
