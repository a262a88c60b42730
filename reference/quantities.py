"""Quantities as a person writes them in a run's TOML file: "2T", "100B tokens", "2000 steps", "90%", or a plain integer."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from ..errors import ConfigError
from . import partition

_SHAPE = re.compile(r"(\d{1,18}(?:\.\d{1,18})?) *([KMBT]?)(?: *(%|samples|tokens|steps))?", re.ASCII)
_SCALE = {"": 1, "K": 10**3, "M": 10**6, "B": 10**9, "T": 10**12}


@dataclass(frozen=True)
class Units:
    """What tokens, steps and percent are worth in samples; `length` is None while the run's own length is being read."""

    seq_len: int
    batch_sizes: Sequence[tuple[int, int]] = ()
    length: int | None = None

    def samples(self, value: int | str, where: str, unit: str | None = None) -> int:
        """Return the number of samples that `value` names, rounded down; without a unit it counts `unit`, an integer samples.

        Raises ConfigError for what is no quantity, names no unit where none is known, or cannot be told in samples here.
        """
        shape = _SHAPE.fullmatch(str(value).strip())
        if not shape:
            raise ConfigError(f'{where}: expected a quantity such as 4096, "2T", "100B tokens", "2000 steps" or "90%", found {value!r}')
        number = Fraction(shape[1]) * _SCALE[shape[2]]
        unit = shape[3] or unit or (None if isinstance(value, str) and shape[2] else "samples")
        if unit is None:
            # "3M" is tokens to one reader and samples to another.
            raise ConfigError(f'{where}: expected a unit, "{value} samples" or "{value} tokens", found {value!r}')
        if unit == "tokens":
            return int(number // self.seq_len)
        if unit == "steps":
            return self._after_steps(number, where)
        if unit == "%":
            return self._share(number, where)
        return int(number)

    def _after_steps(self, steps: Fraction, where: str) -> int:
        if not self.batch_sizes:
            raise ConfigError(
                f"{where}: expected global_batch or [[batch]] beside a number of steps, found neither; steps have no size without one"
            )
        return partition.position_after(self.batch_sizes, int(steps))

    def _share(self, percent: Fraction, where: str) -> int:
        if self.length is None or percent > 100:
            raise ConfigError(
                f"{where}: expected {'at most 100%' if self.length is not None else 'no percentage'}, found {float(percent):g}%"
            )
        return int(percent * self.length // 100)
