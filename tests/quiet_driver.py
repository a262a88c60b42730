"""A driver of the reference loader that promises nothing."""

from fivepoint.conformance.drivers.reference import ReferenceDriver


class QuietDriver(ReferenceDriver):
    """Does all that the reference does, and answers for none of it."""

    promises = frozenset()
