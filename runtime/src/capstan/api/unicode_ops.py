"""Ops that split strings into characters (python/ops/ragged/ragged_string_ops.py).

The functions that return a RaggedTensor for a vector in TensorFlow take only one string here.
"""

from typing import Any

from capstan.api.scoped import scoped
from capstan.core import dtypes
from capstan.framework import convert
from capstan.framework.raw import raw


def unicode_transcode(
    input: Any,
    input_encoding: str,
    output_encoding: str,
    errors: str = "replace",
    replacement_char: int = 65533,
    replace_control_characters: bool = False,
    name: str | None = None,
) -> Any:
    """Return strings in another encoding: `UTF-8`, `UTF-16-BE` or `UTF-32-BE`.

    `errors` says how to treat bytes that are no character. `replace` puts `replacement_char` in
    their place, `ignore` drops them, and `strict` fails the step with InvalidArgumentError.
    `replace_control_characters` also replaces the characters below U+0020.
    """
    return raw.UnicodeTranscode(
        input,
        input_encoding=input_encoding,
        output_encoding=output_encoding,
        errors=errors,
        replacement_char=replacement_char,
        replace_control_characters=replace_control_characters,
        name=name,
    )


def unicode_decode(
    input: Any,
    input_encoding: str,
    errors: str = "replace",
    replacement_char: int = 65533,
    replace_control_characters: bool = False,
    name: str | None = None,
) -> Any:
    """Return the code points of one string, as a vector of int32. See `unicode_transcode`.

    Raises:
        ValueError: `input` is not a scalar.
    """
    with scoped(name, "UnicodeDecode", (input,)):
        decoded = raw.UnicodeDecode(
            [_one(input)],
            input_encoding=input_encoding,
            errors=errors,
            replacement_char=replacement_char,
            replace_control_characters=replace_control_characters,
        )
        return decoded.char_values


def unicode_decode_with_offsets(
    input: Any,
    input_encoding: str,
    errors: str = "replace",
    replacement_char: int = 65533,
    replace_control_characters: bool = False,
    name: str | None = None,
) -> tuple[Any, Any]:
    """Return the code points of one string, and the place of the first byte of each as int64.

    Raises:
        ValueError: `input` is not a scalar.
    """
    with scoped(name, "UnicodeDecodeWithOffsets", (input,)):
        decoded = raw.UnicodeDecodeWithOffsets(
            [_one(input)],
            input_encoding=input_encoding,
            errors=errors,
            replacement_char=replacement_char,
            replace_control_characters=replace_control_characters,
        )
        return decoded.char_values, decoded.char_to_byte_starts


def unicode_split(
    input: Any,
    input_encoding: str,
    errors: str = "replace",
    replacement_char: int = 65533,
    name: str | None = None,
) -> Any:
    """Return the characters of one string, as a vector of strings in the same encoding.

    Raises:
        ValueError: `input` is not a scalar.
    """
    with scoped(name, "UnicodeSplit", (input,)):
        codes = unicode_decode(input, input_encoding, errors, replacement_char)
        return _each_alone(codes, input_encoding, errors, replacement_char)


def unicode_split_with_offsets(
    input: Any,
    input_encoding: str,
    errors: str = "replace",
    replacement_char: int = 65533,
    name: str | None = None,
) -> tuple[Any, Any]:
    """Return the characters of one string, and the place of the first byte of each as int64.

    Raises:
        ValueError: `input` is not a scalar.
    """
    with scoped(name, "UnicodeSplitWithOffsets", (input,)):
        codes, places = unicode_decode_with_offsets(input, input_encoding, errors, replacement_char)
        return _each_alone(codes, input_encoding, errors, replacement_char), places


def unicode_encode(
    input: Any,
    output_encoding: str,
    errors: str = "replace",
    replacement_char: int = 65533,
    name: str | None = None,
) -> Any:
    """Return the strings whose code points are along the last axis of `input`, an int32 tensor.

    `output_encoding` and `errors` are as in `unicode_transcode`.

    Raises:
        ValueError: the rank of `input` is 0 or unknown.
    """
    with scoped(name, "UnicodeEncode", (input,)):
        codes = convert.convert_to_tensor(input, dtypes.int32, name="input")
        if codes.shape.ndims is None:
            raise ValueError("Rank of input_tensor must be statically known.")
        if codes.shape.ndims == 0:
            raise ValueError("input_tensor's rank must be at least 1.")
        sizes = raw.Shape(codes)
        lead = raw.StridedSlice(sizes, [0], [-1], [1])
        width = raw.StridedSlice(sizes, [-1], [0], [1], shrink_axis_mask=1)
        rows = raw.Mul(raw.Range(0, raw.Add(raw.Prod(lead, [0]), 1), 1), width)
        texts = raw.UnicodeEncode(
            raw.Reshape(codes, [-1]),
            rows,
            output_encoding=output_encoding,
            errors=errors,
            replacement_char=replacement_char,
        )
        return raw.Reshape(texts, lead)


def bytes_split(input: Any, name: str | None = None) -> Any:
    """Return the bytes of one string, as a vector of strings.

    Raises:
        ValueError: `input` is not a scalar.
    """
    with scoped(name, "StringsByteSplit", (input,)):
        return raw.StringSplit([_one(input)], "", skip_empty=False).values


def _each_alone(codes: Any, encoding: str, errors: str, replacement_char: int) -> Any:
    return unicode_encode(raw.ExpandDims(codes, -1), encoding, errors, replacement_char)


def _one(strings: Any) -> Any:
    """Return a string as a tensor.

    Raises:
        ValueError: there are several strings, or their rank is unknown.
    """
    tensor = convert.convert_to_tensor(strings, dtypes.string, name="input")
    if tensor.shape.ndims != 0:
        raise ValueError(
            f"input must be a scalar, but has shape {tensor.shape}: Capstan has no ragged tensors. "
            "Use tf.map_fn, or tf.data's map, for one string at a time."
        )
    return tensor
