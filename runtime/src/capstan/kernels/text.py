"""Kernels that split and change strings.

Sources: core/kernels/{string_split,substr,string_strip,string_length,regex_replace}_op.cc.
"""

import contextlib
import itertools
import operator
import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from capstan.core import arrays, attr_value
from capstan.core.arrays import Array
from capstan.kernels.arithmetic import constantly
from capstan.kernels.registry import Function, Kernel, NodeContext, register
from capstan.kernels.rejection import invalid, string

_BLANKS = b" \t\n\r\v\f"


def _split_each(strings: Array, split: Callable[[bytes], Sequence[bytes]]) -> Any:
    """Return the parts of each string as a sparse matrix with one row for each string."""
    rows = list(map(split, np.asarray(strings, object).ravel().tolist()))
    counts = np.fromiter(map(len, rows), np.int64, len(rows))
    shape = np.array([len(rows), counts.max(initial=0)], np.int64)
    total = int(counts.sum())
    places = np.empty((total, 2), np.int64)
    places[:, 0] = np.repeat(np.arange(len(rows)), counts)
    places[:, 1] = np.arange(total) - np.repeat(counts.cumsum() - counts, counts)
    values = arrays.strings(itertools.chain.from_iterable(rows), (total,))
    return places, values, shape


def _bytes_of(text: bytes) -> list[bytes]:
    return [text[at : at + 1] for at in range(len(text))]


def _string_split(node: NodeContext) -> Function:
    skips_empty = bool(node.attrs["skip_empty"])

    def split(strings: Array, delimiter: Array) -> Any:
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

        return _split_each(strings, parts)

    return split


def _string_split_v2(node: NodeContext) -> Function:
    most = int(node.attrs["maxsplit"])

    def split(strings: Array, separator: Array) -> Any:
        text = string(separator, "sep") or None
        return _split_each(strings, lambda value: value.split(text, most))

    return split


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
            part = text[begin : begin + max(length, 0)]
            parts.append(part.encode(errors="surrogateescape") if in_characters else part)
        return arrays.strings(parts, given[0].shape)

    return substr


def _part_of_each(strings: Array, position: Array, length: Array) -> Array | None:
    """Return the same part of each string, or None if the position is beyond the end of one."""
    if length.ndim:
        return None
    texts, start, count = strings.ravel().tolist(), int(position), max(int(length), 0)
    if not texts or not -min(map(len, texts)) <= start <= min(map(len, texts)):
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


def _compiled(pattern: bytes) -> Any:
    """Compile a pattern of RE2.

    Patterns come from clients. RE2 takes linear time for every pattern, but `re` does not.

    Raises:
        InvalidArgumentError: the pattern is not one of RE2.
    """
    import re2

    options = re2.Options()
    options.log_errors = False
    try:
        return re2.compile(pattern, options)
    except re2.error as error:
        raise invalid(
            f"Invalid pattern: {pattern.decode(errors='replace')}, error: "
            f"{error.args[0].decode(errors='replace')}"
        ) from None


def _replaced(strings: Array, pattern: bytes, rewrite: bytes, is_one: bool) -> Array:
    compiled = _compiled(pattern)

    def rewritten(match: Any) -> bytes:
        if b"\\" not in rewrite:
            return rewrite
        return re.sub(rb"\\(\d|\\)", lambda part: _group(match, part[1]), rewrite)

    def replaced(text: bytes) -> bytes:
        parts: list[bytes] = []
        at, last = 0, -1
        while at <= len(text) and (match := compiled.search(text, at)) is not None:
            start, end = match.span()
            parts.append(text[at:start])
            if start == end == last:
                # Unlike Python, RE2 takes no empty match behind a match, or inside of a character.
                end = _next(text, start)
                parts.append(text[start:end])
            else:
                parts.append(rewritten(match))
                last = end
            at = end
            if is_one:
                break
        return b"".join([*parts, text[at:]])

    return np.asarray(_each(replaced)(strings))


def _next(text: bytes, at: int) -> int:
    """Return where the character of UTF-8 at a place ends. A byte of no character is one."""
    for end in range(at + 1, at + 5):
        with contextlib.suppress(UnicodeDecodeError):
            text[at:end].decode()
            return end
    return at + 1


def _regex_replace(node: NodeContext) -> Function:
    is_one = not node.attrs["replace_global"]

    def replace(strings: Array, pattern: Array, rewrite: Array) -> Array:
        return _replaced(strings, string(pattern, "Pattern"), string(rewrite, "Rewrite"), is_one)

    return replace


def _static_regex_replace(node: NodeContext) -> Function:
    pattern, rewrite = node.attrs["pattern"], node.attrs["rewrite"]
    is_one = not node.attrs["replace_global"]
    return lambda strings: _replaced(strings, pattern, rewrite, is_one)


def _matching(strings: Array, pattern: bytes) -> Array:
    """Return which strings match as a whole."""
    compiled = _compiled(pattern)
    texts = np.asarray(strings, object)
    found = [compiled.fullmatch(text) is not None for text in texts.ravel().tolist()]
    return np.array(found, bool).reshape(texts.shape)


def _regex_full_match(strings: Array, pattern: Array) -> Array:
    return _matching(strings, string(pattern, "Pattern"))


def _group(match: Any, name: bytes) -> bytes:
    """Return the text that `\\N` stands for in a rewrite, or a backslash."""
    return name if name == b"\\" else bytes(match.group(int(name)) or b"")


for _op, _make in (
    ("StringSplit", _string_split),
    ("StringSplitV2", _string_split_v2),
    ("Substr", _substr),
    ("StringLength", _string_length),
    ("StringStrip", _strip),
    ("StringLower", _cased("lower")),
    ("StringUpper", _cased("upper")),
    ("RegexReplace", _regex_replace),
    ("StaticRegexReplace", _static_regex_replace),
    ("RegexFullMatch", constantly(_regex_full_match)),
):
    register(Kernel(_op, _make))
