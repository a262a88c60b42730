"""Hypothesis for all tests: the same examples in every run, and no limit on the time of one, which a busy machine would break.

Slow tests come first, so that none of them is left alone on one core at the end. What tests start hears SIGINT, also where the tests
themselves were started in the background of a shell, which has its children ignore it.
"""

import signal

import pytest
from hypothesis import settings

settings.register_profile("fivepoint", deadline=None, derandomize=True)
settings.load_profile("fivepoint")

if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put the test of the longest limit first, then the slow ones; the others stay as they are."""
    items.sort(key=lambda item: (-_limit(item), item.get_closest_marker("slow") is None))


def _limit(item: pytest.Item) -> float:
    mark = item.get_closest_marker("timeout")
    return mark.args[0] if mark else 0
