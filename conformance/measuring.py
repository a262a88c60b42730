"""Ranks in processes of their own, for checks that measure them."""

from dataclasses import replace

from .bench import Play
from .case import Leg
from .doors.process import Process


def started(play: Play, leg: Leg) -> Process:
    """Start a rank as a process of its own, wait until it has answered, and return it."""
    play.start(replace(leg, fresh=True))
    play.ask({"do": "declare"})
    rank = play.ranks[0]
    assert isinstance(rank, Process)
    return rank
