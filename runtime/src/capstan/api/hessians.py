"""`tf.hessians` (python/ops/gradients_impl.py)."""

from typing import Any

from capstan.api import array_ops, while_ops
from capstan.core import dtypes
from capstan.framework import convert, gradients
from capstan.framework.tensor_array import TensorArray

__all__ = ["hessians"]


def hessians(
    ys: Any,
    xs: Any,
    name: str = "hessians",
    colocate_gradients_with_ops: bool = False,
    gate_gradients: bool = False,
    aggregation_method: int | None = None,
) -> list[Any]:
    """Return the second derivatives of the sum of all `ys` with respect to each of `xs`.

    An x of shape [2, 3] gives a result of shape [2, 3, 2, 3]. `name` has no effect, as in
    TensorFlow. `tf.gradients` describes the other arguments.

    Raises:
        LookupError: an operation between the xs and the ys has no gradient.
        ValueError: the ys, or their gradient with respect to an x, do not depend on that x.
    """
    del name
    sources = list(xs) if isinstance(xs, list | tuple) else [xs]
    first_derivatives = gradients.gradients(
        ys,
        sources,
        colocate_gradients_with_ops=colocate_gradients_with_ops,
        gate_gradients=gate_gradients,
        aggregation_method=aggregation_method,
    )
    return [
        _derivatives(gradient, x) for gradient, x in zip(first_derivatives, sources, strict=True)
    ]


def _derivatives(gradient: Any, x: Any) -> Any:
    """Return the derivative of each element of `gradient` with respect to `x`."""
    elements = array_ops.reshape(gradient, [-1])
    count = array_ops.size(x)

    def add_row(index: Any, rows: TensorArray) -> tuple[Any, TensorArray]:
        return index + 1, rows.write(index, gradients.gradients(elements[index], x)[0])

    start = [convert.constant(0, dtypes.int32), TensorArray(x.dtype.base_dtype, count)]
    rows = while_ops.while_loop(lambda index, _: index < count, add_row, start)[1]
    shape = array_ops.shape(x)
    return array_ops.reshape(rows.stack(), array_ops.concat([shape, shape], 0))
