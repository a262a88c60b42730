"""What a run says of an own loader beside the best of the others: the figures that are to be reached."""

from dataclasses import dataclass

from .results import Cell, Loader, Result

SUPPLY, COLD, RESUME = 10.0, 100.0, 10.0
"""How many times the best peer's supply, the useful bytes of a default mmap, and how many times sooner a resume."""


@dataclass(frozen=True)
class Verdict:
    """A figure that is to be reached: in words, how many times it is (None: nothing to compare), and how many times are wanted."""

    what: str
    times: float | None
    wanted: float

    @property
    def said(self) -> str:
        """The verdict as a sentence."""
        if self.times is None:
            return f"{self.what}: nothing to compare"
        return f"{self.what}: {self.times:.3g} times, wanted {self.wanted:g}{'' if self.times >= self.wanted else ' (short)'}"


def verdicts(result: Result) -> list[Verdict]:
    """Return what is said of the first own loader; none where there is none."""
    own = next((loader for loader in result.loaders if loader.own), None)
    if own is None:
        return []
    others = [loader for loader in result.loaders if not loader.own]
    supply = max(((_value(loader, "warm"), loader.name) for loader in others if _value(loader, "warm")), default=None)
    mapped = result.limits.get("mmap_cold", Cell()).value
    soonest = min(((found, loader.name) for loader in others if loader.exact and (found := _latest(loader)) is not None), default=None)
    resumed = _value(own, "resume_long")
    return [
        Verdict(
            f"{own.name}, warm samples a second beside the best peer{f' ({supply[1]})' if supply else ''}",
            _ratio(_value(own, "warm"), supply[0] if supply else None),
            SUPPLY,
        ),
        Verdict(f"{own.name}, useful bytes a second from cold files beside a default mmap", _ratio(_value(own, "cold"), mapped), COLD),
        Verdict(
            f"{own.name}, resumed at 99 % of 10^9 beside the soonest exact peer"
            + (f" ({soonest[1]}, at the latest that it was resumed at)" if soonest else ""),
            _ratio(soonest[0] if soonest else None, resumed),
            RESUME,
        ),
    ]


def _latest(loader: Loader) -> float | None:
    """Return the seconds of a resume at the latest position that there is a figure for."""
    late = _value(loader, "resume_long")
    return _value(loader, "resume_99") if late is None else late


def _value(loader: Loader, name: str) -> float | None:
    return loader.cells.get(name, Cell()).value


def _ratio(one: float | None, other: float | None) -> float | None:
    return one / other if one is not None and other else None
