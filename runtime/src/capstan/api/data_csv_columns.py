"""The columns of CSV files: their names, their types, and the columns that a program selects."""

import csv
import gzip
import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from capstan.api import file_io
from capstan.core import dtypes
from capstan.framework import convert

_NUMBERS = (dtypes.int32, dtypes.int64, dtypes.float32, dtypes.float64)
_TYPES = (*_NUMBERS, dtypes.string)
"""The types of columns, from the narrowest to the widest."""


@dataclass(frozen=True, slots=True)
class Table:
    """CSV files with the same columns. The methods read the files."""

    files: tuple[str, ...]
    field_delim: str
    use_quote_delim: bool
    na_value: str
    has_header: bool
    compression_type: str | None

    def names(self) -> list[str]:
        """Return the names in the first line, which is the same in all files.

        Raises:
            ValueError: the files have no header, or their headers differ.
        """
        if not self.has_header:
            raise ValueError("Expected `column_names` or `header` arguments. Neither is provided.")
        headers: list[list[str]] = []
        for name in self.files:
            first = next(self._rows(name), None)
            if first is None:
                raise ValueError(
                    f"Failed when reading the header line of {name}. Is it an empty file?"
                )
            if headers and first != headers[0]:
                raise ValueError(
                    "All input CSV files should have the same column names in the header row. "
                    f"File {name} has different column names."
                )
            headers.append(first)
        return headers[0]

    def defaults(self, count: int, selected: Sequence[int], limit: int | None) -> list[Any]:
        """Return a default for each selected column, of the type that the first records need.

        A record has `count` fields. At most `limit` records are read.

        Raises:
            ValueError: a record has another number of fields.
        """
        widths = [-1] * len(selected)
        for number, row in enumerate(self._records(count)):
            if limit is not None and number >= limit:
                break
            for column, place in enumerate(selected):
                if row[place] not in ("", self.na_value):
                    widths[column] = max(widths[column], _width(row[place]))
        kinds = [_TYPES[width] if width >= 0 else dtypes.string for width in widths]
        return [convert.constant([""] if kind is dtypes.string else [0], kind) for kind in kinds]

    def _records(self, count: int) -> Iterator[list[str]]:
        for name in self.files:
            for number, row in enumerate(self._rows(name), 1):
                if self.has_header and number == 1:
                    continue
                if len(row) != count:
                    raise ValueError(
                        f"Problem inferring types: CSV row {number} has {len(row)} number of "
                        f"fields. Expected: {count}."
                    )
                yield row

    def _rows(self, name: str) -> Iterator[list[str]]:
        quoting: Any = csv.QUOTE_MINIMAL if self.use_quote_delim else csv.QUOTE_NONE
        text = io.StringIO(self._content(name), newline="")
        return csv.reader(text, delimiter=self.field_delim, quoting=quoting)

    def _content(self, name: str) -> str:
        content: bytes = file_io.GFile(name, "rb").read()
        if self.compression_type == "GZIP":
            content = gzip.decompress(content)
        elif self.compression_type:
            raise ValueError(
                f"`compression_type` {self.compression_type} is not supported for probing columns."
            )
        return content.decode()


def selected(
    table: Table,
    names: Sequence[str] | None,
    defaults: Sequence[Any] | None,
    select_columns: Sequence[Any] | None,
    limit: int | None,
) -> tuple[list[int], list[str], Sequence[Any]]:
    """Return the indices, the names and the defaults of the selected columns.

    Names and defaults that are None come from the files, as `Table` says.

    Raises:
        ValueError: a column is unknown, a name or a selected column is repeated, or the number of
            defaults is another.
    """
    if names is None:
        names = table.names()
    places = _places(select_columns, names)
    if defaults is None:
        defaults = table.defaults(len(names), places, limit)
    if len(defaults) != len(places):
        raise ValueError(
            "If specified, `column_defaults` and `select_columns` must have the same length: "
            f"{len(defaults)} and {len(places)}."
        )
    return places, [names[place] for place in places], defaults


def _places(select_columns: Sequence[Any] | None, names: Sequence[str]) -> list[int]:
    """Return the indices of the selected columns, in rising order."""
    if len(set(names)) != len(names):
        repeated = sorted({name for name in names if list(names).count(name) > 1})
        raise ValueError(
            "Either `column_names` argument or CSV header row contains duplicate column names: "
            f"{repeated}."
        )
    if select_columns is None:
        return list(range(len(names)))
    found = []
    for column in select_columns:
        if isinstance(column, int):
            if not 0 <= column < len(names):
                raise ValueError(
                    f"Column index {column} specified in `select_columns` should be > 0  and <= "
                    f"{len(names)}, which is the number of columns."
                )
            found.append(column)
        elif column in names:
            found.append(list(names).index(column))
        else:
            raise ValueError(
                f"Column {column} specified in `select_columns` must be of one of the columns: "
                f"{list(names)}."
            )
    if len(set(found)) != len(found):
        raise ValueError(f"The `select_columns` argument contains duplicate columns: {found}.")
    return sorted(found)


def _width(text: str) -> int:
    """Return the index of the narrowest type in `_TYPES` that a field fits."""
    for index, kind in enumerate(_NUMBERS):
        limits: Any = kind.as_numpy_dtype
        try:
            if kind.is_integer:
                bounds = np.iinfo(limits)
                if bounds.min <= int(text) <= bounds.max:
                    return index
            elif _fits(float(text), limits):
                return index
        except ValueError:
            continue
    return len(_NUMBERS)


def _fits(value: float, kind: Any) -> bool:
    if kind is np.float64 or not np.isfinite(value):
        return True
    bounds = np.finfo(kind)
    return bool(bounds.tiny <= abs(value) <= bounds.max) or value == 0
