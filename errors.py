"""Every exception of fivepoint, one class per kind.

A message is one sentence: what was expected, what was found, where, and what to do.
`exit_code` is what the command line returns when the exception ends a command.
"""


def printable(text: str) -> str:
    """Return a text in which what a terminal does not show, or obeys, is escaped: a name in a file may hold anything."""
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in text)


class FivepointError(Exception):
    """Base of all errors that fivepoint raises on purpose."""

    exit_code = 1

    def __str__(self) -> str:
        """Return the message, in one line."""
        return printable(super().__str__())


class ConfigError(FivepointError):
    """A run's TOML file, or a command's settings, cannot be compiled to a plan."""

    exit_code = 3


class OptionError(ConfigError):
    """The value of one option of a command is of the wrong form or size."""

    exit_code = 2


class PlanError(FivepointError):
    """A plan is malformed, or asks for something that this version does not serve."""

    exit_code = 3


class BudgetError(PlanError):
    """A plan repeats a source more often than its budget or its sign-off allows; `table`, lines below the message, says where."""

    def __init__(self, message: str, table: tuple[str, ...] = ()) -> None:
        super().__init__(message)
        self.table = table

    def __str__(self) -> str:
        """Return the message and the table."""
        return "\n".join([super().__str__(), *map(printable, self.table)])


class CorpusError(FivepointError):
    """The files of a corpus are not what its manifest, or the plan, says they are."""

    exit_code = 4


class CheckpointError(FivepointError):
    """A checkpoint is malformed, or belongs to another past than the plan's.

    `fields` names each field of the past that differs, empty where the checkpoint itself is at fault.
    """

    exit_code = 5

    def __init__(self, message: str, fields: tuple[str, ...] = ()) -> None:
        super().__init__(message)
        self.fields = fields


class RunLogError(FivepointError):
    """A run log has a line that is not a record, or does not hold the step that was asked for."""

    exit_code = 6


class InputError(FivepointError):
    """A document, a tokenizer file or another input of `fivepoint prepare` cannot be used."""

    exit_code = 7


class RangeError(FivepointError, IndexError):
    """A position, draw, window, document or token lies outside what exists."""

    exit_code = 8


class UsageError(FivepointError, RuntimeError):
    """The loader was called in an order, or with sizes, that the contract excludes."""

    exit_code = 9


class DeviceError(FivepointError, RuntimeError):
    """A call of a device's driver failed, or there is no such device; the message holds the call, its code and what the driver says."""

    exit_code = 11


class NoKernelError(DeviceError):
    """The device is there, and none of fivepoint's kernels is for it, nor can its driver compile one."""


class OutputError(FivepointError):
    """A file could not be written; what was there before is as it was."""

    exit_code = 10


class EndedEarlyError(FivepointError):
    """A person, or the system, asked a command to end before it was done."""

    exit_code = 130
