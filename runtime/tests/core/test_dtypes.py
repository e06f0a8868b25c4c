"""Element types: one object per type, whatever names it."""

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
    assert dtypes.as_dtype(dtype) is dtype


@every_type
def test_numbers_are_those_of_types_proto(dtype: dtypes.DType) -> None:
    names = {"float32": "FLOAT", "float64": "DOUBLE", "float16": "HALF"}
    theirs = types_pb2.DataType.Value(f"DT_{names.get(dtype.name, dtype.name).upper()}")
    assert dtype.as_datatype_enum == theirs
    assert dtype.ref_dtype.as_datatype_enum == theirs + 100


@numeric_types
def test_a_type_is_found_by_what_numpy_calls_it(dtype: dtypes.DType) -> None:
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
def test_other_spellings(given: Any, name: str) -> None:
    assert dtypes.as_dtype(given).name == name


@pytest.mark.parametrize("given", ["float31", 0, 99, None, 1.5, np.dtype("M8[s]"), list, [], "ref"])
def test_what_names_no_type_is_a_type_error(given: Any) -> None:
    with pytest.raises(TypeError, match=r"Cannot convert value .* to a TensorFlow DType"):
        dtypes.as_dtype(given)


@every_type
def test_a_reference_is_another_type_with_the_same_base(dtype: dtypes.DType) -> None:
    ref = dtype.ref_dtype
    assert ref.is_ref_dtype
    assert not dtype.is_ref_dtype
    assert (ref.base_dtype, dtype.base_dtype, ref.ref_dtype) == (dtype, dtype, ref)
    assert ref != dtype
    assert ref.name == f"{dtype.name}_ref"
    assert ref.is_floating == dtype.is_floating


@every_type
def test_a_reference_serves_as_a_value_but_not_the_other_way_round(dtype: dtypes.DType) -> None:
    assert dtype.is_compatible_with(dtype.ref_dtype)
    assert not dtype.ref_dtype.is_compatible_with(dtype)
    assert dtype.is_compatible_with(dtype)


def test_types_compare_with_whatever_names_them() -> None:
    assert dtypes.float32 == "float32"
    assert dtypes.float32 == np.float32
    assert dtypes.float32 != np.float64
    assert dtypes.float32 != None  # noqa: E711 - that is what is tested
    assert dtypes.float32 != "no such type"
    assert dtypes.string not in (1, 2, [])


@every_type
def test_copies_are_the_same_object(dtype: dtypes.DType) -> None:
    for one in (dtype, dtype.ref_dtype):
        assert copy.copy(one) is one
        assert copy.deepcopy([one])[0] is one
        assert pickle.loads(pickle.dumps(one)) is one
        assert {one: 1}[dtypes.as_dtype(one.name)] == 1


def test_a_type_shows_as_in_tensorflow() -> None:
    assert repr(dtypes.float32) == "tf.float32"
    assert str(dtypes.bool_) == "<dtype: 'bool'>"


@numeric_types
def test_kinds_exclude_each_other(dtype: dtypes.DType) -> None:
    kinds = [dtype.is_floating, dtype.is_integer, dtype.is_bool, dtype.is_complex]
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
def test_bounds(dtype: dtypes.DType, least: Any, most: Any) -> None:
    assert (dtype.min, dtype.max) == (least, most)


def test_limits_are_those_of_an_image() -> None:
    assert dtypes.uint8.limits == (0, 255)
    assert dtypes.float32.limits == (0, 1)


@pytest.mark.parametrize("dtype", [dtypes.string, dtypes.complex64, dtypes.resource])
def test_a_type_without_order_has_no_bounds(dtype: dtypes.DType) -> None:
    with pytest.raises(TypeError, match=f"Cannot find maximum value of tf.{dtype.name}"):
        _ = dtype.max


def test_the_real_part_of_a_complex_type() -> None:
    assert dtypes.complex64.real_dtype is dtypes.float32
    assert dtypes.complex128.real_dtype is dtypes.float64
    assert dtypes.int32.real_dtype is dtypes.int32
