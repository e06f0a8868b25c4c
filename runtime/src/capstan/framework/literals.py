"""Conversion of Python values to arrays, as for `tf.constant([1., 2.])`
(python/framework/tensor_util.py).

Python floats become float32. Integers become int32 if they fit, else int64. Text becomes bytes.
NumPy arrays keep their dtype. If a type is requested, a Python value of another kind is an error,
such as 1.5 for int32. An integer outside of the range of an integer type wraps around, as in
TensorFlow: -1 is 255 in uint8. A NumPy array is cast to the type.
"""

import numbers
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from capstan.core import dimension, dtypes, tensor_shape
from capstan.core.arrays import Array
from capstan.framework import operand

_REAL = (numbers.Real, np.integer, np.floating)
_INTEGRAL = (numbers.Integral, np.integer, dimension.Dimension)
_TEXT = (str, bytes)


def to_array(
    value: Any, dtype: dtypes.DType | None = None, shape: Any = None, *, verify_shape: bool = False
) -> Array:
    """Return `value` as an array of `dtype` and `shape`.

    Without `dtype` and `shape`, the array has the natural type and the shape of `value`. A value
    with fewer elements than `shape` is padded with its last element.

    Raises:
        TypeError: the elements are not of the kind of `dtype` or need more than 64 bits, or the
            value does not have `shape` although `verify_shape` is set.
        ValueError: the value is None or a ragged list, or has more elements than `shape`.
    """
    if value is None:
        raise ValueError("None values not supported.")
    dtype = None if dtype is None else dtype.base_dtype
    if isinstance(value, np.ndarray | np.generic) or _is_array_like(value):
        array = _from_numpy(value, dtype)
    else:
        array = _from_python(value, dtype)
    if array.dtype == object or array.dtype.kind in "SU":
        array = _as_bytes(array, value)
    return array if shape is None else _fill(array, shape, verify_shape)


def _is_array_like(value: Any) -> bool:
    """Return whether NumPy reads an object of another class, such as a data frame, as an array.

    NumPy reads no tensor: the method `__array__` of a tensor raises an error that says why.
    """
    is_readable = hasattr(value, "__array__") or hasattr(value, "__array_interface__")
    return is_readable and not isinstance(value, operand.Operand)


def _from_numpy(value: Any, dtype: dtypes.DType | None) -> Array:
    array = np.asarray(value)
    if dtype is None or dtype is dtypes.string:
        if dtype is not None and array.dtype.kind not in "OSU":
            raise TypeError(_expected(dtype, value))
        try:
            dtypes.as_dtype(array.dtype)
        except TypeError:
            raise TypeError(f"Unrecognized data type: {array.dtype}") from None
        return native(array)
    return array.astype(dtype.as_numpy_dtype, copy=False)


def native(array: Array) -> Array:
    """Return an array in the byte order of the machine, as all tensors are. It may be a copy."""
    return array if array.dtype.isnative else array.astype(array.dtype.newbyteorder("="))


def _from_python(value: Any, dtype: dtypes.DType | None) -> Array:
    if dtype is not None and dtype.is_quantized:
        integers = _from_python(_without_fields(value), dtypes.levels(dtype))
        return integers.view(dtype.as_numpy_dtype)
    fits, leaves = _fits(dtype), _leaves_by_class(value)
    if not all(map(fits, leaves.values())):
        wrong = next(_unfit(value, fits))
        raise _refusal(value, wrong) if dtype is None else TypeError(_expected(dtype, wrong))
    has_dimensions = any(issubclass(each, dimension.Dimension) for each in leaves)
    plain = _without_dimensions(value, value) if has_dimensions else value
    try:
        try:
            array = np.array(plain, dtype=_array_type(dtype, value))
        except OverflowError:
            if dtype is None or not dtype.is_integer:
                raise
            array = np.array(plain, np.int64).astype(dtype.as_numpy_dtype)
    except OverflowError as error:
        raise TypeError(f"{value!r} does not fit {dtype or 'int64'}: {error}") from None
    except ValueError as error:
        raise ValueError(f"Argument must be a dense tensor: {value!r} - {error}") from None
    if dtype is None and array.dtype.kind in "SU":
        # NumPy turned the numbers in the list into text.
        text = next(_unfit(value, lambda leaf: not isinstance(leaf, _TEXT)))
        raise TypeError(_expected(dtypes.as_dtype(to_array(_first_leaf(value)).dtype), text))
    return _narrow(array) if dtype is None else array


def _refusal(value: Any, wrong: Any) -> TypeError | ValueError:
    """Return the error of a value without a requested type, because of its part `wrong`."""
    if isinstance(wrong, operand.Operand):
        return TypeError(f"List of Tensors when single Tensor expected: {wrong!r}")
    if isinstance(wrong, Sequence):
        return ValueError(
            f"Argument must be a dense tensor: {value!r} holds an object of type "
            f"'{type(wrong).__name__}'. Convert it to a list first"
        )
    return TypeError(
        f"Failed to convert object of type {type(value)} to Tensor. Contents: {value!r}. Consider "
        "casting elements to a supported type."
    )


def _without_dimensions(part: Any, whole: Any) -> Any:
    """Return a part of `whole` with each Dimension replaced by its size, as in `[x.shape[0], -1]`.

    Raises:
        TypeError: the size of a dimension is unknown. The message shows `whole`.
    """
    if isinstance(part, list | tuple):
        return [_without_dimensions(element, whole) for element in part]
    if not isinstance(part, dimension.Dimension):
        return part
    if part.value is None:
        raise TypeError(
            f"Failed to convert object of type {type(whole)} to Tensor. Contents: {whole!r}. "
            "Dimension(None) is a size that only a step knows: take it from tf.shape(x), which is "
            "a tensor, and not from x.shape"
        )
    return part.value


def _without_fields(value: Any) -> Any:
    """Return `value` with each level as a number. NumPy writes a level as a tuple of one number."""
    if isinstance(value, tuple) and len(value) == 1 and not isinstance(value[0], list | tuple):
        return value[0]
    return [*map(_without_fields, value)] if isinstance(value, list | tuple) else value


def _array_type(dtype: dtypes.DType | None, value: Any) -> Any:
    if dtype is None:
        # NumPy strips trailing zero bytes of text, so text becomes an array of objects. NumPy
        # accepts ragged lists in such an array. `_as_bytes` detects them.
        return object if _starts_with_text(value) else None
    return dtype.as_numpy_dtype


def _starts_with_text(value: Any) -> bool:
    return isinstance(_first_leaf(value), _TEXT)


def _first_leaf(value: Any) -> Any:
    while isinstance(value, list | tuple) and value:
        value = value[0]
    return value


def _narrow(array: Array) -> Array:
    """Convert NumPy's default types to TensorFlow's: float32 and, if all values fit, int32."""
    if array.dtype == np.float64:
        return array.astype(np.float32)
    if array.dtype == np.int64:
        short = array.astype(np.int32)
        return short if np.array_equal(short, array) else array
    return array


def _as_bytes(array: Array, value: Any) -> Array:
    """Return an object array of bytes. Text is encoded as UTF-8."""
    result = np.empty(array.shape, object)
    flat = result.reshape(-1)
    for index, element in enumerate(array.reshape(-1).tolist()):
        if isinstance(element, list | tuple):
            raise ValueError(  # noqa: TRY004, TensorFlow raises ValueError here
                f"Argument must be a dense tensor: {value!r} is ragged"
            )
        if not isinstance(element, _TEXT):
            raise TypeError(
                f"Expected string, got {element!r} of type '{type(element).__name__}' instead."
            )
        flat[index] = element.encode() if isinstance(element, str) else bytes(element)
    return result


def _unfit(value: Any, fits: Callable[[Any], bool]) -> Iterator[Any]:
    """Yield each element that does not fit. It may be None."""
    if isinstance(value, list | tuple):
        for element in value:
            yield from _unfit(element, fits)
    elif not fits(value):
        yield value


def _leaves_by_class(value: Any) -> dict[type[Any], Any]:
    """Return one element of each class in a nested list. Python runs no code for each element."""
    if not isinstance(value, list | tuple):
        return {type(value): value}
    found = dict(zip(map(type, value), value, strict=True))
    if any(issubclass(each, (list, tuple)) for each in found):
        found = {}
        for element in value:
            found.update(_leaves_by_class(element))
    return found


def _fits(dtype: dtypes.DType | None) -> Callable[[Any], bool]:
    """Return a function that tells by the class of an element whether it fits `dtype`."""
    if dtype is None:
        return lambda leaf: isinstance(
            leaf, (bool, numbers.Number, np.generic, np.ndarray, dimension.Dimension, *_TEXT)
        )
    kinds: tuple[type[Any], ...] = (object,)
    if dtype.is_bool:
        kinds = (bool, np.bool_)
    elif dtype.is_integer:
        kinds = _INTEGRAL
    elif dtype.is_floating:
        kinds = _REAL
    elif dtype.is_complex:
        kinds = (numbers.Complex, *_REAL)
    elif dtype is dtypes.string:
        kinds = _TEXT
    return lambda leaf: isinstance(leaf, (*kinds, np.ndarray))


def _expected(dtype: dtypes.DType, value: Any) -> str:
    return f"Expected {dtype.name}, got {value!r} of type '{type(value).__name__}' instead."


def _fill(array: Array, shape: Any, verify_shape: bool) -> Array:
    known = tensor_shape.as_shape(shape)
    if not known.is_fully_defined():
        raise ValueError(
            f"The shape of a constant must be known, but it is {known}. Use tf.fill with a shape "
            "that is a tensor"
        )
    wanted = tuple(size for size in known.as_list() if size is not None)
    if array.shape == wanted:
        return array
    if verify_shape:
        raise TypeError(f"Expected Tensor's shape: {wanted}, got {array.shape}.")
    count = int(np.prod(wanted, dtype=np.int64))
    if count == 0 and array.ndim == 0:
        return np.empty(wanted, array.dtype)
    if array.size > count:
        raise ValueError(
            f"Too many elements provided. Needed at most {count}, but received {array.size}"
        )
    if array.size == count:
        return array.reshape(wanted)
    if array.size == 0:
        raise ValueError(f"Cannot fill the shape {wanted} from a value without elements")
    filled = np.empty(count, array.dtype)
    filled[: array.size] = array.reshape(-1)
    filled[array.size :] = array.reshape(-1)[-1]
    return filled.reshape(wanted)
