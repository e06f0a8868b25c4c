"""`tf.IndexedSlicesSpec` (python/framework/indexed_slices.py)."""

from typing import Any

from capstan.api.type_spec import TypeSpec
from capstan.core import dtypes, tensor_shape
from capstan.framework.indexed_slices import IndexedSlices

__all__ = ["IndexedSlicesSpec"]


class IndexedSlicesSpec(TypeSpec):
    """The type of a `tf.IndexedSlices`.

    `shape` is that of the full tensor, and `indices_shape` is [number of slices].
    `dense_shape_dtype` is None if there is no tensor `dense_shape`.

    Raises:
        TypeError: `shape` is not a shape, or a dtype is not a type.
        ValueError: `indices_shape` has another rank than 1.
    """

    __slots__ = ("_dense_shape_dtype", "_indices_dtype", "_indices_shape")

    def __init__(
        self,
        shape: Any = None,
        dtype: Any = dtypes.float32,
        indices_dtype: Any = dtypes.int64,
        dense_shape_dtype: Any = None,
        indices_shape: Any = None,
    ) -> None:
        super().__init__(shape, dtype)
        self._indices_dtype = dtypes.as_dtype(indices_dtype)
        self._dense_shape_dtype = (
            None if dense_shape_dtype is None else dtypes.as_dtype(dense_shape_dtype)
        )
        self._indices_shape = tensor_shape.TensorShape(indices_shape).with_rank(1)

    @classmethod
    def from_value(cls, value: IndexedSlices) -> "IndexedSlicesSpec":
        """Return the type of an IndexedSlices."""
        kind = None if value.dense_shape is None else value.dense_shape.dtype.base_dtype
        rows = tensor_shape.TensorShape([None]).concatenate(value.values.shape[1:])
        return cls(
            rows.merge_with(value.shape), value.dtype.base_dtype, value.indices.dtype.base_dtype,
            kind, value.indices.shape.merge_with(value.values.shape[:1]),
        )  # fmt: skip

    @property
    def value_type(self) -> type:
        return IndexedSlices

    def is_compatible_with(self, spec_or_value: Any) -> bool:
        given = spec_or_value
        if isinstance(given, IndexedSlices):
            given = IndexedSlicesSpec.from_value(given)
        return (
            isinstance(given, IndexedSlicesSpec)
            and self._kinds == given._kinds
            and self._indices_shape.is_compatible_with(given._indices_shape)
            and self._shape.is_compatible_with(given._shape)
        )

    def most_specific_compatible_type(self, other: Any) -> "IndexedSlicesSpec":
        if not isinstance(other, IndexedSlicesSpec) or self._kinds != other._kinds:
            raise ValueError(f"Types are not compatible: {self!r} vs {other!r}")
        count = self._indices_shape.most_specific_compatible_shape(other._indices_shape)
        shape = self._shape.most_specific_compatible_shape(other._shape)
        return IndexedSlicesSpec(shape, *self._kinds, count)

    @property
    def _kinds(self) -> tuple[dtypes.DType, dtypes.DType, dtypes.DType | None]:
        return self._dtype, self._indices_dtype, self._dense_shape_dtype

    def with_shape(self, shape: tensor_shape.TensorShape) -> "IndexedSlicesSpec":
        return IndexedSlicesSpec(shape, *self._kinds, self._indices_shape)

    def _key(self) -> tuple[Any, ...]:
        return (self._shape.internal, *self._kinds, self._indices_shape.internal)

    __hash__ = TypeSpec.__hash__

    def __repr__(self) -> str:
        return f"IndexedSlicesSpec({', '.join(map(repr, self._serialize()))})"

    def _serialize(self) -> tuple[Any, ...]:
        """Return the arguments of the constructor."""
        return (self._shape, *self._kinds, self._indices_shape)

    def unpacked(self, tensor: Any) -> Any:
        raise TypeError("An IndexedSlices cannot be a component of a dataset.")
