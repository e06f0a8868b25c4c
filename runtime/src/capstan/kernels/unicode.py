"""Kernels that decode strings to Unicode characters, and encode characters.

Source: core/kernels/unicode_ops.cc. The tables of the encodings are Python's, and not ICU's. They
differ in a few characters of the old encodings of East Asia.
"""

import codecs
import itertools
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final

import numpy as np

from capstan.core import arrays, attr_value
from capstan.core.arrays import Array
from capstan.kernels.registry import Function, Kernel, NodeContext, register
from capstan.kernels.rejection import invalid

_MARKS: Final = {
    "utf-16": ((codecs.BOM_UTF16_BE, "utf-16-be"), (codecs.BOM_UTF16_LE, "utf-16-le")),
    "utf-32": ((codecs.BOM_UTF32_BE, "utf-32-be"), (codecs.BOM_UTF32_LE, "utf-32-le")),
}
"""The marks that say in which order the bytes of a string are. Without a mark, it is the first."""

_NO_ENCODINGS: Final = frozenset(
    (
        *("idna", "mbcs", "oem", "punycode", "raw-unicode-escape", "undefined", "unicode-escape"),
        # A character of these encodings depends on the bytes before it.
        *("utf-8-sig", "utf-7", "hz"),
    )
)
"""Encodings of Python that are no encodings of ICU, or that have a state."""

_WINDOW: Final = 4096
"""The number of bytes that are decoded at once. Each error copies the bytes after it."""

_MOST: Final = 0x10FFFF
"""The largest code point."""

_REPLACEMENT: Final = 0xFFFD
"""The character that stands for a surrogate in UTF-8, which cannot hold surrogates."""

_IN_PYTHON: Final = {"UTF-8": "utf-8", "UTF-16-BE": "utf-16-be", "UTF-32-BE": "utf-32-be"}

Character = tuple[int | None, int]
"""A code point and the number of its bytes. None stands for bytes that are no character."""


def _encoding(name: str) -> str:
    """Return Python's name of an encoding.

    Raises:
        InvalidArgumentError: there is no such encoding.
    """
    try:
        found = codecs.lookup(name)
    except (LookupError, ValueError):
        found = None
    # `bytes.decode` also refuses codecs that are no encodings of text, such as rot13.
    is_text = found is not None and getattr(found, "_is_text_encoding", True)
    if found is None or not is_text or found.name in _NO_ENCODINGS or "iso2022" in found.name:
        raise invalid(f"Could not create converter for input encoding: {name}")
    return found.name


def _characters(text: bytes, encoding: str) -> Iterator[Character]:
    """Yield the characters of a string. The first one counts the bytes of the byte order mark."""
    mark = b""
    if encoding in _MARKS:
        choices = _MARKS[encoding]
        mark, encoding = next((each for each in choices if text.startswith(each[0])), (b"", ""))
        encoding = encoding or choices[0][1]
    at = extra = len(mark)
    while at < len(text):
        good, used, wrong = _decoded(text, at, encoding)
        for character in good:
            yield ord(character), len(character.encode(encoding)) + extra
            extra = 0
        if wrong:
            yield None, wrong + extra
            extra = 0
        at += used + wrong


def _decoded(text: bytes, at: int, encoding: str) -> tuple[str, int, int]:
    """Decode characters from a place in a string until the first error.

    Return the characters, the number of their bytes, and the number of the wrong bytes after them.
    """
    window = text[at : at + _WINDOW]
    try:
        return window.decode(encoding), len(window), 0
    except UnicodeDecodeError as fault:
        good = window[: fault.start].decode(encoding)
        # The end of the window may cut a character.
        is_cut = fault.start and fault.end == len(window) and at + _WINDOW < len(text)
        return good, fault.start, 0 if is_cut else fault.end - fault.start


def _repair(node: NodeContext, message: str) -> Callable[[Iterable[Character]], Any]:
    """Return the function that replaces, drops or refuses what is no character.

    The function yields code points with the places of their first bytes. If control characters are
    to be replaced and errors are strict, UnicodeTranscode refuses them, and UnicodeDecode does not.

    Raises:
        InvalidArgumentError: the replacement is no code point.
    """
    policy = attr_value.text(node.attrs["errors"])
    replacement = int(node.attrs["replacement_char"])
    if not 0 <= replacement <= _MOST:
        raise invalid("replacement_char out of unicode codepoint range")
    replaces_controls = bool(node.attrs.get("replace_control_characters"))
    refuses_controls = node.op == "UnicodeTranscode"

    def repaired(characters: Iterable[Character]) -> Iterator[tuple[int, int]]:
        place = 0
        for code, size in characters:
            is_sound = code is not None and not (replaces_controls and code < ord(" "))
            if code is not None and is_sound:
                yield code, place
            elif policy == "strict" and (code is None or refuses_controls):
                raise invalid(message)
            elif policy != "ignore":
                yield replacement, place
            place += size

    return repaired


def _decoder(node: NodeContext) -> Callable[[bytes], list[tuple[int, int]]]:
    """Return the function that returns the code points of a string, and their places."""
    encoding = _encoding(attr_value.text(node.attrs["input_encoding"]))
    repaired = _repair(node, "Invalid formatting on input string")
    return lambda text: list(repaired(_characters(text, encoding)))


def _encoder(node: NodeContext) -> Callable[[Iterable[int]], bytes]:
    """Return the function that returns code points as bytes."""
    encoding = _IN_PYTHON[attr_value.text(node.attrs["output_encoding"])]

    def encode(codes: Iterable[int]) -> bytes:
        if encoding == "utf-8":
            codes = (_REPLACEMENT if _is_surrogate(code) else code for code in codes)
        return "".join(map(chr, codes)).encode(encoding, "surrogatepass")

    return encode


def _is_surrogate(code: int) -> bool:
    return 0xD800 <= code <= 0xDFFF


def _unicode_transcode(node: NodeContext) -> Function:
    decode, encode = _decoder(node), _encoder(node)

    def transcode(strings: Any) -> Array:
        texts = np.asarray(strings, object)
        changed = (encode(code for code, _ in decode(text)) for text in texts.ravel().tolist())
        return arrays.strings(changed, texts.shape)

    return transcode


def _unicode_decode(node: NodeContext) -> Function:
    decode = _decoder(node)
    splits, count = node.output_dtypes[0].as_numpy_dtype, len(node.output_dtypes)

    def codes(strings: Any) -> tuple[Array, ...]:
        rows = [decode(text) for text in np.asarray(strings, object).ravel().tolist()]
        ends = np.cumsum([0, *map(len, rows)]).astype(splits)
        found = np.array([each for row in rows for each in row], np.int64).reshape(-1, 2)
        return (ends, found[:, 0].astype(np.int32), found[:, 1])[:count]

    return codes


def _unicode_encode(node: NodeContext) -> Function:
    encode = _encoder(node)
    repaired = _repair(node, "Code point is out of range for Unicode, or is a surrogate.")

    def encoded(values: Array, splits: Array) -> Array:
        codes, ends = values.tolist(), splits.tolist()
        _check_splits(ends, len(codes))
        characters = [
            (None if not 0 <= code <= _MOST or _is_surrogate(code) else code, 1) for code in codes
        ]
        rows = (characters[start:end] for start, end in itertools.pairwise(ends))
        texts = [encode(code for code, _ in repaired(row)) for row in rows]
        return arrays.strings(texts, (len(texts),))

    return encoded


def _check_splits(ends: list[int], count: int) -> None:
    """Require that rows which end at `ends` divide `count` values.

    Raises:
        InvalidArgumentError: they do not.
    """
    if not ends:
        raise invalid("Input_splits should contain elements, but given input_values has 0 elements")
    if ends[0] != 0:
        raise invalid("First value in input_splits must be zero.")
    if ends[-1] != count:
        raise invalid("Last value in input_splits must be equal to length of input_tensor.")
    if ends != sorted(ends):
        raise invalid("Values in input_splits must be equal or in ascending order.")


for _op, _make in (
    ("UnicodeTranscode", _unicode_transcode),
    ("UnicodeDecode", _unicode_decode),
    ("UnicodeDecodeWithOffsets", _unicode_decode),
    ("UnicodeEncode", _unicode_encode),
):
    register(Kernel(_op, _make))
