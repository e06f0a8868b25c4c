"""Ops that split strings into characters (python/ops/ragged/ragged_string_ops.py).

The parts of one string are a vector. Those of several strings are a RaggedTensor, with one more
axis than the strings, which may be ragged.
"""

from collections.abc import Callable
from typing import Any

from capstan.api.ragged import arrays, tensor
from capstan.api.scoped import scoped
from capstan.core import dtypes
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


def unicode_script(input: Any, name: str | None = None) -> Any:
    """Return the number of the script of each code point, a tensor of int32.

    The numbers are those of ICU, for example 25 for Latin. An invalid code point has -1.
    """
    return raw.UnicodeScript(input, name=name)


def unicode_decode(
    input: Any,
    input_encoding: str,
    errors: str = "replace",
    replacement_char: int = 65533,
    replace_control_characters: bool = False,
    name: str | None = None,
) -> Any:
    """Return the code points of each string, as int32. See `unicode_transcode`.

    Raises:
        ValueError: the rank of `input` is unknown.
    """
    with scoped(name, "UnicodeDecode", (input,)):
        strings = _strings(input)
        decoded = raw.UnicodeDecode(
            raw.Reshape(_flat(strings), [-1]),
            input_encoding=input_encoding,
            errors=errors,
            replacement_char=replacement_char,
            replace_control_characters=replace_control_characters,
        )
        return _parts(strings, decoded.char_values, decoded.row_splits)


def unicode_decode_with_offsets(
    input: Any,
    input_encoding: str,
    errors: str = "replace",
    replacement_char: int = 65533,
    replace_control_characters: bool = False,
    name: str | None = None,
) -> tuple[Any, Any]:
    """Return the code points of each string, and the place of the first byte of each as int64.

    Raises:
        ValueError: the rank of `input` is unknown.
    """
    with scoped(name, "UnicodeDecodeWithOffsets", (input,)):
        strings = _strings(input)
        decoded = raw.UnicodeDecodeWithOffsets(
            raw.Reshape(_flat(strings), [-1]),
            input_encoding=input_encoding,
            errors=errors,
            replacement_char=replacement_char,
            replace_control_characters=replace_control_characters,
        )
        codes = _parts(strings, decoded.char_values, decoded.row_splits)
        return codes, _parts(strings, decoded.char_to_byte_starts, decoded.row_splits)


def unicode_split(
    input: Any,
    input_encoding: str,
    errors: str = "replace",
    replacement_char: int = 65533,
    name: str | None = None,
) -> Any:
    """Return the characters of each string, as strings in the same encoding.

    Raises:
        ValueError: the rank of `input` is unknown.
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
    """Return the characters of each string, and the place of the first byte of each as int64.

    Raises:
        ValueError: the rank of `input` is unknown.
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
    """Return the strings whose code points are along the last axis of `input`, which may be ragged.

    The code points are int32. `output_encoding` and `errors` are as in `unicode_transcode`.

    Raises:
        ValueError: the rank of `input` is 0 or unknown.
    """
    with scoped(name, "UnicodeEncode", (input,)):
        codes = tensor.converted(input, dtypes.int32, name="input")
        if codes.shape.ndims is None:
            raise ValueError("Rank of input_tensor must be statically known.")
        if codes.shape.ndims == 0:
            raise ValueError("input_tensor's rank must be at least 1.")

        def encode(values: Any, splits: Any) -> Any:
            return raw.UnicodeEncode(
                values,
                splits,
                output_encoding=output_encoding,
                errors=errors,
                replacement_char=replacement_char,
            )

        return _encoded(codes, encode)


def _encoded(codes: Any, encode: Callable[[Any, Any], Any]) -> Any:
    """Return the strings of code points. `encode` encodes the rows between splits."""
    if not tensor.is_ragged(codes):
        sizes = raw.Shape(codes)
        lead = raw.StridedSlice(sizes, [0], [-1], [1])
        width = raw.StridedSlice(sizes, [-1], [0], [1], shrink_axis_mask=1)
        ends = raw.Mul(raw.Range(0, raw.Add(raw.Prod(lead, [0]), 1), 1), width)
        return raw.Reshape(encode(raw.Reshape(codes, [-1]), ends), lead)
    if codes.flat_values.shape.ndims > 1:
        return codes.with_flat_values(_encoded(codes.flat_values, encode))
    if codes.ragged_rank > 1:
        return codes.with_values(_encoded(codes.values, encode))
    return encode(codes.values, codes.row_splits)


def bytes_split(input: Any, name: str | None = None) -> Any:
    """Return the bytes of each string, as strings.

    Raises:
        ValueError: the rank of `input` is unknown.
    """
    with scoped(name, "StringsByteSplit", (input,)):
        strings = _strings(input)
        parts = raw.StringSplit(raw.Reshape(_flat(strings), [-1]), "", skip_empty=False)
        if strings.shape.ndims == 0:
            return parts.values
        rows = tensor.RaggedTensor.from_value_rowids(
            parts.values, parts.indices[:, 0], parts.shape[0], validate=False
        )
        return rows if strings.shape.ndims == 1 else strings.with_flat_values(rows)


def _each_alone(codes: Any, encoding: str, errors: str, replacement_char: int) -> Any:
    return unicode_encode(arrays.expand_dims(codes, -1), encoding, errors, replacement_char)


def _strings(given: Any) -> Any:
    """Return strings as a tensor of at most one axis, or as a RaggedTensor.

    Raises:
        ValueError: the rank is unknown.
    """
    strings = tensor.converted(given, dtypes.string, name="input")
    rank = strings.shape.ndims
    if rank is None:
        raise ValueError("Rank of `input` must be statically known.")
    if rank < 2:
        return strings
    if not tensor.is_ragged(strings):
        return tensor.RaggedTensor.from_tensor(strings, ragged_rank=rank - 1)
    flat = strings.flat_values
    if flat.shape.ndims > 1:
        inner = tensor.RaggedTensor.from_tensor(
            flat, ragged_rank=flat.shape.ndims - 1, row_splits_dtype=strings.row_splits.dtype
        )
        return strings.with_flat_values(inner)
    return strings


def _flat(strings: Any) -> Any:
    return strings.flat_values if tensor.is_ragged(strings) else strings


def _parts(strings: Any, values: Any, splits: Any) -> Any:
    """Return the parts of strings, of which `values` are those of all strings."""
    rank = strings.shape.ndims
    if rank == 0:
        return values
    if rank == 1:
        return tensor.rows_of(values, splits)
    dtype = strings.row_splits.dtype.base_dtype
    return strings.with_flat_values(tensor.rows_of(values, raw.Cast(splits, DstT=dtype)))
