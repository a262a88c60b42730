"""What an epoch is, for loaders of either stride: how many windows a source has, and whether a run shows each of them once an epoch."""

from collections import Counter

from .case import Case
from .judging import named
from .trace import Sample, SampleKey, Trace
from .verdict import Broken, NotApplicable


def expect_whole_epochs(trace: Trace, stride: str = "L") -> int:
    """Raise Broken unless every n draws of each source, from its first, show each of its n windows once; return the epochs completed.

    It is looked at where a step ends, so the order within a step does not matter: after d draws no window was seen more often than
    ceil(d / n) times, and all n were seen floor(d / n) times.
    """
    case = trace.case
    if case.settings.skips:
        raise NotApplicable("expected a case without skips: what they pass over cannot be counted")
    sources = {name: _Source(case.windows(name, stride)) for name in case.settings.sources}
    holder = {corpus: name for name, corpora in case.settings.sources.items() for corpus in corpora}
    if any(source.n < 1 for source in sources.values()):
        raise NotApplicable("expected sources of at least one window")
    step: list[tuple[Sample, SampleKey]] = []
    ends = {end for _, end, _ in trace.blocks()}
    for sample in trace.samples():
        key = trace.window(sample)
        if key[0] in holder:
            step.append((sample, key))
            sources[holder[key[0]]].see(key)
        if sample.position + 1 in ends:
            for name, source in sources.items():
                source.expect_level(trace, name, [(at, seen) for at, seen in step if holder[seen[0]] == name])
            step = []
    return sum(source.draws // source.n for source in sources.values())


class _Source:
    """How often each window of one source was seen."""

    def __init__(self, n: int) -> None:
        self.n = n
        self.draws = 0
        self.seen: Counter[SampleKey] = Counter()
        self.at_least: Counter[int] = Counter()

    def see(self, key: SampleKey) -> None:
        self.draws += 1
        self.seen[key] += 1
        self.at_least[self.seen[key]] += 1

    def expect_level(self, trace: Trace, name: str, step: list[tuple[Sample, SampleKey]]) -> None:
        """Compare with what whole epochs give after as many draws; `step` holds what was drawn of the source since it was last level."""
        whole, rest = divmod(self.draws, self.n)
        most = whole + (rest > 0)
        if self.at_least[most + 1]:
            sample, key = next((sample, key) for sample, key in step if self.seen[key] > most)
            raise Broken(
                f"each of the {self.n} windows of {name!r} at most {most} times in its first {self.draws} draws",
                f"{named(key)} {self.seen[key]} times",
                trace,
                sample,
                source=name,
            )
        if whole and self.at_least[whole] < self.n:
            raise Broken(
                f"each of the {self.n} windows of {name!r} {whole} times in its first {self.draws} draws",
                f"only {self.at_least[whole]} of them so often",
                trace,
                step[-1][0] if step else None,
                source=name,
            )


def expect_all_seen(trace: Trace, stride: str = "L") -> None:
    """Raise Broken where a run as long as an epoch leaves windows out; NotApplicable where it repeats some, which is for C1.3 to judge.

    A run of several epochs may repeat, and leaves out what it never shows.
    """
    case, seen = trace.case, Counter(trace.windows())
    total = sum(case.windows(name, stride) for name in case.settings.sources)
    whole = case.settings.length - case.settings.length % case.legs[-1].batch_size
    epochs = whole // max(1, total)
    if not epochs or (epochs == 1 and max(seen.values(), default=0) > 1):
        raise NotApplicable("expected an epoch, and no window twice in it")
    if trace.legs[-1].leg.steps is None and len(seen) < total:
        steps = trace.legs[-1].steps
        raise Broken(
            f"all {total} windows in a run of {whole} samples{_unseen(case, seen, stride)}",
            f"{len(seen)} of them",
            leg=trace.legs[-1].number,
            step=max(0, len(steps) - 1),
            position=sum(seen.values()),
        )


def _unseen(case: Case, seen: "Counter[SampleKey]", stride: str) -> str:
    """Return in words the first window that a run leaves out, where its place can be told."""
    step, shared = (case.settings.seq_len, 1) if stride == "L" else (case.settings.seq_len + 1, 0)
    for spec in case.corpora:
        for number in range((spec.tokens - shared) // step):
            if (spec.name, number * step) not in seen:
                return f", {named((spec.name, number * step))} among them"
    return ""
