"""Kernels that change the encoding of strings.

Sources: core/kernels/{base64_ops,decode_compressed_op,example_parsing_ops}.cc,
core/lib/strings/base64.cc.
"""

import base64
import re
import zlib
from collections.abc import Callable
from typing import Any, Final

import numpy as np

from capstan import errors
from capstan.core import arrays, attr_value, example_messages
from capstan.core.arrays import Array
from capstan.kernels.registry import Function, Kernel, NodeContext, register
from capstan.kernels.rejection import invalid

_DIGITS: Final = re.compile(rb"[A-Za-z0-9_-]*")
_WINDOW_BITS: Final = {"ZLIB": 15, "GZIP": 31}
"""How zlib tells the formats apart."""


def _each(change: Callable[[bytes], bytes]) -> Function:
    """Return the function that changes each string of a tensor."""

    def changed(strings: Any) -> Array:
        texts = np.asarray(strings, object)
        return arrays.strings(map(change, texts.ravel().tolist()), texts.shape)

    return changed


def _encode_base64(node: NodeContext) -> Function:
    pads = bool(node.attrs["pad"])

    def encode(text: bytes) -> bytes:
        encoded = base64.urlsafe_b64encode(text)
        return encoded if pads else encoded.rstrip(b"=")

    return _each(encode)


def _decode_base64(node: NodeContext) -> Function:
    return _each(_decoded)


def _decoded(text: bytes) -> bytes:
    """Return the bytes of a web-safe text, whose padding is complete or missing."""
    digits = text.rstrip(b"=")
    padding = len(text) - len(digits)
    if len(text) % 4 == 1:
        raise invalid("Base64 string length cannot be 1 modulo 4.")
    is_whole = not padding or (padding <= 2 and len(text) % 4 == 0)
    if not is_whole or _DIGITS.fullmatch(digits) is None:
        raise invalid("Invalid character found in base64.")
    return base64.urlsafe_b64decode(digits + b"=" * (-len(digits) % 4))


def _decode_compressed(node: NodeContext) -> Function:
    kind = attr_value.text(node.attrs["compression_type"])
    if not kind:
        return _each(lambda text: text)
    if kind not in _WINDOW_BITS:
        raise invalid(
            f"Only ZLIB, GZIP or NONE are supported compressions, and compression_type is {kind!r}"
        )

    def decompress(text: bytes) -> bytes:
        try:
            return zlib.decompressobj(_WINDOW_BITS[kind]).decompress(text)
        except zlib.error as fault:
            raise errors.DataLossError(None, None, f"inflate() failed: {fault}") from None

    return _each(decompress)


def _decode_json_example(node: NodeContext) -> Function:
    from google.protobuf import json_format

    def decode(text: bytes) -> bytes:
        try:
            example = json_format.Parse(text, example_messages.Example())
        except (json_format.ParseError, UnicodeDecodeError, RecursionError) as fault:
            raise invalid(f"Error while parsing JSON: {fault}") from None
        return bytes(example.SerializeToString(deterministic=True))

    return _each(decode)


register(Kernel("DecodeJSONExample", _decode_json_example))
register(Kernel("EncodeBase64", _encode_base64))
register(Kernel("DecodeBase64", _decode_base64))
register(Kernel("DecodeCompressed", _decode_compressed))
