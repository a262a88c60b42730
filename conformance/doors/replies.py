"""What can come back from a rank in place of an answer, as exceptions."""

from typing import Any

from ..driver import MUSTS, Array, Refusal


class DriverFault(Exception):  # noqa: N818 it is a finding
    """The driver broke a MUST of DRIVERS.md, so nothing can be said about the loader: `must` is V1, V2 or V3."""

    def __init__(self, must: str, found: str, rank: int | None = None) -> None:
        super().__init__(f"{MUSTS[must]} Found: {'' if rank is None else f'process {rank} '}{found}")
        self.must, self.found, self.rank = must, found, rank


class LoaderError(Exception):
    """The loader raised an error where it should have served, refused or said that the run is over."""


def opened(message: dict[str, Any], frames: list[Array], number: int) -> tuple[Any, list[Array]]:
    """Return the answer that a message of process `number` holds; raises Refusal, LoaderError or DriverFault."""
    said = [name for name in ("ok", "refused", "error", "fault") if name in message]
    if len(said) != 1:
        found = f"answered with {' and '.join(said)}" if said else "answered without ok, refused or error"
        raise DriverFault("V2", f"{found}: {str(message)[:80]}", number)
    (name,) = said
    if name != "ok" and not isinstance(message[name], str):
        raise DriverFault("V2", f"answered {name} with {str(message[name])[:80]}, no text", number)
    if name == "refused":
        raise Refusal(message["refused"])
    if name == "fault":
        must = message.get("must", "V1")
        if not isinstance(must, str) or must not in MUSTS:
            raise DriverFault("V2", f"answered fault with must {str(must)[:80]}, none of {', '.join(MUSTS)}", number)
        raise DriverFault(must, message["fault"], number)
    if name == "error":
        raise LoaderError(f"process {number}: {message['error']}")
    return message["ok"], frames
