"""Values of type variant: objects such as lists of tensors, each an element of a tensor.

A tensor of variants is an object array of `Variant`s. None stands for an element without a value.
A variant never changes, so steps and threads may share it. The tensors in a variant may be in the
memory of a device. A copy of the variant to another memory copies them. Outside its task a variant
is the bytes of a VariantTensorDataProto, with TensorFlow's content.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import numpy as np

from capstan import errors
from capstan.core import dtypes, shapes, tensor_proto, tensor_shape
from capstan.core.arrays import Array

Copy = Callable[[Array], Array]
"""Returns a copy of an array in another memory."""


class Variant(ABC):
    """One value. Immutable and thread-safe."""

    __slots__ = ()
    type_name: ClassVar[str]
    """The name of the type in messages."""

    @abstractmethod
    def zeros_like(self) -> "Variant":
        """Return a variant of the same structure with zeros in all tensors."""

    @abstractmethod
    def plus(self, other: "Variant") -> "Variant":
        """Return the sum of the tensors of two variants of one class.

        Raises:
            InvalidArgumentError: the variants do not have the same structure.
        """

    def moved(self, copy: Copy) -> "Variant":
        """Return this variant with its tensors copied, as `moved` does. It may have none."""
        return self

    @abstractmethod
    def parts(self) -> tuple[bytes, Sequence[tuple[Any, dtypes.DType]]]:
        """Return the metadata and the tensors, each with its dtype, for a message."""


def scalar(value: Variant | None) -> Array:
    """Return the tensor that holds `value`."""
    tensor = np.empty((), object)
    tensor[()] = value
    return tensor


def zeros(shape: Sequence[int], dtype: dtypes.DType) -> Array:
    """Return a tensor of zeros, empty strings, or variants without a value."""
    if dtype is dtypes.string:
        return np.full(shape, b"", object)
    if dtype is dtypes.variant:
        return np.full(shape, None, object)
    return np.zeros(shape, dtype.as_numpy_dtype)


def moved(tensor: Any, dtype: dtypes.DType, copy: Copy) -> Any:
    """Return a tensor copied by `copy`. In a tensor of variants, their tensors are copied.

    A tensor of a type that is in host memory on every device stays as it is.
    """
    if dtype in dtypes.ON_HOST:
        return tensor
    if dtype is not dtypes.variant:
        return copy(tensor)
    return _mapped(lambda element: None if element is None else element.moved(copy), tensor)


def zeros_like(tensor: Any) -> Any:
    """Return zeros for a tensor of any dtype, in the same memory."""
    array = _array(tensor)
    if array.dtype != object:
        return np.zeros_like(array)
    return _mapped(lambda element: b"" if isinstance(element, bytes) else _zero(element), array)


def added(one: Any, other: Any) -> Any:
    """Return the sum of two tensors of any dtype, which are in one memory.

    Raises:
        InvalidArgumentError: the tensors do not fit each other.
    """
    first, second = _array(one), _array(other)
    if first.shape != second.shape:
        raise errors.InvalidArgumentError(
            None,
            None,
            f"Cannot add tensors of the shapes {shapes.show(first.shape)} and "
            f"{shapes.show(second.shape)}",
        )
    return _mapped(_sum, first, second) if first.dtype == object else np.add(first, second)


def tensor_to_proto(tensor: Any, dtype: dtypes.DType) -> Any:
    """Return the TensorProto of a tensor, which may hold variants.

    Raises:
        UnimplementedError: the tensor holds a resource, which means nothing in another task.
    """
    from tensorboard.compat.proto import tensor_pb2

    if dtype is dtypes.resource:
        raise errors.UnimplementedError(
            None,
            None,
            "A resource in a list or an optional cannot leave its task. Place the operations on "
            "the list or the optional on the task of the resource",
        )
    array = np.asarray(tensor)
    if dtype is not dtypes.variant:
        return tensor_proto.make(array)
    return tensor_pb2.TensorProto(
        dtype=dtype.as_datatype_enum,
        tensor_shape=tensor_shape.TensorShape(array.shape).as_proto(),
        variant_val=[_message(element) for element in array.reshape(-1).tolist()],
    )


def to_bytes(value: Variant | None) -> bytes:
    """Return one variant as the bytes of its message."""
    content: bytes = _message(value).SerializeToString()
    return content


def _message(value: Variant | None) -> Any:
    from tensorboard.compat.proto import tensor_pb2

    if value is None:
        return tensor_pb2.VariantTensorDataProto()
    metadata, tensors = value.parts()
    return tensor_pb2.VariantTensorDataProto(
        type_name=value.type_name,
        metadata=metadata,
        tensors=[tensor_to_proto(tensor, dtype) for tensor, dtype in tensors],
    )


def _array(value: Any) -> Any:
    """Return a scalar of NumPy as an array, and any array as it is."""
    return np.asarray(value) if isinstance(value, np.generic) else value


def _mapped(function: Any, *tensors: Array) -> Array:
    """Return an object array of the results for the elements of the tensors."""
    result = np.empty(tensors[0].shape, object)
    flat = [tensor.reshape(-1).tolist() for tensor in tensors]
    result.reshape(-1)[:] = [function(*elements) for elements in zip(*flat, strict=True)]
    return result


def _zero(element: Variant | None) -> Variant | None:
    return None if element is None else element.zeros_like()


def _sum(one: Variant | None, other: Variant | None) -> Variant | None:
    if one is None or other is None:
        return one or other
    if type(one) is not type(other):
        raise errors.InvalidArgumentError(
            None, None, f"Cannot add a {one.type_name} and a {other.type_name}"
        )
    return one.plus(other)
