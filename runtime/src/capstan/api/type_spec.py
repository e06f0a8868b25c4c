"""`tf.TensorSpec` and its kin: the types of values (python/framework/{type,tensor}_spec.py)."""

from abc import ABC, abstractmethod
from typing import Any

from capstan.core import dtypes, tensor_shape
from capstan.framework import graph as graphs
from capstan.framework import sparse_tensor
from capstan.framework.raw import raw

__all__ = ["SparseTensorSpec", "TensorSpec", "TypeSpec"]


class TypeSpec(ABC):
    """The type of a value, such as a tensor, with a dtype and a static shape. Immutable.

    Programs make `TensorSpec` or `SparseTensorSpec`.
    """

    __slots__ = ("_dtype", "_shape")

    def __init__(self, shape: Any, dtype: Any) -> None:
        self._shape = tensor_shape.TensorShape(shape)
        self._dtype = dtypes.as_dtype(dtype)

    @property
    @abstractmethod
    def value_type(self) -> type:
        """The class of the values."""

    @property
    def shape(self) -> tensor_shape.TensorShape:
        """The static shape of the values."""
        return self._shape

    @property
    def dtype(self) -> dtypes.DType:
        """The type of the elements of the values."""
        return self._dtype

    def is_compatible_with(self, spec_or_value: Any) -> bool:
        """Return whether a value, or a value of another type, may be of this type."""
        is_same_kind = isinstance(spec_or_value, type(self) | self.value_type)
        return (
            is_same_kind
            and self._dtype.is_compatible_with(spec_or_value.dtype)
            and self._shape.is_compatible_with(spec_or_value.shape)
        )

    def most_specific_compatible_type(self, other: Any) -> Any:
        """Return the type with the sizes that both types have. Other sizes are unknown.

        Raises:
            ValueError: the types have different dtypes, or are of different kinds.
        """
        if type(self) is not type(other) or self._dtype != other.dtype:
            raise ValueError(f"Types are not compatible: {self!r} vs {other!r}")
        return self.with_shape(self._shape.most_specific_compatible_shape(other.shape))

    def loop_invariant(self, variable: Any) -> tensor_shape.TensorShape:
        """Return the shape invariant of a variable of `tf.while_loop` of this type.

        Raises:
            TypeError: the first value of the variable is not of this type.
        """
        if not self.is_compatible_with(variable):
            raise TypeError(f"TypeSpec {self!r} is not compatible with {variable!r}")
        return self._shape

    @abstractmethod
    def with_shape(self, shape: tensor_shape.TensorShape) -> Any:
        """Return the type of values of another shape, without a name."""

    def _key(self) -> tuple[Any, ...]:
        return (self._shape.internal, self._dtype)

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash((self._shape.internal, self._dtype))

    # --- a component of the elements of a dataset

    @property
    def legacy_type(self) -> dtypes.DType:
        return self._dtype

    @property
    def legacy_shape(self) -> tensor_shape.TensorShape:
        return self._shape

    @property
    def legacy_class(self) -> type:
        return self.value_type

    @property
    def packed_type(self) -> dtypes.DType:
        """The type of the tensor that stands for the component in a dataset."""
        return self._dtype

    @property
    def packed_shape(self) -> tensor_shape.TensorShape:
        """The shape of the tensor that stands for the component in a dataset."""
        return self._shape

    def batched(self, count: int | None) -> Any:
        """Return the type of `count` values that are stacked along a new axis 0."""
        return self.with_shape(tensor_shape.TensorShape([count]).concatenate(self._shape))

    def sliced(self) -> Any:
        """Return the type of the slices of a value along axis 0.

        Raises:
            ValueError: the value is a scalar.
        """
        if self._shape.ndims == 0:
            raise ValueError("Unbatching a tensor is only supported for rank >= 1")
        return self.with_shape(self._shape[1:])

    @abstractmethod
    def unpacked(self, tensor: Any) -> Any:
        """Return the component that a tensor of an element stands for."""


class TensorSpec(TypeSpec):
    """The type of a tensor.

    Raises:
        TypeError: `shape` is not a shape, or `dtype` is not a type.
    """

    __slots__ = ("_name",)

    def __init__(self, shape: Any, dtype: Any = dtypes.float32, name: str | None = None) -> None:
        super().__init__(shape, dtype)
        self._name = name

    @classmethod
    def from_spec(cls, spec: Any, name: str | None = None) -> "TensorSpec":
        """Return a copy of a type, with another name if `name` is given."""
        return cls(spec.shape, spec.dtype, name or spec.name)

    @classmethod
    def from_tensor(cls, tensor: Any, name: str | None = None) -> "TensorSpec":
        """Return the type of a tensor, with the name of its operation if `name` is not given.

        Raises:
            ValueError: `tensor` is not a tensor.
        """
        if not isinstance(tensor, graphs.Tensor):
            raise ValueError(  # noqa: TRY004 - as in TensorFlow
                f"`tensor` should be a tf.Tensor, got {tensor!r}"
            )
        return cls(tensor.shape, tensor.dtype, name or tensor.op.name)

    @property
    def name(self) -> str | None:
        """The name of the tensor, or None."""
        return self._name

    @property
    def value_type(self) -> type:
        return graphs.Tensor

    def most_specific_compatible_type(self, other: Any) -> "TensorSpec":
        found = super().most_specific_compatible_type(other)
        name = self._name if self._name == other.name else None
        return TensorSpec(found.shape, self._dtype, name)

    def with_shape(self, shape: tensor_shape.TensorShape) -> "TensorSpec":
        return TensorSpec(shape, self._dtype)

    def unpacked(self, tensor: Any) -> Any:
        tensor.set_shape(self._shape)
        return tensor

    def _key(self) -> tuple[Any, ...]:
        return (*super()._key(), self._name)

    __hash__ = TypeSpec.__hash__

    def __repr__(self) -> str:
        return f"TensorSpec(shape={self._shape}, dtype={self._dtype!r}, name={self._name!r})"


class SparseTensorSpec(TypeSpec):
    """The type of a sparse tensor. In a dataset it is a vector of three variants.

    Raises:
        TypeError: `shape` is not a shape, or `dtype` is not a type.
    """

    __slots__ = ()

    def __init__(self, shape: Any = None, dtype: Any = dtypes.float32) -> None:
        super().__init__(shape, dtype)

    @property
    def value_type(self) -> type:
        return sparse_tensor.SparseTensor

    @property
    def packed_type(self) -> dtypes.DType:
        return dtypes.variant

    @property
    def packed_shape(self) -> tensor_shape.TensorShape:
        return tensor_shape.TensorShape(None)

    def loop_invariant(self, variable: Any) -> tensor_shape.TensorShape:
        super().loop_invariant(variable)
        return tensor_shape.TensorShape([self._shape.ndims])

    def with_shape(self, shape: tensor_shape.TensorShape) -> "SparseTensorSpec":
        return SparseTensorSpec(shape, self._dtype)

    def unpacked(self, tensor: Any) -> sparse_tensor.SparseTensor:
        indices, values, dense_shape = raw.DeserializeSparse(tensor, dtype=self._dtype)
        rank = self._shape.ndims
        indices.set_shape([None, rank])
        dense_shape.set_shape([rank])
        return sparse_tensor.SparseTensor(indices, values, dense_shape)

    def __repr__(self) -> str:
        return f"SparseTensorSpec({self._shape!r}, {self._dtype!r})"
