"""Python values as constants: natural types, no silent loss, TensorFlow's messages."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from capstan.core import dimension, dtypes, tensor_shape
from capstan.framework import convert, literals


@pytest.mark.parametrize(
    "value, dtype, expected",
    [
        (1.5, "float32", 1.5),
        (3, "int32", 3),
        (2**31, "int64", 2**31),
        (-(2**31), "int32", -(2**31)),
        (True, "bool", True),
        (1 + 2j, "complex128", 1 + 2j),
        ("ä", "string", "ä".encode()),
        (b"a\x00", "string", b"a\x00"),
        ([], "float32", []),
        ([1, 2.5], "float32", [1, 2.5]),
        ([[1], [2]], "int32", [[1], [2]]),
        ((1, 2), "int32", [1, 2]),
        (["a", b"b"], "string", [b"a", b"b"]),
        (dimension.Dimension(3), "int32", 3),
        ([dimension.Dimension(3), -1], "int32", [3, -1]),
        ([dimension.Dimension(3), 1.5], "float32", [3, 1.5]),
        (np.float64(1.5), "float64", 1.5),
        (np.int64(3), "int64", 3),
        (np.array([1.5]), "float64", [1.5]),
        (np.array(["ab", "c"]), "string", [b"ab", b"c"]),
        ([np.float32(1), 2], "float32", [1, 2]),
    ],
)
def test_values_have_natural_types(value: Any, dtype: str, expected: Any) -> None:
    array = literals.to_array(value)
    assert dtypes.as_dtype(array.dtype).name == dtype
    assert array.tolist() == expected


@pytest.mark.parametrize(
    "value, dtype, expected",
    [
        (1, "float64", 1.0),
        (True, "int32", 1),
        ([1, 2], "int8", [1, 2]),
        (1, "complex64", 1),
        (np.array([1.7]), "int32", [1]),
        (np.array([1.5]), "float32", [1.5]),
        (1.0, "bfloat16", 1.0),
        ([np.float64(1.5)], "float32", [1.5]),
        ("a", "string", b"a"),
        (np.array("a"), "string", b"a"),
        (300, "int8", 44),
        ([0, -1], "uint8", [0, 255]),
        ([[2**40 + 1]], "int32", [[1]]),
        (-1, "uint64", 2**64 - 1),
        (2**64 - 1, "uint64", 2**64 - 1),
    ],
)
def test_values_take_the_requested_type(value: Any, dtype: str, expected: Any) -> None:
    array = literals.to_array(value, dtypes.as_dtype(dtype))
    assert dtypes.as_dtype(array.dtype).name == dtype
    assert array.tolist() == expected
    ref = dtypes.as_dtype(dtype).ref_dtype
    assert literals.to_array(value, ref).dtype == array.dtype


@pytest.mark.parametrize(
    "value, dtype, message",
    [
        (1.5, "int32", "Expected int32, got 1.5 of type 'float' instead."),
        ([1, 2.5], "int32", "Expected int32, got 2.5 of type 'float' instead."),
        ([[1, 2.5], [3, 4]], "int32", "Expected int32, got 2.5 of type 'float' instead."),
        ([[3, 4], (1, 2.5)], "int32", "Expected int32, got 2.5 of type 'float' instead."),
        ([[1, "a"], [2.5]], "float32", "Expected float32, got 'a' of type 'str' instead."),
        ("a", "float32", "Expected float32, got 'a' of type 'str' instead."),
        (1, "bool", "Expected bool, got 1 of type 'int' instead."),
        (1, "string", "Expected string, got 1 of type 'int' instead."),
        (1j, "float32", "Expected float32, got 1j of type 'complex' instead."),
        (["a", 1], "string", "Expected string, got 1 of type 'int' instead."),
        (["a", 1], None, "Expected string, got 1 of type 'int' instead."),
        ([1, "a"], None, "Expected int32, got 'a' of type 'str' instead."),
        ([[1.5, 2], [b"a", 3]], None, "Expected float32, got b'a' of type 'bytes' instead."),
        ([True, ""], None, "Expected bool, got '' of type 'str' instead."),
        (2**70, "int32", "1180591620717411303424 does not fit"),
        (object(), None, "Failed to convert object of type <class 'object'> to Tensor"),
        ({1: 2}, None, "Contents: {1: 2}. Consider casting elements to a supported type."),
        (np.array("2020-01-01", "M8[D]"), None, "Unrecognized data type: datetime64[D]"),
        (np.array([1]), "string", "Expected string, got array([1]) of type 'ndarray' instead."),
    ],
)
def test_values_of_another_kind_and_of_more_than_64_bits_are_type_errors(
    value: Any, dtype: str | None, message: str
) -> None:
    with pytest.raises(TypeError) as caught:
        literals.to_array(value, None if dtype is None else dtypes.as_dtype(dtype))
    assert message in str(caught.value)


@pytest.mark.parametrize(
    "value, message",
    [
        (None, "None values not supported."),
        ([[1, 2], [3]], "Argument must be a dense tensor"),
        ([["a"], ["b", "c"]], "Argument must be a dense tensor"),
    ],
)
def test_values_without_a_dense_shape_are_value_errors(value: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        literals.to_array(value)


@pytest.mark.parametrize(
    "value, shape, expected",
    [
        (1, [2, 2], [[1, 1], [1, 1]]),
        ([1, 2], [4], [1, 2, 2, 2]),
        ([1, 2, 3, 4], [2, 2], [[1, 2], [3, 4]]),
        (0, [0, 3], []),
        (7, [], 7),
        ("a", [2], [b"a", b"a"]),
    ],
)
def test_a_short_value_is_padded_with_its_last_element(
    value: Any, shape: list[int], expected: Any
) -> None:
    array = literals.to_array(value, shape=shape)
    assert array.shape == tuple(shape)
    assert array.tolist() == expected


def test_a_shape_that_does_not_fit_the_value_is_refused() -> None:
    with pytest.raises(
        ValueError, match=r"Too many elements provided. Needed at most 1, but received 2"
    ):
        literals.to_array([1, 2], shape=[1])
    with pytest.raises(TypeError, match=r"Expected Tensor's shape: \(2,\), got \(\)."):
        literals.to_array(1, shape=[2], verify_shape=True)
    with pytest.raises(ValueError, match="Cannot fill the shape"):
        literals.to_array([], shape=[2])
    with pytest.raises(ValueError, match=r"as_list|unknown"):
        literals.to_array(1, shape=tensor_shape.TensorShape(None))


@pytest.mark.e2e
@given(hnp.arrays(st.sampled_from([np.float32, np.int16, np.bool_]), hnp.array_shapes()))
def test_arrays_keep_their_values_and_dtype(array: np.ndarray[Any, Any]) -> None:
    np.testing.assert_array_equal(literals.to_array(array), array)
    as_list = literals.to_array(array.tolist(), dtypes.as_dtype(array.dtype))
    assert as_list.dtype == array.dtype
    np.testing.assert_array_equal(as_list, array)


@pytest.mark.parametrize("kind", ["float32", "complex64", "int32", "bool", "string"])
@pytest.mark.parametrize("value", [[None], [[None]], (None,)])
def test_none_is_no_number(kind: str, value: Any) -> None:
    with pytest.raises(TypeError, match=rf"Expected {kind}, got None of type 'NoneType' instead"):
        literals.to_array(value, dtypes.as_dtype(kind))


@pytest.mark.parametrize("kind", ["f4", "i8", "c8", "U2"])
def test_a_constant_has_the_byte_order_of_the_machine(kind: str) -> None:
    for order in "<>":
        value = np.array([1, 2]).astype(order + kind)
        array = literals.to_array(value)
        assert array.dtype.isnative
        assert array.tolist() == ([b"1", b"2"] if kind == "U2" else [1, 2])


@pytest.mark.parametrize("value", [np.zeros(3, np.float32), np.zeros((2, 0), np.float32)])
def test_a_program_may_change_an_array_after_it_made_a_constant_of_it(value: Any) -> None:
    convert.constant(value)
    value[value < 1] = 1


@pytest.mark.parametrize("kind", [None, "int32"])
def test_an_unknown_dimension_is_named_with_the_tensor_that_has_its_size(kind: str | None) -> None:
    value = [dimension.Dimension(2), dimension.Dimension(None)]
    dtype = None if kind is None else dtypes.as_dtype(kind)
    with pytest.raises(TypeError, match=r"\[Dimension\(2\), Dimension\(None\)\].*tf\.shape"):
        literals.to_array(value, dtype)


def test_the_shape_of_a_constant_is_known() -> None:
    with pytest.raises(ValueError, match=r"\(2, \?\).*tf\.fill"):
        literals.to_array(1, shape=[2, dimension.Dimension(None)])
