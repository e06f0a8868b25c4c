"""Kernels that split and change strings.

Sources: core/kernels/{string_split,substr,string_strip,string_length}_op.cc.
"""

import itertools
import operator
import re
from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from capstan.core import arrays, attr_value, packed_strings
from capstan.core.arrays import Array
from capstan.core.packed_strings import PackedStrings
from capstan.core.shapes import show
from capstan.kernels.registry import Function, Kernel, NodeContext, register
from capstan.kernels.rejection import invalid, string

_BLANKS = b" \t\n\r\v\f"

_FEW: Final = 64
"""Up to this number, strings are split faster one by one than all at once."""

IsKept = Callable[[Array, Array], Array | None]
"""A function that returns which parts of strings are kept, or None if all are. It takes the sizes
of the parts and the numbers of parts of each string.
"""


def _split_each(strings: Array, split: Callable[[bytes], Sequence[bytes]]) -> Any:
    """Return the parts of each string as a sparse matrix with one row for each string."""
    rows = list(map(split, np.asarray(strings, object).ravel().tolist()))
    counts = np.fromiter(map(len, rows), np.int64, len(rows))
    values = arrays.strings(itertools.chain.from_iterable(rows), (int(counts.sum()),))
    return _places(counts), values, _shape(counts)


def _split_all(strings: Array, separators: bytes, is_kept: IsKept, stays_packed: bool) -> Any:
    """Return the same of many strings, of which each byte of `separators` ends a part."""
    parts, counts = packed_strings.split(np.asarray(strings, object).ravel().tolist(), separators)
    kept = is_kept(parts.sizes, counts)
    if kept is not None:
        rows = np.repeat(np.arange(len(counts)), counts)[kept]
        counts = np.bincount(rows, minlength=len(counts))
        parts = PackedStrings(parts.data, parts.starts[kept], parts.sizes[kept])
    values = parts if stays_packed else parts.unpacked()
    return _places(counts), values, _shape(counts)


def _places(counts: Array) -> Array:
    """Return the indices of as many elements of each row."""
    total = int(counts.sum())
    places = np.empty((total, 2), np.int64)
    places[:, 0] = np.repeat(np.arange(len(counts)), counts)
    places[:, 1] = np.arange(total) - np.repeat(counts.cumsum() - counts, counts)
    return places


def _shape(counts: Array) -> Array:
    return np.array([len(counts), counts.max(initial=0)], np.int64)


def _all(sizes: Array, counts: Array) -> None:
    return None


def _not_empty(sizes: Array, counts: Array) -> Array:
    return sizes > 0


def _not_of_empty(sizes: Array, counts: Array) -> Array:
    return (sizes > 0) | np.repeat(counts > 1, counts)


def _bytes_of(text: bytes) -> list[bytes]:
    return [text[at : at + 1] for at in range(len(text))]


def _string_split(node: NodeContext) -> Function:
    skips_empty = bool(node.attrs["skip_empty"])

    def split(strings: Array, delimiter: Array) -> Any:
        if np.ndim(delimiter):
            raise invalid(f"delimiter must be a scalar, got shape: {show(np.shape(delimiter))}")
        separators = string(delimiter, "delimiter")
        # Each byte of the delimiter separates.
        cut: Callable[[bytes], list[bytes]]
        if len(separators) == 1:
            cut = operator.methodcaller("split", separators)
        elif separators:
            cut = re.compile(b"[" + re.escape(separators) + b"]").split
        else:
            cut = _bytes_of

        def parts(text: bytes) -> list[bytes]:
            if not text:
                return []
            found = cut(text)
            return [part for part in found if part] if skips_empty else found

        if strings.size <= _FEW or not separators:
            return _split_each(strings, parts)
        is_kept = _not_empty if skips_empty else _not_of_empty
        return _split_all(strings, separators, is_kept, 1 in node.packed)

    return split


def _string_split_v2(node: NodeContext) -> Function:
    most = int(node.attrs["maxsplit"])

    def split(strings: Array, separator: Array) -> Any:
        text = string(separator, "sep") or None
        if strings.size > _FEW and most < 0 and (text is None or len(text) == 1):
            is_kept = _all if text else _not_empty
            return _split_all(strings, text or _BLANKS, is_kept, 1 in node.packed)
        if most < 0 or (text and most):
            return _split_each(strings, lambda value: value.split(text, most))
        return _split_each(strings, lambda value: _first_words(value, most))

    return split


def _first_words(value: bytes, most: int) -> list[bytes]:
    """Return up to `most` words, and the rest if there are as many. Python drops an empty rest."""
    if not most:
        return [value]
    words = value.split(None, most)
    return [*words, b""] if len(words) == most else words


def _substr(node: NodeContext) -> Function:
    in_characters = attr_value.text(node.attrs["unit"]) == "UTF8_CHAR"

    def substr(strings: Array, positions: Array, lengths: Array) -> Array:
        if not positions.ndim and not in_characters:
            part = _part_of_each(np.asarray(strings, object), positions, lengths)
            if part is not None:
                return part
        given = np.broadcast_arrays(np.asarray(strings, object), positions, lengths)
        parts = []
        for at, (value, start, length) in enumerate(zip(*map(np.ravel, given), strict=True)):
            text: Any = value.decode(errors="surrogateescape") if in_characters else value
            if not -len(text) <= start <= len(text):
                shown = "string" if in_characters else f"string b'{value.decode(errors='replace')}'"
                raise invalid(f"pos {start} out of range for {shown} at index {at}")
            begin = start if start >= 0 else len(text) + start
            part = text[begin : begin + _size(length, len(text), in_characters)]
            parts.append(part.encode(errors="surrogateescape") if in_characters else part)
        return arrays.strings(parts, given[0].shape)

    return substr


def _size(length: int, size: int, in_characters: bool) -> int:
    """Return the size of a part of a text that has `size` bytes or characters.

    As in TensorFlow, a negative number of bytes means the rest, and a negative number of
    characters means none.
    """
    if length >= 0:
        return length
    return 0 if in_characters else size


def _part_of_each(strings: Array, position: Array, length: Array) -> Array | None:
    """Return the same part of each string.

    Return None if the position is beyond the end of one, or the length is negative.
    """
    if length.ndim:
        return None
    texts, start, count = strings.ravel().tolist(), int(position), int(length)
    if count < 0 or not texts or not -min(map(len, texts)) <= start <= min(map(len, texts)):
        return None
    # A part that begins before the end may end at the end.
    stop = start + count if start >= 0 or start + count < 0 else None
    return arrays.strings(map(operator.itemgetter(slice(start, stop)), texts), strings.shape)


def _string_length(node: NodeContext) -> Function:
    in_characters = attr_value.text(node.attrs["unit"]) == "UTF8_CHAR"

    def length(strings: Array) -> Array:
        array = np.asarray(strings, object)
        # The bytes after the first of a character are between 0x80 and 0xBF.
        counts = [
            sum(byte & 0xC0 != 0x80 for byte in text) if in_characters else len(text)
            for text in array.ravel().tolist()
        ]
        return np.array(counts, np.int32).reshape(array.shape)

    return length


def _each(change: Callable[[bytes], bytes]) -> Function:
    def run(strings: Array) -> Array:
        array = np.asarray(strings, object)
        return arrays.strings(map(change, array.ravel().tolist()), array.shape)

    return run


def _strip(node: NodeContext) -> Function:
    return _each(lambda text: text.strip(_BLANKS))


def _cased(method: str) -> Callable[[NodeContext], Function]:
    def make(node: NodeContext) -> Function:
        encoding = attr_value.text(node.attrs["encoding"])
        if encoding not in ("", "utf-8"):
            raise invalid(f"only utf-8 or '' (no encoding) is supported, received {encoding}")
        if encoding:
            return _each(lambda text: getattr(text.decode(errors="replace"), method)().encode())
        return _each(lambda text: bytes(getattr(text, method)()))

    return make


for _op, _make in (
    ("Substr", _substr),
    ("StringLength", _string_length),
    ("StringStrip", _strip),
    ("StringLower", _cased("lower")),
    ("StringUpper", _cased("upper")),
):
    register(Kernel(_op, _make))
for _op, _make in (("StringSplit", _string_split), ("StringSplitV2", _string_split_v2)):
    register(Kernel(_op, _make, gives_packed=True))
