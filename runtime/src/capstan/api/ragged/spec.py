"""`tf.RaggedTensorSpec` (python/ops/ragged/ragged_tensor.py)."""

from typing import Any

from capstan.api.ragged import tensor
from capstan.api.type_spec import TypeSpec
from capstan.core import dtypes, tensor_shape
from capstan.framework import graph as graphs

__all__ = ["RaggedTensorSpec"]


class RaggedTensorSpec(TypeSpec):
    """The type of a RaggedTensor. In a dataset it is one variant.

    The sizes of the ragged axes in `shape` are unknown. `ragged_rank` is their number, by default
    all axes but the first.

    Raises:
        TypeError: `ragged_rank` is not an int.
        ValueError: neither `ragged_rank` nor the rank of the shape is known, or `ragged_rank` is
            not below the rank.
    """

    __slots__ = ("_ragged_rank", "_row_splits_dtype")

    def __init__(
        self,
        shape: Any = None,
        dtype: Any = dtypes.float32,
        ragged_rank: int | None = None,
        row_splits_dtype: Any = dtypes.int64,
    ) -> None:
        super().__init__(shape, dtype)
        self._row_splits_dtype = dtypes.as_dtype(row_splits_dtype)
        rank = self._shape.ndims
        if ragged_rank is None:
            if rank is None:
                raise ValueError("Must specify ragged_rank or a shape with a known rank.")
            ragged_rank = rank - 1
        if not isinstance(ragged_rank, int):
            raise TypeError("ragged_rank must be an int")
        if rank is not None and ragged_rank >= rank:
            raise ValueError("ragged_rank must be less than rank.")
        self._ragged_rank = ragged_rank

    @classmethod
    def from_value(cls, value: Any) -> "RaggedTensorSpec":
        """Return the type of a RaggedTensor or a RaggedTensorValue."""
        return cls(value.shape, value.flat_values.dtype, value.ragged_rank, value.row_splits.dtype)

    @property
    def value_type(self) -> type:
        return tensor.RaggedTensor if self._ragged_rank > 0 else graphs.Tensor

    def is_compatible_with(self, spec_or_value: Any) -> bool:
        given = spec_or_value
        if tensor.is_ragged(given):
            given = RaggedTensorSpec.from_value(given)
        if not isinstance(given, RaggedTensorSpec):
            return False
        return self._rows == given._rows and super().is_compatible_with(given)

    def most_specific_compatible_type(self, other: Any) -> Any:
        if isinstance(other, RaggedTensorSpec) and self._rows != other._rows:
            raise ValueError(f"Types are not compatible: {self!r} vs {other!r}")
        return super().most_specific_compatible_type(other)

    @property
    def _rows(self) -> tuple[int, dtypes.DType]:
        return self._ragged_rank, self._row_splits_dtype

    def with_shape(self, shape: tensor_shape.TensorShape) -> "RaggedTensorSpec":
        return self._of(shape, self._ragged_rank)

    def _of(self, shape: tensor_shape.TensorShape, ragged_rank: int) -> "RaggedTensorSpec":
        # `ragged_rank` may be negative: slices of slices may be batched again.
        return RaggedTensorSpec(shape, self._dtype, ragged_rank, self._row_splits_dtype)

    def _key(self) -> tuple[Any, ...]:
        return (*super()._key(), self._ragged_rank, self._row_splits_dtype)

    __hash__ = TypeSpec.__hash__

    def __repr__(self) -> str:
        return f"RaggedTensorSpec({', '.join(map(repr, self._serialize()))})"

    def _serialize(self) -> tuple[Any, ...]:
        """Return the arguments of the constructor."""
        return self._shape, self._dtype, self._ragged_rank, self._row_splits_dtype

    # --- a component of the elements of a dataset

    @property
    def legacy_class(self) -> Any:
        return self

    @property
    def packed_type(self) -> dtypes.DType:
        return dtypes.variant

    @property
    def packed_shape(self) -> tensor_shape.TensorShape:
        # A batch of boxed values has more axes, and a batch of batches even more.
        return tensor_shape.TensorShape(None)

    def batched(self, count: int | None) -> "RaggedTensorSpec":
        shape = tensor_shape.TensorShape([count]).concatenate(self._shape)
        return self._of(shape, self._ragged_rank + 1)

    def sliced(self) -> "RaggedTensorSpec":
        return self._of(self._shape.with_rank_at_least(1)[1:], self._ragged_rank - 1)

    def unpacked(self, boxed: Any) -> Any:
        """Return the component that a variant stands for: a tensor, if it has no ragged axis.

        Raises:
            ValueError: the slices are those of tensors, which have no slices in a dataset.
        """
        if self._ragged_rank < 0:
            raise ValueError(f"ragged_rank must be non-negative; got {self._ragged_rank}.")
        found = tensor.RaggedTensor._from_variant(
            boxed, self._dtype, self._ragged_rank, row_splits_dtype=self._row_splits_dtype
        )
        if not self._ragged_rank:
            found.set_shape(self._shape)
        elif self._shape.ndims is not None:
            inner = self._shape[self._ragged_rank + 1 :]
            found.flat_values.set_shape(tensor_shape.TensorShape([None]).concatenate(inner))
            size = tensor_shape.dimension_value(self._shape[0])
            if size is not None:
                found.row_splits.set_shape([size + 1])
        return found
