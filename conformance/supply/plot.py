"""The result as a picture: a panel for each measure with figures, a bar for each loader, on a scale of powers of ten."""

from pathlib import Path

from ...errors import UsageError
from .results import MEASURES, Cell, Loader, Measure, Result
from .seat import words
from .table import figure

SHOWN = (
    "warm",
    "cold",
    "first_batch_warm",
    "first_batch_cold",
    "first_batch_slow",
    "demand_slow",
    "stall",
    "memory_of_run",
    "bytes_read",
    "resume_0",
    "resume_99",
    "resume_long",
)
LINES = {"warm": (("memcpy", "copy"), ("pread_warm", "pread")), "cold": (("pread_cold", "pread"), ("mmap_cold", "mmap"))}
COLUMNS = 3


def expect_matplotlib() -> None:
    """Raise UsageError where there is nothing to draw with."""
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        raise UsageError("expected matplotlib for --plot, found none; install fivepoint[bench], or leave --plot out") from None


def draw(result: Result, path: Path) -> None:
    """Write the picture, PNG or SVG by its ending."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    measures = [next(measure for measure in MEASURES if measure.name == name) for name in SHOWN]
    rows = -(-len(measures) // COLUMNS)
    height = 0.9 + 0.24 * len(result.loaders)
    figure_, axes = plt.subplots(rows, COLUMNS, figsize=(14, rows * height + 0.8), layout="constrained", sharey=True, squeeze=False)
    for place, measure in enumerate(measures):
        _panel(axes[place // COLUMNS][place % COLUMNS], measure, result)
    for each in axes.flat[len(measures) :]:
        each.set_visible(False)
    said = result.conditions
    figure_.suptitle(
        f"Supply of one rank: steps of {said['micro_batch']} x {said['seq_len']:,} tokens; {said['machine']}, {said['cores']} cores\n"
        "blue: compared with the others; grey lines: the machine; whiskers: half the distance of the quartiles",
        fontsize=10,
    )
    figure_.savefig(path, dpi=110)
    plt.close(figure_)


def _panel(axes, measure: Measure, result: Result) -> None:  # type: ignore[no-untyped-def]  # matplotlib is imported where it is used
    share = measure.unit == "of 1"
    found = [loader.cells.get(measure.name, Cell()) for loader in result.loaders]
    values = [cell.value for cell in found if cell.value]
    if not share and values:
        axes.set_xscale("log")
        values += [limit for name, _ in LINES.get(measure.name, ()) if (limit := result.limits[name].value)]
        axes.set_xlim(min(values) / 3, max(values) * 12)
    if share:
        axes.set_xlim(0, 1.35)
    for place, (loader, cell) in enumerate(zip(result.loaders, found, strict=True)):
        _bar(axes, place, measure, loader, cell)
    for name, short in LINES.get(measure.name, ()):
        if limit := result.limits[name].value:
            axes.axvline(limit, color="grey", linewidth=0.9, linestyle=":")
            axes.annotate(short, (limit, 1), (1, -2), xycoords=("data", "axes fraction"), textcoords="offset points", fontsize=6, va="top")
    axes.set_yticks(range(len(result.loaders)), [loader.name for loader in result.loaders], fontsize=8)
    axes.set_ylim(len(result.loaders) - 0.4, -0.6)
    axes.tick_params(axis="x", labelsize=7)
    better = "more is better" if measure.more_is_better else "less is better"
    unit = "" if share else f", {measure.unit}"
    axes.set_title(f"{measure.heading}{unit}: {better}", fontsize=8, loc="left")


def _bar(axes, place: int, measure: Measure, loader: Loader, cell: Cell) -> None:  # type: ignore[no-untyped-def]  # as above
    if cell.value is None:
        axes.annotate(words(cell.reason, 44), (0.01, place), xycoords=("axes fraction", "data"), va="center", fontsize=6, color="dimgrey")
        return
    # A bar has no length on a scale of powers of ten where it is 0.
    axes.barh(place, cell.value, xerr=cell.spread or None, color="tab:blue" if loader.own else "tab:orange", height=0.62, capsize=2)
    text = figure(measure, cell.value)
    at = (cell.value + cell.spread, place) if cell.value else (axes.get_xlim()[0], place)
    axes.annotate(text, at, (3, 0), textcoords="offset points", va="center", fontsize=7)
