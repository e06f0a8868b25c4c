"""Element types of tensors, with TensorFlow's names and numbers (framework/types.proto) and NumPy's
scalar types.

Each type is a single object, so types may be compared by identity. As in TensorFlow, `==` also
accepts a value that names a type (`"float32"`, `np.float32`). A reference type (`float32_ref`) is
the type of a tensor that stands for a variable. Attributes and arrays always have base types.
"""

from typing import Any, Final

import numpy as np

_REF_OFFSET: Final = 100


class DType:
    """The type of a tensor's elements. Immutable. Only this module creates instances."""

    __slots__ = ("_enum", "_name", "_numpy")

    def __init__(self, name: str, enum: int, numpy_type: type[Any] | np.dtype[Any] | None) -> None:
        self._name = name
        self._enum = enum
        self._numpy = numpy_type

    @property
    def name(self) -> str:
        """TensorFlow's name, such as `float32` or `float32_ref`."""
        return self._name

    @property
    def as_datatype_enum(self) -> int:
        """The number in `types.proto`."""
        return self._enum

    @property
    def as_numpy_dtype(self) -> type[Any]:
        """The NumPy scalar type. It is `object` for strings, whose elements are `bytes`.

        A quantized type has a NumPy dtype with one field of the name of the type.
        """
        if self._numpy is not None:
            numpy_type: Any = self._numpy
            found: type[Any] = numpy_type
            return found
        # Only bfloat16 is not imported yet: the import is slow, and most programs do not use it.
        import ml_dtypes

        bfloat16: type[Any] = ml_dtypes.bfloat16
        return bfloat16

    @property
    def is_ref_dtype(self) -> bool:
        return self._enum > _REF_OFFSET

    @property
    def base_dtype(self) -> "DType":
        """The type without the reference."""
        return _BY_ENUM[self._enum - _REF_OFFSET] if self.is_ref_dtype else self

    @property
    def ref_dtype(self) -> "DType":
        """The type of a reference to elements of this type."""
        return self if self.is_ref_dtype else _BY_ENUM[self._enum + _REF_OFFSET]

    @property
    def real_dtype(self) -> "DType":
        """The type of the real part."""
        return {complex64: float32, complex128: float64}.get(self.base_dtype, self)

    @property
    def is_numpy_compatible(self) -> bool:
        return self.base_dtype not in (resource, variant)

    @property
    def is_floating(self) -> bool:
        return self.base_dtype in _FLOATING

    @property
    def is_integer(self) -> bool:
        return self.base_dtype in _INTEGER

    @property
    def is_complex(self) -> bool:
        return self.base_dtype in (complex64, complex128)

    @property
    def is_bool(self) -> bool:
        return self.base_dtype is bool_

    @property
    def is_quantized(self) -> bool:
        """Whether the elements are levels of a range, as in `tf.quint8`."""
        return self.base_dtype in _LEVELS

    @property
    def is_unsigned(self) -> bool:
        return self.base_dtype in (uint8, uint16, uint32, uint64)

    @property
    def size(self) -> int:
        """The size in bytes of one element of an array. A string counts as a pointer."""
        return np.dtype(self.as_numpy_dtype).itemsize

    @property
    def min(self) -> Any:
        """The smallest value.

        Raises:
            TypeError: the type has no order.
        """
        return self._bound("min")

    @property
    def max(self) -> Any:
        """The largest value.

        Raises:
            TypeError: the type has no order.
        """
        return self._bound("max")

    @property
    def limits(self) -> tuple[Any, Any]:
        """The smallest and largest intensity of an image of this type. Floats have 0 and 1."""
        return (0, 1) if self.is_floating else (0, self.max)

    def _bound(self, which: str) -> Any:
        if self.is_bool:
            return which == "max"
        if self.is_integer:
            return getattr(np.iinfo(self.as_numpy_dtype), which)
        if self.base_dtype is bfloat16:
            import ml_dtypes

            finfo: Any = ml_dtypes.finfo
            return getattr(finfo(ml_dtypes.bfloat16), which)
        if self.is_floating:
            return getattr(np.finfo(self.as_numpy_dtype), which)
        raise TypeError(f"Cannot find {which}imum value of {self!r}.")

    def is_compatible_with(self, other: Any) -> bool:
        """Return whether a tensor of type `other` may be used where this type is required.

        A reference may be used as a value, but a value may not be used as a reference.
        """
        return as_dtype(other)._enum in (self._enum, self._enum + _REF_OFFSET)

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if other is None or isinstance(other, DType):
            return False
        try:
            return self is as_dtype(other)
        except TypeError:
            return False

    def __hash__(self) -> int:
        return self._enum

    def __repr__(self) -> str:
        return f"tf.{self._name}"

    def __str__(self) -> str:
        return f"<dtype: {self._name!r}>"

    def __reduce__(self) -> Any:
        return as_dtype, (self._name,)

    def __copy__(self) -> "DType":
        return self

    def __deepcopy__(self, memo: Any) -> "DType":
        return self


float32 = DType("float32", 1, np.float32)
float64 = DType("float64", 2, np.float64)
int32 = DType("int32", 3, np.int32)
uint8 = DType("uint8", 4, np.uint8)
int16 = DType("int16", 5, np.int16)
int8 = DType("int8", 6, np.int8)
string = DType("string", 7, object)
complex64 = DType("complex64", 8, np.complex64)
int64 = DType("int64", 9, np.int64)
bool_ = DType("bool", 10, np.bool_)
bfloat16 = DType("bfloat16", 14, None)
uint16 = DType("uint16", 17, np.uint16)
complex128 = DType("complex128", 18, np.complex128)
float16 = DType("float16", 19, np.float16)
resource = DType("resource", 20, object)
variant = DType("variant", 21, object)
qint8 = DType("qint8", 11, np.dtype([("qint8", np.int8)]))
quint8 = DType("quint8", 12, np.dtype([("quint8", np.uint8)]))
qint32 = DType("qint32", 13, np.dtype([("qint32", np.int32)]))
qint16 = DType("qint16", 15, np.dtype([("qint16", np.int16)]))
quint16 = DType("quint16", 16, np.dtype([("quint16", np.uint16)]))
uint32 = DType("uint32", 22, np.uint32)
uint64 = DType("uint64", 23, np.uint64)

half = float16
double = float64

np_resource: Final = np.dtype([("resource", np.uint8)])
"""The dtype of a resource handle outside its task.

The handle is an array whose elements are the bytes of a ResourceHandleProto.
"""

BASE_DTYPES: Final = (
    float32, float64, int32, uint8, int16, int8, string, complex64, int64, bool_, bfloat16,
    uint16, complex128, float16, resource, variant, uint32, uint64, qint8, quint8, qint32, qint16,
    quint16,
)  # fmt: skip
_LEVELS: Final = {qint8: int8, quint8: uint8, qint32: int32, qint16: int16, quint16: uint16}
"""The quantized types, and the types of their levels."""
ON_HOST: Final = frozenset({string, resource, int32, *_LEVELS})
"""The types whose tensors are in host memory on every device (`partition.memories`)."""
_FLOATING = frozenset({float16, bfloat16, float32, float64})
_INTEGER = frozenset({int8, int16, int32, int64, uint8, uint16, uint32, uint64})


_BY_ENUM: Final[dict[float, DType]] = {}
for _base in BASE_DTYPES:
    _BY_ENUM[_base.as_datatype_enum] = _base
    _enum = _base.as_datatype_enum + _REF_OFFSET
    _BY_ENUM[_enum] = DType(f"{_base.name}_ref", _enum, _base._numpy)

_BY_NAME: Final[dict[str, DType]] = {dtype.name: dtype for dtype in _BY_ENUM.values()}
_BY_NAME.update(half=float16, float=float32, double=float64)
_BY_NAME.update(
    half_ref=float16.ref_dtype, float_ref=float32.ref_dtype, double_ref=float64.ref_dtype
)

# The keys are NumPy scalar types and Python types. `int` is int64, as in NumPy.
_BY_TYPE: Final[dict[type[Any], DType]] = {
    dtype.as_numpy_dtype: dtype
    for dtype in BASE_DTYPES
    if dtype not in (string, resource, variant, bfloat16) and dtype not in _LEVELS
}
_BY_TYPE.update({float: float32, bool: bool_, int: int64, complex: complex128})
_BY_FIELDS: Final = {
    np_resource: resource,
    **{np.dtype(dtype.as_numpy_dtype): dtype for dtype in _LEVELS},
}
QUANTIZED_DTYPES: Final = frozenset({*_LEVELS, *(dtype.ref_dtype for dtype in _LEVELS)})
_BY_TYPE.update(dict.fromkeys((object, str, bytes, np.object_, np.str_, np.bytes_), string))


def levels(dtype: DType) -> DType:
    """Return the integer type of the levels of a quantized type, or any other type itself."""
    return _LEVELS.get(dtype.base_dtype, dtype)


def cpp_name(dtype: DType) -> str:
    """Return the name of a type in the error messages of TensorFlow's C++ code, such as `float`."""
    names = {float16: "half", float32: "float", float64: "double"}
    name = names.get(dtype.base_dtype, dtype.base_dtype.name)
    return f"{name}_ref" if dtype.is_ref_dtype else name


def as_dtype(type_value: Any) -> DType:
    """Return the type that `type_value` names: a DType, a name, a number, a NumPy or a Python type.

    >>> as_dtype("float32"), as_dtype(np.dtype("<i8")), as_dtype(101), as_dtype(bool)
    (tf.float32, tf.int64, tf.float32_ref, tf.bool)

    Raises:
        TypeError: `type_value` does not name a type.
    """
    if isinstance(type_value, DType):
        return type_value
    dtype: DType | None = None
    if isinstance(type_value, str):
        dtype = _BY_NAME.get(type_value)
    elif isinstance(type_value, int | float):
        dtype = _BY_ENUM.get(type_value)
    elif isinstance(type_value, type):
        dtype = _BY_TYPE.get(type_value)
        if dtype is None and (
            issubclass(type_value, np.generic) or type_value.__name__ == "bfloat16"
        ):
            dtype = _BY_NAME.get(np.dtype(type_value).name)
    elif isinstance(type_value, np.dtype):
        dtype = _BY_TYPE.get(type_value.type) or _BY_NAME.get(type_value.name)
        if dtype is None and type_value.kind == "V":
            dtype = _BY_FIELDS.get(type_value.newbyteorder("="))
    if dtype is None:
        raise TypeError(f"Cannot convert value {type_value!r} to a TensorFlow DType.")
    return dtype
