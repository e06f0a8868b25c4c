"""Arrays as TensorProto: encoding and decoding, also of messages that TensorFlow's code writes."""

import contextlib
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from tensorboard.compat.proto import tensor_pb2
from tensorboard.util import tensor_util

from capstan.core import dtypes, tensor_proto

KINDS = [
    dtype
    for dtype in dtypes.BASE_DTYPES
    if dtype not in (dtypes.string, dtypes.resource, dtypes.variant)
]
small_shapes = hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=3)


@st.composite
def arrays(draw: Any) -> np.ndarray[Any, Any]:
    dtype = draw(st.sampled_from(KINDS))
    count = int(np.prod(shape := draw(small_shapes)))
    raw = draw(st.binary(min_size=count * dtype.size, max_size=count * dtype.size))
    if dtype is dtypes.bool_:
        raw = bytes(byte & 1 for byte in raw)
    return np.frombuffer(raw, dtype.as_numpy_dtype).reshape(shape)


def _same(a: np.ndarray[Any, Any], b: np.ndarray[Any, Any]) -> bool:
    return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()


@pytest.mark.e2e
@given(arrays())
def test_every_array_survives_encoding_bit_by_bit(array: np.ndarray[Any, Any]) -> None:
    wire = tensor_proto.make(array).SerializeToString()
    decoded = tensor_proto.ndarray(tensor_pb2.TensorProto.FromString(wire))
    if array.size == 1 and array.dtype.kind in "fcV" and not np.all(array == array):
        # A single NaN is encoded as a number, which loses its payload.
        assert not np.all(decoded == decoded)
    else:
        assert _same(decoded, array)
    assert decoded.flags.writeable


@given(small_shapes, st.data())
def test_strings_survive_encoding_in_string_val(shape: tuple[int, ...], data: Any) -> None:
    count = int(np.prod(shape))
    array = np.empty(count, object)
    array[:] = data.draw(st.lists(st.binary(max_size=9), min_size=count, max_size=count))
    array = array.reshape(shape)
    proto = tensor_proto.make(array)
    assert list(proto.string_val) == array.reshape(-1).tolist()
    assert not proto.tensor_content
    np.testing.assert_array_equal(tensor_proto.ndarray(proto), array)


def test_text_is_encoded_as_utf_8() -> None:
    assert list(tensor_proto.make(np.array(["ä", "b"])).string_val) == ["ä".encode(), b"b"]


def _varint(value: int) -> bytes:
    out = b""
    while value > 127:
        out += bytes([value % 128 + 128])
        value //= 128
    return out + bytes([value])


@pytest.mark.e2e
@given(st.lists(st.binary(max_size=300), max_size=4))
def test_strings_packed_by_tensorflows_clients_are_read(strings: list[bytes]) -> None:
    proto = tensor_pb2.TensorProto(
        dtype=7, tensor_content=b"".join(_varint(len(s)) for s in strings) + b"".join(strings)
    )
    proto.tensor_shape.dim.add(size=len(strings))
    assert tensor_proto.ndarray(proto).tolist() == strings


@pytest.mark.e2e
@given(arrays())
def test_tensorboard_reads_encoded_arrays(array: np.ndarray[Any, Any]) -> None:
    if array.dtype.name in ("bfloat16", "uint32", "uint64") or array.size == 0:
        return  # tensorboard cannot read these
    np.testing.assert_array_equal(tensor_util.make_ndarray(tensor_proto.make(array)), array)


@pytest.mark.e2e
@given(arrays())
def test_arrays_encoded_by_tensorboard_are_read(array: np.ndarray[Any, Any]) -> None:
    if array.dtype.name in ("bfloat16", "uint32", "uint64", "float16"):
        return
    np.testing.assert_array_equal(tensor_proto.ndarray(tensor_util.make_tensor_proto(array)), array)


def _proto(dtype: dtypes.DType, shape: list[int], **fields: Any) -> Any:
    proto = tensor_pb2.TensorProto(dtype=dtype.as_datatype_enum, **fields)
    for size in shape:
        proto.tensor_shape.dim.add(size=size)
    return proto


@pytest.mark.parametrize("dtype", KINDS, ids=str)
def test_a_large_tensor_of_equal_elements_is_a_short_message(dtype: dtypes.DType) -> None:
    array = np.full([64, 100], 1, dtype.as_numpy_dtype)
    proto = tensor_proto.make(array)
    assert len(proto.SerializeToString()) < 40
    assert tensor_proto.ndarray(proto).tobytes() == array.tobytes()
    array[-1, -2] = 0
    assert tensor_proto.ndarray(tensor_proto.make(array)).tobytes() == array.tobytes()


def test_missing_values_repeat_the_last_value() -> None:
    proto = _proto(dtypes.float32, [2, 2], float_val=[1.0, 2.0])
    assert tensor_proto.ndarray(proto).tolist() == [[1, 2], [2, 2]]
    assert (
        tensor_proto.ndarray(_proto(dtypes.string, [2], string_val=[b"a"])).tolist() == [b"a"] * 2
    )


def test_a_tensor_without_values_is_zero() -> None:
    assert tensor_proto.ndarray(_proto(dtypes.int32, [2])).tolist() == [0, 0]
    assert tensor_proto.ndarray(_proto(dtypes.string, [1])).tolist() == [b""]


@pytest.mark.parametrize(
    "proto, message",
    [
        (
            _proto(dtypes.int32, [2], tensor_content=b"123"),
            "tensor_content has 3 bytes, but 2 elements of int32 need 8",
        ),
        (_proto(dtypes.int32, [1], int_val=[1, 2]), "2 values, but the tensor has 1 elements"),
        (
            _proto(dtypes.string, [1], string_val=[b"", b""]),
            "2 strings, but the tensor has 1 elements",
        ),
        (_proto(dtypes.int32, [-1]), "must have a full shape, but has [?]"),
        (_proto(dtypes.int32, [1 << 20, 1 << 20]), "is too large"),
        (_proto(dtypes.int32, [1 << 20, 1 << 20], int_val=[1, 2]), "is too large"),
        (_proto(dtypes.int32, [1 << 31, 1 << 31], int_val=[1]), "is too large"),
        (_proto(dtypes.string, [1 << 40], string_val=[b"a"]), "is too large"),
        (_proto(dtypes.string, [9], tensor_content=b"\x01"), "cannot hold 9 strings"),
        (
            _proto(dtypes.string, [1], tensor_content=b"\x05abc"),
            "strings do not fill",
        ),
        (_proto(dtypes.string, [1], tensor_content=b"\xff"), "the data ends within an integer"),
        (_proto(dtypes.complex64, [1], scomplex_val=[1.0]), "complex values must be pairs"),
        (_proto(dtypes.int8, [1], int_val=[300]), "a value does not fit int8"),
    ],
)
def test_a_damaged_tensor_is_a_value_error(proto: Any, message: str) -> None:
    with pytest.raises(ValueError) as caught:
        tensor_proto.ndarray(proto)
    assert message in str(caught.value)


def test_a_large_tensor_of_one_value_takes_no_memory_and_is_sent_as_one_value() -> None:
    shape = [1 << 20, 1 << 20]
    sent = _proto(dtypes.float32, shape, float_val=[0.5])
    array = tensor_proto.ndarray(sent)
    assert (array.shape, array.dtype, array[-1, -1]) == (tuple(shape), np.float32, 0.5)
    assert tensor_proto.make(array) == sent


def test_a_tensor_of_handles_cannot_be_read() -> None:
    with pytest.raises(TypeError, match="a tensor of resource cannot be read"):
        tensor_proto.ndarray(_proto(dtypes.resource, []))


@given(st.binary(max_size=60))
def test_arbitrary_content_is_refused_without_a_huge_allocation(content: bytes) -> None:
    for shape in ([1 << 40], [len(content)], [3, 3]):
        with contextlib.suppress(ValueError):
            array = tensor_proto.ndarray(_proto(dtypes.string, shape, tensor_content=content))
            assert list(array.shape) == shape
