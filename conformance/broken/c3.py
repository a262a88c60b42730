"""Loaders whose order depends on what it must not, or is no shuffle (C3.1 to C3.4)."""

import random
from dataclasses import replace
from pathlib import Path
from typing import ClassVar

from ...reference.permutation import Permutation
from ...reference.plan import Plan
from ...reference.records import Sample, Span
from ..driver import Layout, Refusal, Settings
from .honest import Honest


class OtherOrder(Honest):
    """Serves an order of its own, in which its subclasses err; so it promises neither the exact order nor a way back."""

    promises = Honest.promises - {"order", "where"}

    def resolve(self, position: int) -> Sample:
        """Return the plan's sample with the window that `window` gives in place of its own."""
        sample = self.plan.resolve(position)
        source = next(source for source in self.plan.sources if source.name == sample.source)
        grid = self.settings.seq_len
        window = self.window(sample, source.window_count(grid))
        corpus, k = source.locate(window, grid)
        return replace(sample, window=window, spans=(Span(corpus.name, k * grid, grid + 1),))

    def window(self, sample: Sample, n: int) -> int:
        """Return the window of a sample's source, of `n`, at its epoch and offset."""
        return sample.window


class OrderOfTheHashSeed(OtherOrder):
    """Seeds the shuffle by Python's own hash of the source's name, which differs between processes."""

    clause, fault, also = "C3.1", 18, ("C4.1", "C4.9")

    def window(self, sample: Sample, n: int) -> int:
        """Shuffle by a seed of this process."""
        return Permutation(n, self.plan.seed, hash(sample.source) & (1 << 64) - 1, sample.epoch)(sample.offset)


class OrderOfTheHashSeedOfOneSource(OrderOfTheHashSeed):
    """Does the same, and serves one source for an epoch and no more, so that no mixture brings it to light."""

    promises = frozenset({"shuffle", "layout", "whole_steps"})

    def build(self, corpus: Path, workdir: Path, settings: Settings, layout: Layout, states: list[bytes]) -> None:
        """Build, or refuse what is more than that."""
        if len(settings.sources) > 1 or len(settings.phases) > 1 or settings.skips or states:
            raise Refusal("serves one source for an epoch")
        super().build(corpus, workdir, settings, layout, states)


class OneGeneratorForAll(OtherOrder):
    """Draws the shuffle of a run from the process's random generator as it stands, so a second run is shuffled otherwise."""

    clause, fault = "C3.1", 18
    # Whatever compares two runs in one process sees it.
    also = (
        *("C1.8", "C1.10", "C2.2", "C2.6", "C3.2"),
        *("C4.1", "C4.2", "C4.3", "C4.4", "C4.5", "C4.6", "C4.8", "C4.9", "C4.11", "C4.12"),
    )
    generator = random.Random(5)
    drawn: ClassVar[dict[Path, int]] = {}

    def window(self, sample: Sample, n: int) -> int:
        """Shuffle by what was drawn for the run, which its folder names."""
        seed = self.drawn.setdefault(self.workdir, self.generator.randrange(1 << 64))
        return Permutation(n, seed, hash_of(sample.source), sample.epoch)(sample.offset)


class OrderOfTheRanks(OtherOrder):
    """Mixes the number of ranks into the seed."""

    clause, fault, also = "C3.2", 16, ("C2.2", "C2.6", "C3.1", "C4.3", "C4.4", "C4.9")

    def window(self, sample: Sample, n: int) -> int:
        """Shuffle by a seed with the number of ranks in it."""
        return Permutation(n, self.plan.seed, self.layout.dp_size, hash_of(sample.source), sample.epoch)(sample.offset)


class OrderOfTheBatch(OtherOrder):
    """Mixes the batch size into the seed."""

    clause, fault, also = "C3.2", 16, ("C2.6", "C4.3", "C4.4", "C4.9")

    def window(self, sample: Sample, n: int) -> int:
        """Shuffle by a seed with the batch size in it."""
        return Permutation(n, self.plan.seed, self.layout.batch_size, hash_of(sample.source), sample.epoch)(sample.offset)


class OrderOfTheWorkers(OtherOrder):
    """Lets the number of workers into the order."""

    clause, fault, also = "C3.2", 17, ("C4.3",)

    def window(self, sample: Sample, n: int) -> int:
        """Shuffle by a seed with the number of workers in it, where there are any."""
        if not self.layout.workers:
            return sample.window
        return Permutation(n, self.plan.seed, self.layout.workers, hash_of(sample.source), sample.epoch)(sample.offset)


class BlockShuffle(OtherOrder):
    """Shuffles within blocks of 16 windows, and calls it a shuffle."""

    clause, fault, also = "C3.3", 30, ()

    def window(self, sample: Sample, n: int) -> int:
        """Shuffle the block that the offset lies in."""
        start = sample.offset // 16 * 16
        size = min(16, n - start)
        return start + Permutation(size, self.plan.seed, hash_of(sample.source), sample.epoch, start)(sample.offset - start)


class PredictableLowBits(OtherOrder):
    """Shuffles with rounds that never reach the lowest bit, so even places hold even windows."""

    clause, fault, also = "C3.3", 30, ()

    def window(self, sample: Sample, n: int) -> int:
        """Shuffle pairs, and leave the places within them; the last window of an odd number stays."""
        pair, bit = divmod(sample.offset, 2)
        if n < 4 or pair == n // 2:
            return sample.offset
        return 2 * Permutation(n // 2, self.plan.seed, hash_of(sample.source), sample.epoch)(pair) + bit


class AnotherBijection(OtherOrder):
    """Another bijection than the specification's, good as a shuffle, and of no use to anybody who recomputes it."""

    clause, fault, also = "C3.3", None, ()
    promises = OtherOrder.promises | {"order"}

    def window(self, sample: Sample, n: int) -> int:
        """Shuffle under another key."""
        return Permutation(n, self.plan.seed, 1, sample.epoch, hash_of(sample.source))(sample.offset)


class SeedPlusEpoch(OtherOrder):
    """Adds the epoch to the seed, so epoch 1 of one seed is epoch 0 of the next."""

    clause, fault, also = "C3.4", 24, ()

    def window(self, sample: Sample, n: int) -> int:
        """Shuffle by the sum."""
        return Permutation(n, self.plan.seed + sample.epoch, hash_of(sample.source))(sample.offset)


class OneKeyForAllSources(OtherOrder):
    """Leaves the source out of the key, so sources of equal size come in equal orders."""

    clause, fault, also = "C3.4", 25, ()

    def window(self, sample: Sample, n: int) -> int:
        """Shuffle by seed and epoch alone."""
        return Permutation(n, self.plan.seed, sample.epoch)(sample.offset)


class EveryEpochAlike(OtherOrder):
    """Serves the order of the first epoch in every epoch."""

    clause, fault, also = "C3.4", 26, ()

    def window(self, sample: Sample, n: int) -> int:
        """Shuffle as in epoch 0."""
        return Permutation(n, self.plan.seed, hash_of(sample.source))(sample.offset)


def hash_of(name: str) -> int:
    """Return a number for a name that is the same in every process."""
    return int.from_bytes(name.encode()[:8].ljust(8, b"\0"), "little")


class SeedOf32Bits(Honest):
    """Keeps the low 32 bits of the seed."""

    clause, fault, also = "C3.4", 24, ("C3.3",)

    def make_plan(self, corpus: Path, settings: Settings) -> Plan:
        """Plan with that seed."""
        return super().make_plan(corpus, replace(settings, seed=settings.seed % (1 << 32)))


class SeedPlusEpochOfOneSource(OtherOrder):
    """Shuffles an epoch by the sum of the seed and its number, so that the second of one seed is the first of the next."""

    clause, fault, also = "C3.4", 24, ()
    promises = OtherOrder.promises - {"mixture", "prefix", "phases"}

    def window(self, sample: Sample, n: int) -> int:
        """Shuffle by the sum."""
        return Permutation(n, self.plan.seed + sample.epoch)(sample.offset)
