"""The dataset of the rows of a query (core/kernels/data/experimental/sql_dataset_op.cc)."""

import math
import re
import sqlite3
import urllib.parse
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from capstan import errors
from capstan.core import dtypes
from capstan.resources import dataset, elements, file_names
from capstan.resources.dataset import Element, Spec
from capstan.resources.dataset_run import Run


@dataclass(frozen=True, slots=True, eq=False)
class Rows(dataset.Dataset):
    """The rows of a query on an SQLite database, which the pass only reads.

    The components of `spec` are strings, integers, booleans or float64.
    """

    spec: Spec
    source: str
    query: str

    @property
    def may_block(self) -> bool:
        return True  # another process may lock the database

    def start(self, run: Run) -> Iterator[Element]:
        return _Rows(self, run)


class _Rows(Iterator[Element]):
    """Opens the database when the first row is asked for."""

    def __init__(self, plan: Rows, run: Run) -> None:
        self._plan, self._run = plan, run
        self._take = [_reader(dtype) for dtype in plan.spec.types]
        self._cursor: sqlite3.Cursor | None = None

    def __next__(self) -> Element:
        self._run.check()
        try:
            if self._cursor is None:
                self._cursor = self._opened()
            row = next(self._cursor)
        except sqlite3.Error as fault:
            raise errors.UnknownError(
                None, None, f"{fault}: query {self._plan.query!r} on {self._plan.source}"
            ) from fault
        return tuple([take(value) for take, value in zip(self._take, row, strict=True)])

    def _opened(self) -> sqlite3.Cursor:
        path = file_names.local_path(self._plan.source) or self._plan.source
        # Threads take turns: one at a time asks for a row.
        connection = sqlite3.connect(
            f"file:{urllib.parse.quote(path)}?mode=ro", uri=True, check_same_thread=False
        )
        self._run.close_with(self, connection.close)
        # `mode=ro` does not stop statements that write other files, such as ATTACH and VACUUM INTO.
        connection.set_authorizer(_allowed)
        connection.text_factory = bytes
        cursor = connection.execute(self._plan.query)
        columns, wanted = len(cursor.description or ()), len(self._plan.spec.types)
        if columns != wanted:
            raise errors.InvalidArgumentError(
                None,
                None,
                f"The number of columns in query result {columns} does not match the number of "
                f"columns in output_types {wanted}",
            )
        return cursor


_INTEGER: Final = re.compile(rb"\s*[+-]?[0-9]+")
_NUMBER: Final = re.compile(rb"\s*[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?")
_MOST: Final = 2**63 - 1
_READS: Final = frozenset(
    (
        *(sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ),
        *(sqlite3.SQLITE_FUNCTION, sqlite3.SQLITE_RECURSIVE),
    )
)
"""The actions of a query."""


def _allowed(action: int, *_: Any) -> int:
    return sqlite3.SQLITE_OK if action in _READS else sqlite3.SQLITE_DENY


def _reader(dtype: dtypes.DType) -> Callable[[Any], Any]:
    """Return the function that turns a value of SQLite into a scalar of a type."""
    if dtype is dtypes.string:
        return lambda value: elements.scalar(_text(value))
    if dtype is dtypes.float64:
        return lambda value: np.float64(_number(value))
    if dtype is dtypes.bool_:
        return lambda value: np.bool_(_integer(value) != 0)
    kind = np.dtype(dtype.as_numpy_dtype)
    return lambda value: np.int64(_integer(value)).astype(kind)


def _text(value: Any) -> bytes:
    if isinstance(value, bytes):
        return value
    return b"" if value is None else str(value).encode()


def _number(value: Any) -> int | float:
    """Return the number with which a text begins, as SQLite reads it, or 0 if there is none."""
    if isinstance(value, bytes):
        found = _NUMBER.match(value)
        return 0 if found is None else float(found[0])
    number: int | float = value or 0
    return number


def _integer(value: Any) -> int:
    """Return the integer with which a text begins, or a number without its fraction, in 64 bits."""
    if isinstance(value, bytes):
        found = _INTEGER.match(value)
        value = 0 if found is None else int(found[0])
    elif isinstance(value, float) and math.isinf(value):
        value = math.copysign(_MOST, value)
    return min(max(int(value or 0), -_MOST - 1), _MOST)
