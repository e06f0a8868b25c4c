"""`tf.TensorArraySpec` (python/ops/tensor_array_ops.py)."""

from typing import Any, NoReturn

from capstan.api.type_spec import TypeSpec
from capstan.core import dtypes, tensor_shape
from capstan.framework import graph as graphs
from capstan.framework import list_array
from capstan.framework.raw import raw
from capstan.framework.tensor_array import TensorArray

__all__ = ["TensorArraySpec"]


class TensorArraySpec(TypeSpec):
    """The type of a TensorArray. In a dataset it is one variant: the list of the elements.

    Raises:
        TypeError: `element_shape` is not a shape, or `dtype` is not a type.
    """

    __slots__ = ("_dynamic_size", "_infer_shape")

    def __init__(
        self,
        element_shape: Any = None,
        dtype: Any = dtypes.float32,
        dynamic_size: bool = False,
        infer_shape: bool = True,
    ) -> None:
        super().__init__(element_shape, dtype)
        self._dynamic_size, self._infer_shape = dynamic_size, infer_shape

    @classmethod
    def from_value(cls, value: TensorArray) -> "TensorArraySpec":
        """Return the type of a TensorArray.

        Raises:
            TypeError: `value` is not a TensorArray.
        """
        if not isinstance(value, TensorArray):
            raise TypeError(f"Expected value to be a TensorArray, but saw: {type(value)}")
        return cls(value.element_shape, value.dtype, value.dynamic_size, value.infers_shape)

    @property
    def value_type(self) -> type:
        return TensorArray

    def is_compatible_with(self, spec_or_value: Any) -> bool:
        given = spec_or_value
        if isinstance(given, TensorArray):
            given = TensorArraySpec.from_value(given)
        return (
            isinstance(given, TensorArraySpec)
            and self._dynamic_size == given._dynamic_size
            and super().is_compatible_with(given)
        )

    def most_specific_compatible_type(self, other: Any) -> "TensorArraySpec":
        if not self.is_compatible_with(other):
            raise ValueError(f"Types are not compatible: {self!r} vs {other!r}")
        infers = self._infer_shape and other._infer_shape
        shape = self._shape.most_specific_compatible_shape(other.shape)
        return TensorArraySpec(shape, self._dtype, self._dynamic_size, infers)

    def with_shape(self, shape: tensor_shape.TensorShape) -> "TensorArraySpec":
        return TensorArraySpec(shape, self._dtype, self._dynamic_size, self._infer_shape)

    def _key(self) -> tuple[Any, ...]:
        return (*super()._key(), self._dynamic_size, self._infer_shape)

    __hash__ = TypeSpec.__hash__

    def __repr__(self) -> str:
        return (
            f"TensorArraySpec({self._shape!r}, {self._dtype!r}, {self._dynamic_size}, "
            f"{self._infer_shape})"
        )

    # --- a component of the elements of a dataset

    @property
    def packed_type(self) -> dtypes.DType:
        return dtypes.variant

    @property
    def packed_shape(self) -> tensor_shape.TensorShape:
        return tensor_shape.TensorShape([])

    def batched(self, count: int | None) -> NoReturn:
        raise TypeError("A TensorArray cannot be batched. Stack it first.")

    def sliced(self) -> NoReturn:
        raise TypeError("A TensorArray has no slices. Stack it first.")

    def unpacked(self, tensor: Any) -> TensorArray:
        array = TensorArray(self._dtype, flow=tensor, infer_shape=self._infer_shape)
        return array.restricted(self._shape, self._dynamic_size)


def packed(array: TensorArray) -> graphs.Tensor:
    """Return the variant that stands for a TensorArray in a dataset.

    It reads an array that is no list, so all elements must have one shape.
    """
    if array.flow.dtype.base_dtype is dtypes.variant:
        return array.flow
    with array.graph.name_scope("convert_tensor_array"):
        flow: graphs.Tensor = raw.TensorListFromTensor(
            array.stack(), list_array.sizes_of(array.element_shape)
        )
        return flow
