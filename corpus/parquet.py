"""Documents in a column of a Parquet file, row by row."""

from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from ..errors import InputError
from .sources import InputFile

_ROWS = 256


def read_values(file: InputFile, column: str) -> Iterator[tuple[str, bytes, int]]:
    """Yield (document, its bytes, how far the file is read, in its bytes) for every row of `column`.

    Raises InputError for a file that is not Parquet, a column that is missing or holds no text, and a row without text.
    The library holds a column's page at a time, so a value of many megabytes needs a few times that memory.
    """
    row = 0
    try:
        with pq.ParquetFile(file.path, pre_buffer=False) as parquet:
            _check(parquet.schema_arrow, column, file)
            rows = max(parquet.metadata.num_rows, 1)
            for batch in parquet.iter_batches(batch_size=_ROWS, columns=[column]):
                for value in batch.column(0).cast(pa.large_binary()):
                    row += 1
                    if not value.is_valid:
                        raise InputError(f"expected text in column {column!r} of {file.path}, found none in row {row}")
                    yield f"{file.label}:{row}", value.as_py(), file.bytes * row // rows
    except (pa.ArrowException, OSError) as reason:
        message = " ".join(str(reason).split())
        raise InputError(f"cannot read {file.path} as Parquet: {message}; restore it from a copy") from reason


def _check(schema: Any, column: str, file: InputFile) -> None:
    if column not in schema.names:
        found = ", ".join(schema.names) or "none"
        raise InputError(f"expected the column {column!r} in {file.path}, found {found}; name another with --text-field")
    kind = schema.field(column).type
    values = kind.value_type if pa.types.is_dictionary(kind) else kind
    if values not in (pa.string(), pa.large_string(), pa.binary(), pa.large_binary()):
        raise InputError(f"expected text in column {column!r} of {file.path}, found {kind}")
