"""Kernels that write tensors as text (core/framework/tensor.cc, core/kernels/logging_ops.cc)."""

import logging
import sys
import time
from typing import Any, Final

import numpy as np

from capstan.core import attr_value, elementwise
from capstan.core.arrays import Array
from capstan.kernels.registry import Function, Kernel, NodeContext, register
from capstan.kernels.rejection import invalid, string
from capstan.resources import files

_ESCAPES: Final = {
    ord("\n"): b"\\n",
    ord("\r"): b"\\r",
    ord("\t"): b"\\t",
    ord('"'): b'\\"',
    ord("'"): b"\\'",
    ord("\\"): b"\\\\",
}
_DIGITS: Final = {4: (6, 9), 8: (15, 17)}
"""The digits of a float, by its size: few, if they stand for the same float, or else many."""
_LEVELS: Final = {
    "log(info)": logging.INFO,
    "log(warning)": logging.WARNING,
    "log(error)": logging.ERROR,
}
_LOGGER: Final = "capstan"
"""The logger of `tf.logging`."""


def _string_format(node: NodeContext) -> Function:
    pieces = node.attrs["template"].split(node.attrs["placeholder"])
    limit = node.attrs["summarize"]
    if len(pieces) - 1 < len(node.input_dtypes):
        raise invalid(
            f"The template has {len(pieces) - 1} placeholders, but there are "
            f"{len(node.input_dtypes)} tensors"
        )

    def write(*inputs: Array) -> Any:
        texts = [described(value, limit) for value in inputs]
        rest = [node.attrs["placeholder"]] * (len(pieces) - 1 - len(texts))
        parts = [pieces[0]]
        for text, piece in zip([*texts, *rest], pieces[1:], strict=True):
            parts += [text, piece]
        return np.array(b"".join(parts), object)

    return write


def described(value: Any, limit: int) -> bytes:
    """Return a tensor as text, with the first and the last `limit` elements along each axis.

    A negative limit means all elements. Strings are in quotes.

    >>> described(np.arange(8), 2), described(np.array([[0.1, 1 / 3]]), 3)
    (b'[0 1 ... 6 7]', b'[[0.1 0.33333333333333331]]')
    """
    array = np.asarray(value, object if isinstance(value, bytes) else None)
    if elementwise.is_number(array.dtype) and array.itemsize == 2:
        array = array.astype(np.float32)
    ends = array.size if limit < 0 else min(limit, array.size)
    return _described(array, ends, 0)


def _described(array: Array, ends: int, depth: int) -> bytes:
    if not array.ndim:
        return _word(array) if ends else b"..."
    inner = array.ndim - 1
    between = b" " if not inner else b"\n" * inner + b" " * (depth + 1)
    count = len(array)
    rows = [_described(np.asarray(array[at]), ends, depth + 1) for at in range(min(ends, count))]
    if count > 2 * ends:
        rows.append(b"...")
    first_of_last = max(ends, count - ends)
    rows += [
        _described(np.asarray(array[at]), ends, depth + 1) for at in range(first_of_last, count)
    ]
    if not ends and count:
        rows.insert(0, b"")
    return b"[" + between.join(rows) + b"]"


def _word(array: Array) -> bytes:
    element = array.item()
    if isinstance(element, bytes):
        return b'"' + b"".join(map(_escaped, element)) + b'"'
    if isinstance(element, bool):
        return str(int(element)).encode()
    if not isinstance(element, float):
        return str(element).encode() if isinstance(element, int) else b"?"
    few, many = _DIGITS[array.itemsize]
    short = f"{element:.{few}g}"
    is_exact = np.array_equal(np.asarray(float(short), array.dtype), array, equal_nan=True)
    return (short if is_exact else f"{element:.{many}g}").encode()


def _escaped(byte: int) -> bytes:
    if byte in _ESCAPES:
        return _ESCAPES[byte]
    return f"\\{byte:03o}".encode() if byte < 0x20 or byte == 0x7F else bytes([byte])


def _print(node: NodeContext) -> Function:
    stream = attr_value.text(node.attrs["output_stream"])
    end = node.attrs["end"]
    path = stream.removeprefix("file://")
    if stream not in ("stdout", "stderr", *_LEVELS) and path == stream:
        raise invalid(f"Unknown output stream or file name: {stream}")

    def write(value: Any) -> None:
        content = string(value, "input") + end
        text = content.decode("utf-8", "backslashreplace")
        # A single write keeps the lines of several threads apart.
        if stream in _LEVELS:
            logging.getLogger(_LOGGER).log(_LEVELS[stream], "%s", text.removesuffix("\n"))
        elif stream == "stdout":
            sys.stdout.write(text)
        elif stream == "stderr":
            sys.stderr.write(text)
        else:
            with files.translated(path), files.open_file(path, "ab") as file:
                file.write(content)

    return write


def _timestamp(node: NodeContext) -> Function:
    return lambda: np.asarray(time.time())


register(Kernel("StringFormat", _string_format))
register(Kernel("PrintV2", _print))
register(Kernel("Timestamp", _timestamp))
