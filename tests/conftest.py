"""Hypothesis for all tests: the same examples in every run, and no limit on the time of one, which a busy machine would break."""

from hypothesis import settings

settings.register_profile("fivepoint", deadline=None, derandomize=True)
settings.load_profile("fivepoint")
