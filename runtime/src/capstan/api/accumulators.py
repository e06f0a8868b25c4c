"""TensorFlow 1's conditional accumulators (python/ops/data_flow_ops.py)."""

from typing import Any

from capstan.api import math_ops
from capstan.core import dtypes, tensor_shape
from capstan.framework import convert
from capstan.framework.indexed_slices import IndexedSlices
from capstan.framework.raw import raw

__all__ = [
    "ConditionalAccumulator", "ConditionalAccumulatorBase", "SparseConditionalAccumulator",
]  # fmt: skip


class ConditionalAccumulatorBase:
    """A sum of gradients. It lives on one task and outlives a step.

    The accumulator has a step number. It drops a gradient that was computed for an earlier step.
    """

    def __init__(self, dtype: dtypes.DType, shape: Any, accumulator_ref: Any) -> None:
        self._dtype = dtype
        self._shape = (
            tensor_shape.unknown_shape() if shape is None else tensor_shape.TensorShape(shape)
        )
        self._accumulator_ref = accumulator_ref
        self._name = accumulator_ref.op.name.split("/")[-1]

    @property
    def accumulator_ref(self) -> Any:
        """The handle of the accumulator."""
        return self._accumulator_ref

    @property
    def name(self) -> str:
        """The last part of the name of the operation that makes the accumulator."""
        return str(self._name)

    @property
    def dtype(self) -> dtypes.DType:
        return self._dtype

    def num_accumulated(self, name: str | None = None) -> Any:
        """Return the number of gradients in the sum."""
        return raw.ResourceAccumulatorNumAccumulated(
            self._accumulator_ref, name=name or f"{self._name}_NumAccumulated"
        )

    def set_global_step(self, new_global_step: Any, name: str | None = None) -> Any:
        """Return an operation that sets the step number of the accumulator.

        The accumulator then drops gradients of earlier steps.
        """
        step = _int64(new_global_step)
        return raw.ResourceAccumulatorSetGlobalStep(self._accumulator_ref, step, name=name)


class ConditionalAccumulator(ConditionalAccumulatorBase):
    """A sum of dense gradients. `reduction_type` is `MEAN` or `SUM`."""

    def __init__(
        self,
        dtype: Any,
        shape: Any = None,
        shared_name: str | None = None,
        name: str = "conditional_accumulator",
        reduction_type: str = "MEAN",
    ) -> None:
        options = {"shared_name": shared_name, "name": name, "reduction_type": reduction_type}
        known = tensor_shape.as_shape(shape)
        accumulator_ref = raw.ResourceConditionalAccumulator(dtype=dtype, shape=known, **options)
        super().__init__(dtypes.as_dtype(dtype), shape, accumulator_ref)

    def apply_grad(self, grad: Any, local_step: Any = 0, name: str | None = None) -> Any:
        """Return an operation that adds `grad`, unless `local_step` is an earlier step.

        Raises:
            ValueError: the gradient has another shape than the accumulator.
        """
        gradient = convert.convert_to_tensor(grad, self._dtype)
        gradient.get_shape().assert_is_compatible_with(self._shape)
        return raw.ResourceAccumulatorApplyGradient(
            self._accumulator_ref, _int64(local_step), gradient, name=name
        )

    def take_grad(self, num_required: Any, name: str | None = None) -> Any:
        """Return the mean or the sum of the gradients, and begin a new sum.

        The operation waits until there are `num_required` gradients. It adds one to the step number
        of the accumulator.
        """
        gradient = raw.ResourceAccumulatorTakeGradient(
            self._accumulator_ref, num_required, dtype=self._dtype, name=name
        )
        gradient.set_shape(self._shape)
        return gradient

    def take_grad_up_to(self, num_required: Any, timeout_ms: int, name: str | None = None) -> Any:
        """Return the mean or the sum of up to `num_required` gradients, and begin a new sum.

        The operation waits as `take_grad` does. After the first gradient has
        arrived, it waits at most `timeout_ms` milliseconds longer. It then takes the gradients that
        have arrived. TensorFlow has no such operation.
        """
        gradient = raw.ResourceAccumulatorTakeGradientUpTo(
            self._accumulator_ref, num_required, dtype=self._dtype, timeout_ms=timeout_ms, name=name
        )
        gradient.set_shape(self._shape)
        return gradient


class SparseConditionalAccumulator(ConditionalAccumulatorBase):
    """A sum of sparse gradients: rows by index. `reduction_type` is `MEAN` or `SUM`.

    The mean of a row is the mean over the gradients that have this row.
    """

    def __init__(
        self,
        dtype: Any,
        shape: Any = None,
        shared_name: str | None = None,
        name: str = "sparse_conditional_accumulator",
        reduction_type: str = "MEAN",
    ) -> None:
        options = {"shared_name": shared_name, "name": name, "reduction_type": reduction_type}
        known = tensor_shape.as_shape(shape)
        accumulator_ref = raw.SparseConditionalAccumulator(dtype=dtype, shape=known, **options)
        super().__init__(dtypes.as_dtype(dtype), shape, accumulator_ref)

    def apply_indexed_slices_grad(
        self, grad: IndexedSlices, local_step: Any = 0, name: str | None = None
    ) -> Any:
        """Return an operation that adds `grad`, unless `local_step` is an earlier step."""
        return self.apply_grad(grad.indices, grad.values, grad.dense_shape, local_step, name)

    def apply_grad(
        self,
        grad_indices: Any,
        grad_values: Any,
        grad_shape: Any = None,
        local_step: Any = 0,
        name: str | None = None,
    ) -> Any:
        """Return an operation that adds rows by index, unless `local_step` is an earlier step."""
        return raw.SparseAccumulatorApplyGradient(
            self._accumulator_ref,
            _int64(local_step),
            _int64(grad_indices),
            convert.convert_to_tensor(grad_values, self._dtype),
            _int64([] if grad_shape is None else grad_shape),
            has_known_shape=grad_shape is not None,
            name=name,
        )

    def take_grad(self, num_required: Any, name: str | None = None) -> Any:
        """Return `SparseAccumulatorTakeGradient(indices, values, shape)`, and begin a new sum.

        `values` are the rows of the sum, and `shape` is its dense shape. The operation waits as
        `ConditionalAccumulator.take_grad` does.
        """
        return raw.SparseAccumulatorTakeGradient(
            self._accumulator_ref, num_required, dtype=self._dtype, name=name
        )

    def take_indexed_slices_grad(self, num_required: Any, name: str | None = None) -> IndexedSlices:
        """Return the sum as `IndexedSlices`, and begin a new sum."""
        indices, values, shape = self.take_grad(num_required, name)
        return IndexedSlices(values, indices, shape)

    def take_indexed_slices_grad_up_to(
        self, num_required: Any, timeout_ms: int, name: str | None = None
    ) -> IndexedSlices:
        """Return the sum of up to `num_required` gradients as `IndexedSlices`, and begin a new sum.

        The operation waits as `ConditionalAccumulator.take_grad_up_to` does.
        """
        indices, values, shape = raw.SparseAccumulatorTakeGradientUpTo(
            self._accumulator_ref, num_required, dtype=self._dtype, timeout_ms=timeout_ms, name=name
        )
        return IndexedSlices(values, indices, shape)

    def num_accumulated(self, name: str | None = None) -> Any:
        return raw.AccumulatorNumAccumulated(
            self._accumulator_ref, name=name or f"{self._name}_NumAccumulated"
        )

    def set_global_step(self, new_global_step: Any, name: str | None = None) -> Any:
        step = _int64(new_global_step)
        return raw.AccumulatorSetGlobalStep(self._accumulator_ref, step, name=name)


def _int64(value: Any) -> Any:
    if isinstance(value, list) and not value:
        return convert.convert_to_tensor(value, dtypes.int64)
    return math_ops.cast(convert.convert_to_tensor(value), dtypes.int64)
