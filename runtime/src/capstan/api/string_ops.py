"""Ops that split, join and change strings (python/ops/string_ops.py)."""

from collections.abc import Sequence
from typing import Any

from capstan.api import plain
from capstan.framework import sparse_tensor
from capstan.framework.raw import raw

__all__ = [
    "as_string", "regex_replace", "string_join", "string_length", "string_split", "string_strip",
    "substr",
]  # fmt: skip

string_strip = plain.function(
    "string_strip", "StringStrip", "Return strings without the white space at both ends."
)


def string_split(
    source: Any = None, delimiter: str | None = None, skip_empty: bool = True, sep: Any = None
) -> sparse_tensor.SparseTensor:
    """Return the parts of each string of a vector, as a SparseTensor with a row for each string.

    Each byte of `delimiter`, by default a space, separates. With an empty delimiter, every byte is
    a part. `skip_empty` drops empty parts. `sep` is another name of `delimiter`.
    """
    separator = sep if delimiter is None else delimiter
    parts = raw.StringSplit(source, " " if separator is None else separator, skip_empty=skip_empty)
    return sparse_tensor.SparseTensor(parts.indices, parts.values, parts.shape)


def substr(input: Any, pos: Any, len: Any, name: str | None = None, unit: str = "BYTE") -> Any:
    """Return the part of each string that begins at `pos` and has up to `len` units.

    A negative `pos` counts from the end. `unit` is `BYTE` or `UTF8_CHAR`. The step fails with
    InvalidArgumentError if `pos` is not in the string.
    """
    return raw.Substr(input, pos, len, unit=unit, name=name)


def string_length(input: Any, name: str | None = None, unit: str = "BYTE") -> Any:
    """Return the length of each string in `unit`: `BYTE` or `UTF8_CHAR`."""
    return raw.StringLength(input, unit=unit, name=name)


def regex_replace(
    input: Any, pattern: Any, rewrite: Any, replace_global: bool = True, name: str | None = None
) -> Any:
    """Replace the matches of a pattern of RE2 in each string, or only the first match.

    In `rewrite`, `\\1` stands for the first group and `\\0` for the match.
    """
    return raw.RegexReplace(input, pattern, rewrite, replace_global=replace_global, name=name)


def string_join(inputs: Sequence[Any], separator: str = "", name: str | None = None) -> Any:
    """Join the strings of several tensors of one shape, element by element. Scalars broadcast."""
    return raw.StringJoin(list(inputs), separator=separator, name=name)


def as_string(
    input: Any,
    precision: int = -1,
    scientific: bool = False,
    shortest: bool = False,
    width: int = -1,
    fill: str = "",
    name: str | None = None,
) -> Any:
    """Return each element as a string, as C's `printf` writes it with these flags."""
    return raw.AsString(
        input,
        precision=precision,
        scientific=scientific,
        shortest=shortest,
        width=width,
        fill=fill,
        name=name,
    )
