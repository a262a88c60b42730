"""The result as a table: a row for each measure, a column for each loader, beside it what the machine gives."""

from rich.box import SIMPLE
from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from ..console import sized
from ..report.words import plain
from .results import LIMITS, MEASURES, Cell, Loader, Measure, Result
from .resuming import COMPARED, OVER
from .verdicts import verdicts

MIB = 1 << 20
BESIDE = {"warm": ("memcpy", "pread_warm", "pread_warm_threads"), "cold": ("pread_cold", "mmap_cold")}
"""Limits with which a supply is compared, as a share of each or as a multiple."""


def print_result(result: Result) -> None:
    """Print tables of the machine and of the loaders, the reasons for what is missing, and what is to be reached."""
    console = sized(Console())
    console.print(Group(_machine(result), *_loaders(result, console.width), *_closing(result)))


def figure(measure: Measure, value: float, spread: float = 0.0) -> str:
    """Return a figure as people read it, with its spread where there is one, and its unit where the heading does not say it."""
    if measure.unit == "s":
        shown, unit, places = (1e3, " ms", 0 if value >= 0.1 else 1) if value < 1 else (1.0, " s", 2)
    elif measure.unit == "bytes":
        shown, unit, places = (1.0, "", 2) if measure.name == "bytes_read" else (1 / MIB, " MiB", 0)
    elif measure.unit == "of 1":
        shown, unit, places = 100.0, " %", 0
    else:
        shown, unit, places = 1.0, "", 0
    more = f" ± {shown * spread:,.{places}f}" if spread else ""
    return f"{shown * value:,.{places}f}{more}{unit}"


def _machine(result: Result) -> Table:
    said = result.conditions
    known = said["readahead_bytes"] is not None
    ahead = f"{said['readahead_bytes'] / 1024:,.0f} KiB" if known else "as much as it does not say"
    heading = (
        f"{said['machine']}, {said['cores']} cores; {said['tokens']:,} tokens of uint32 in one file of "
        f"{said['file_bytes'] / MIB:,.0f} MiB, of which the system reads ahead {ahead}; "
        f"steps of {said['micro_batch']} x {said['seq_len']:,}; medians of {said['rounds']} rounds"
    )
    table = Table(title=Text(plain(heading)), title_justify="left", box=SIMPLE)
    for column in ("the machine", "samples/s", "tokens/s", ""):
        table.add_column(column, justify="left" if column in ("the machine", "") else "right", overflow="fold")
    for limit in LIMITS:
        cell = result.limits[limit.name]
        if cell.value is None:
            table.add_row(limit.heading, "", "", Text(plain(cell.reason), style="dim"))
        else:
            table.add_row(limit.heading, figure(limit, cell.value, cell.spread), f"{cell.value * said['seq_len']:,.0f}", cell.note)
    return table


def _loaders(result: Result, width: int) -> list[Table]:
    """Return tables of as many loaders each as a page holds."""
    most = max(1, (width - 34) // 24)
    return [_part(result, result.loaders[first : first + most]) for first in range(0, len(result.loaders), most)]


def _part(result: Result, loaders: list[Loader]) -> Table:
    said = result.conditions
    table = Table(box=SIMPLE)
    table.add_column("", overflow="fold", max_width=34)
    for loader in loaders:
        over = " (over a pipe)" if loader.over_a_pipe else ""
        table.add_column(Text(plain(f"{loader.name}{over}\n{loader.version}")), justify="right", overflow="fold")
    headings = {
        "demand": f"share met of {said['demand_tokens_per_second']:,.0f} tokens/s, warm",
        "demand_slow": f"the same, reads of {1e3 * said['latency_seconds']:.0f} ms",
        "first_batch_slow": f"time to first batch, reads of {1e3 * said['latency_seconds']:.0f} ms",
        "stall": f"longest wait in a stall of {1e3 * said['stall_seconds']:.0f} ms",
    }
    for measure in MEASURES:
        table.add_row(
            headings.get(measure.name, measure.heading), *(_cell(measure, loader.cells.get(measure.name, Cell())) for loader in loaders)
        )
        for limit in BESIDE.get(measure.name, ()):
            shown = next(each.heading for each in LIMITS if each.name == limit)
            table.add_row(f"  times the {shown}", *(_times(loader, measure, result.limits[limit]) for loader in loaders))
    return table


def _cell(measure: Measure, cell: Cell) -> RenderableType:
    if cell.value is None:
        return Text(plain(cell.reason or "not measured"), style="dim")
    note = f"\n{cell.note}" if cell.note else ""
    return Text.assemble(figure(measure, cell.value, cell.spread), (plain(note), "dim"))


def _times(loader: Loader, measure: Measure, limit: Cell) -> str:
    value = loader.cells.get(measure.name, Cell()).value
    return "" if value is None or not limit.value else f"{value / limit.value:.3g}"


def _closing(result: Result) -> list[Text]:
    exact = [loader for loader in result.loaders if loader.exact]
    lines = [f"went on exactly for {COMPARED} steps, resumed at 1 % and at 99 %: {_names(exact)}"]
    if over := [loader for loader in exact if OVER in loader.compared]:
        lines[0] += f"; over {OVER} too: {_names(over)}"
    if in_order := [loader.name for loader in result.loaders if loader.promises and "shuffle" not in loader.promises]:
        lines.append(f"read in the order of their files, for they promise no shuffle: {', '.join(in_order)}")
    return [Text(plain(line)) for line in [*lines, *(verdict.said for verdict in verdicts(result))]]


def _names(loaders: list[Loader]) -> str:
    return ", ".join(loader.name for loader in loaders) or "none"
