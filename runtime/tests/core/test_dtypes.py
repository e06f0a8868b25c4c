"""Element types: one object per type, found by its names, numbers and NumPy types."""

import copy
import pickle
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from tensorboard.compat.proto import types_pb2

from capstan.core import dtypes

NUMERIC = [
    dtype
    for dtype in dtypes.BASE_DTYPES
    if dtype not in (dtypes.string, dtypes.resource, dtypes.variant)
]
every_type = pytest.mark.parametrize("dtype", dtypes.BASE_DTYPES, ids=lambda dtype: dtype.name)
numeric_types = pytest.mark.parametrize("dtype", NUMERIC, ids=lambda dtype: dtype.name)


@every_type
def test_a_type_is_found_by_its_name_and_number(dtype: dtypes.DType) -> None:
    assert dtypes.as_dtype(dtype.name) is dtype
    assert dtypes.as_dtype(dtype.as_datatype_enum) is dtype
    assert dtypes.as_dtype(float(dtype.as_datatype_enum)) is dtype
    assert dtypes.as_dtype(dtype) is dtype


@every_type
def test_enum_numbers_agree_with_types_proto(dtype: dtypes.DType) -> None:
    names = {"float32": "FLOAT", "float64": "DOUBLE", "float16": "HALF"}
    number = types_pb2.DataType.Value(f"DT_{names.get(dtype.name, dtype.name).upper()}")
    assert dtype.as_datatype_enum == number
    assert dtype.ref_dtype.as_datatype_enum == number + 100


@numeric_types
def test_a_type_is_found_by_its_numpy_type(dtype: dtypes.DType) -> None:
    assert dtypes.as_dtype(dtype.as_numpy_dtype) is dtype
    assert dtypes.as_dtype(np.dtype(dtype.as_numpy_dtype)) is dtype
    assert dtypes.as_dtype(np.dtype(dtype.as_numpy_dtype).newbyteorder(">")) is dtype


@pytest.mark.parametrize(
    "given, name",
    [
        (float, "float32"),
        (int, "int64"),
        (bool, "bool"),
        (complex, "complex128"),
        (str, "string"),
        (bytes, "string"),
        (object, "string"),
        (np.dtype("U7"), "string"),
        (np.dtype("S3"), "string"),
        (np.longlong, "int64"),
        (np.intc, "int32"),
        ("half", "float16"),
        ("float", "float32"),
        ("double", "float64"),
        ("double_ref", "float64_ref"),
        (ml_dtypes.bfloat16, "bfloat16"),
        (101, "float32_ref"),
    ],
)
def test_other_names_and_types_are_accepted(given: Any, name: str) -> None:
    assert dtypes.as_dtype(given).name == name


@pytest.mark.parametrize("given", ["float31", 0, 99, None, 1.5, np.dtype("M8[s]"), list, [], "ref"])
def test_an_unknown_type_is_a_type_error(given: Any) -> None:
    with pytest.raises(TypeError, match=r"Cannot convert value .* to a TensorFlow DType"):
        dtypes.as_dtype(given)


@every_type
def test_a_reference_type_is_distinct_and_has_the_same_base_type(dtype: dtypes.DType) -> None:
    ref = dtype.ref_dtype
    assert ref.is_ref_dtype
    assert not dtype.is_ref_dtype
    assert (ref.base_dtype, dtype.base_dtype, ref.ref_dtype) == (dtype, dtype, ref)
    assert ref != dtype
    assert ref.name == f"{dtype.name}_ref"
    assert ref.is_floating == dtype.is_floating


@every_type
def test_a_reference_can_be_used_as_a_value_but_not_the_reverse(dtype: dtypes.DType) -> None:
    assert dtype.is_compatible_with(dtype.ref_dtype)
    assert not dtype.ref_dtype.is_compatible_with(dtype)
    assert dtype.is_compatible_with(dtype)


def test_types_compare_equal_to_their_names_and_numpy_types() -> None:
    assert dtypes.float32 == "float32"
    assert dtypes.float32 == np.float32
    assert dtypes.float32 != np.float64
    assert dtypes.float32 != None  # noqa: E711 - the test is about `!=`
    assert dtypes.float32 != "no such type"
    assert dtypes.string not in (1, 2, [])


@every_type
def test_copies_are_the_same_object(dtype: dtypes.DType) -> None:
    for each in (dtype, dtype.ref_dtype):
        assert copy.copy(each) is each
        assert copy.deepcopy([each])[0] is each
        assert pickle.loads(pickle.dumps(each)) is each
        assert {each: 1}[dtypes.as_dtype(each.name)] == 1


def test_a_type_prints_as_in_tensorflow() -> None:
    assert repr(dtypes.float32) == "tf.float32"
    assert str(dtypes.bool_) == "<dtype: 'bool'>"


@numeric_types
def test_every_numeric_type_is_of_exactly_one_kind(dtype: dtypes.DType) -> None:
    kinds = [dtype.is_floating, dtype.is_integer, dtype.is_bool, dtype.is_complex]
    kinds.append(dtype.is_quantized)
    assert kinds.count(True) == 1
    assert dtype.is_integer == np.issubdtype(dtype.as_numpy_dtype, np.integer)
    assert dtype.is_unsigned == dtype.name.startswith("u")
    assert dtype.size == np.dtype(dtype.as_numpy_dtype).itemsize


@pytest.mark.parametrize(
    "dtype, least, most",
    [
        (dtypes.int8, -128, 127),
        (dtypes.uint16, 0, 65535),
        (dtypes.bool_, False, True),
        (dtypes.float16, -65504.0, 65504.0),
        (dtypes.bfloat16.ref_dtype, -3.3895313892515355e38, 3.3895313892515355e38),
    ],
)
def test_min_and_max_are_the_bounds_of_the_type(dtype: dtypes.DType, least: Any, most: Any) -> None:
    assert (dtype.min, dtype.max) == (least, most)


def test_limits_are_the_intensities_of_an_image() -> None:
    assert dtypes.uint8.limits == (0, 255)
    assert dtypes.float32.limits == (0, 1)


@pytest.mark.parametrize("dtype", [dtypes.string, dtypes.complex64, dtypes.resource])
def test_a_type_without_order_has_no_bounds(dtype: dtypes.DType) -> None:
    with pytest.raises(TypeError, match=f"Cannot find maximum value of tf.{dtype.name}"):
        _ = dtype.max


def test_the_real_type_of_a_complex_type_has_half_its_size() -> None:
    assert dtypes.complex64.real_dtype is dtypes.float32
    assert dtypes.complex128.real_dtype is dtypes.float64
    assert dtypes.int32.real_dtype is dtypes.int32
