"""`tf.nondifferentiable_batch_function` (python/ops/batch_ops.py)."""

import functools
from collections.abc import Callable, Sequence
from typing import Any

from capstan.api import data_functions, data_structure
from capstan.api.autograph import experimental
from capstan.core import tensor_shape
from capstan.framework import graph as graphs
from capstan.framework.raw import raw

__all__ = ["nondifferentiable_batch_function"]


def nondifferentiable_batch_function(
    num_batch_threads: int,
    max_batch_size: int,
    batch_timeout_micros: int,
    allowed_batch_sizes: Sequence[int] | None = None,
    max_enqueued_batches: int = 10,
    autograph: bool = True,
) -> Callable[[Callable[..., Any]], Callable[..., list[Any]]]:
    """Return a decorator of a function of tensors, which joins the calls of several steps.

    If steps run at the same time, the arguments of their calls are joined along axis 0, up to
    `max_batch_size` rows, and one call of the function computes the results of all. It begins
    `batch_timeout_micros` microseconds after the first call, or when the batch is full. At most
    `num_batch_threads` batches run, and `max_enqueued_batches` wait. A batch is padded to the next
    one of `allowed_batch_sizes`, the last of which is `max_batch_size`. The function returns a
    tensor or a sequence of tensors with the rows of its arguments, and the decorated function
    returns a list of them. `tf.gradients` raises LookupError for them. Without `autograph`,
    statements of Python such as `if` do not work on tensors.

    A step fails with UnavailableError if too many batches wait. The decorated function raises
    ValueError if an argument is no tensor.
    """

    def decorator(fn: Callable[..., Any]) -> Callable[..., list[Any]]:
        traced = fn if autograph else experimental.do_not_convert(fn)

        @functools.wraps(fn)
        def decorated(*args: Any) -> list[Any]:
            for each in args:
                if not isinstance(each, graphs.Tensor):
                    raise ValueError(  # noqa: TRY004 - what TensorFlow raises
                        "All arguments to functions decorated with `batch_function`  are supposed "
                        f"to be Tensors; found {each!r}"
                    )
            made = data_functions.trace(traced, "batch_function", *map(_rows, args), unpack=False)
            graph = graphs.get_default_graph()
            with graph.name_scope("batch") as scope:
                found: Any = raw.BatchFunction(
                    list(args),
                    made.captured,
                    f=made.reference,
                    num_batch_threads=num_batch_threads,
                    max_batch_size=max_batch_size,
                    batch_timeout_micros=batch_timeout_micros,
                    allowed_batch_sizes=list(allowed_batch_sizes or ()),
                    max_enqueued_batches=max_enqueued_batches,
                    shared_name=scope,
                    Tout=[each.dtype for each in data_structure.flatten(made.spec)],
                )
            return list(found) if isinstance(found, list | tuple) else [found]

        return decorated

    return decorator


def _rows(tensor: graphs.Tensor) -> Any:
    """Return the type of the argument of a batch, whose number of rows is unknown."""
    shape = tensor.shape
    rows = tensor_shape.as_shape([None]).concatenate(shape[1:]) if shape.ndims else shape
    return data_structure.TensorSpec(rows, tensor.dtype)
