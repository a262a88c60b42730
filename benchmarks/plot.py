"""Draws the rows of a benchmark: how many times as fast as what they are compared with, and what is wanted."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")
from matplotlib import pyplot as plt


def draw(rows: Sequence[Mapping[str, Any]], path: Path) -> None:
    """Write the picture of rows with `what`, `against`, `times`, `spread` and `wanted` (None where nothing is)."""
    figure, axes = plt.subplots(figsize=(10, 1.2 + 0.34 * len(rows)), layout="constrained")
    places = range(len(rows))
    short = [row["wanted"] is not None and row["times"] < row["wanted"] for row in rows]
    colours = ["tab:orange" if each else "tab:blue" for each in short]
    axes.barh(places, [row["times"] for row in rows], xerr=[row["spread"] for row in rows], color=colours, height=0.6, capsize=2)
    for place, row in zip(places, rows, strict=True):
        if row["wanted"]:
            axes.plot([row["wanted"]] * 2, [place - 0.42, place + 0.42], color="black", linewidth=2)
        axes.annotate(
            f"{row['times']:.2f}", (row["times"] + row["spread"], place), (4, 0), textcoords="offset points", va="center", fontsize=8
        )
    axes.axvline(1, color="grey", linewidth=0.8, linestyle=":")
    axes.set_xscale("log")
    axes.margins(x=0.12)
    axes.set_yticks(places, [f"{row['what']}  /  {row['against']}" for row in rows], fontsize=8)
    axes.invert_yaxis()
    axes.set_xlabel("times as fast; black: wanted, orange: short of it; whiskers: half the distance of the quartiles", fontsize=8)
    axes.set_title("the native loader beside numpy, torch and the machine", fontsize=10)
    figure.savefig(path, dpi=120)
    plt.close(figure)
