"""Loaders whose epochs are not whole, or whose cursors do not carry over (C1.3, C1.8)."""

from dataclasses import replace
from typing import Any

from ...reference.blend import Blend
from ...reference.mixing import mix64, word
from ...reference.permutation import Permutation
from ...reference.plan import Plan
from ...reference.skips import Skips
from .c1 import OtherDraws


class OtherEpochs(OtherDraws):
    """Serves windows in an order of its own, in which its subclasses err."""

    promises = OtherDraws.promises - {"order"}

    def key(self, number: int) -> int:
        """Return the key of a source."""
        return word(self.plan.sources[number].name)


class WithReplacement(OtherEpochs):
    """Picks a window at random for each draw."""

    clause, fault, also = "C1.3", 28, ("C1.8", "C2.1", "C2.3", "C2.5")

    def window(self, number: int, n: int, draw: int) -> int:
        """Return a random window."""
        return mix64(self.plan.seed + mix64(self.key(number) ^ draw)) % n


class ShuffleAcrossEpochs(OtherEpochs):
    """Shuffles all the epochs of a source together, so that a window can come again before all have been seen."""

    clause, fault, also = "C1.3", 27, ("C1.8", "C2.1", "C2.3", "C2.5")

    def window(self, number: int, n: int, draw: int) -> int:
        """Return the window of a permutation over eight epochs."""
        block, offset = divmod(draw, 8 * n)
        return Permutation(8 * n, self.plan.seed, self.key(number), block)(offset) % n


class FoldedPermutation(OtherEpochs):
    """Permutes the next power of two and folds it onto n windows: no bijection unless n is a power of two."""

    clause, fault, also = "C1.3", 29, ("C1.8", "C2.1", "C2.3", "C2.5", "C3.3")

    def window(self, number: int, n: int, draw: int) -> int:
        """Return the folded window."""
        epoch, offset = divmod(draw, n)
        return Permutation(1 << (n - 1).bit_length(), self.plan.seed, self.key(number), epoch)(offset) % n


class EpochsOfTheLargestSource(OtherEpochs):
    """Begins a new epoch of every source when the mixture has gone once through the first, wherever the others are."""

    clause, fault, also = "C1.3", 39, ("C1.8",)

    def window(self, number: int, n: int, draw: int) -> int:
        """Return the window at an offset that starts over with the first source's epochs."""
        largest = max(source.window_count(self.settings.seq_len) for source in self.plan.sources)
        epoch, offset = divmod(draw, largest)
        return Permutation(n, self.plan.seed, self.key(number), epoch, offset // n)(offset % n)


class RestartsCursors(OtherDraws):
    """Begins every source anew when the mixture changes."""

    clause, fault = "C1.8", 14

    def draw(self, position: int) -> tuple[int, int]:
        """Return the draw counted from the beginning of the phase."""
        resolver = self.plan.resolver
        number, draw = resolver.draw(position)
        return number, draw - resolver.stretches[resolver.phase_of(position)].base[number]


class AbsentSourcesRestart(OtherDraws):
    """Forgets the place of a source that pauses for a phase."""

    clause, fault = "C1.8", 14

    def draw(self, position: int) -> tuple[int, int]:
        """Return the draw counted from the last phase before which the source was absent."""
        resolver = self.plan.resolver
        number, draw = resolver.draw(position)
        phase = resolver.phase_of(position)
        while phase and resolver.stretches[phase - 1].blend.weights[number]:
            phase -= 1
        return number, draw - resolver.stretches[phase].base[number]


class CursorsFromTheNewWeights(OtherEpochs):
    """Works out the place of each source as if the new weights had held from the beginning: it repeats of one and leaves out of another."""

    clause, fault = "C1.8", 14

    def draw(self, position: int) -> tuple[int, int]:
        """Return the draw of a run that has the phase's weights throughout."""
        resolver = self.plan.resolver
        weights = resolver.stretches[resolver.phase_of(position)].blend.weights
        return Blend(weights, self.settings.rule)(Skips(0, self.plan.skips).local(position))


class SwitchesAStepLateAfterAResume(OtherDraws):
    """Draws one more step by the old weights when it was resumed before the mixture changed."""

    clause, fault, also = "C4.1", 14, ("C4.3", "C4.4", "C4.5", "C4.8", "C1.8")

    def restore(self, states: list[dict[str, Any]]) -> None:
        """Restore the state, with the phase in which it was saved a step longer."""
        super().restore(states)
        phases = self.plan.phases
        number = self.plan.resolver.phase_of(self.consumed) if self.consumed < self.plan.length else len(phases)
        if number + 1 < len(phases) and phases[number + 1].length > self.layout.batch_size:
            longer = replace(phases[number], length=phases[number].length + self.layout.batch_size)
            shorter = replace(phases[number + 1], length=phases[number + 1].length - self.layout.batch_size)
            self.going = replace(self.plan, phases=(*phases[:number], longer, shorter, *phases[number + 2 :]))

    going: Plan | None = None

    def draw(self, position: int) -> tuple[int, int]:
        """Return the draw of the plan that the resumed run goes by."""
        return (self.going or self.plan).resolver.draw(position)
