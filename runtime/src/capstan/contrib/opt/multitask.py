"""Optimizers for losses of several tasks, some of which a batch may lack
(contrib/opt/python/training/multitask_optimizer_wrapper.py).
"""

from collections.abc import Callable, Sequence
from typing import Any

from capstan.api import clip_ops, cond_ops, control_flow_ops, logic_ops, reduce_ops
from capstan.framework import graph as graphs
from capstan.framework import indexed_slices
from capstan.train import optimizer

_METHODS = ("_apply_dense", "_resource_apply_dense", "_apply_sparse", "_resource_apply_sparse")


class MultitaskOptimizerWrapper:
    """An optimizer that ignores gradients whose elements are all 0.

    A batch without examples of a task has such gradients. The variables of the task and their
    slots, such as the momentum, then stay as they are. Other attributes are those of the optimizer.
    """

    def __init__(self, opt: Any) -> None:
        """Change the methods of `opt` that apply gradients.

        Raises:
            TypeError: `opt` is not an Optimizer.
        """
        if not isinstance(opt, optimizer.Optimizer):
            raise TypeError("Supplied optimizer must be an instance of tf.train.Optimizer")
        self._opt = opt
        inner: list[None] = []
        for name in _METHODS:
            setattr(opt, name, _unless_zero(getattr(opt, name), inner))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._opt, name)


def _unless_zero(apply: Callable[..., Any], inner: list[None]) -> Callable[..., Any]:
    """Return the method that applies a gradient only if it has an element other than 0.

    `inner` is not empty while a method is called by another one, which has tested the gradient.
    """

    def applied(grad: Any, *rest: Any, **more: Any) -> Any:
        if inner:
            return apply(grad, *rest, **more)

        def change() -> Any:
            inner.append(None)
            try:
                done = apply(grad, *rest, **more)
            finally:
                inner.pop()
            with graphs.get_default_graph().control_dependencies([done]):
                return control_flow_ops.no_op()

        values = grad.values if isinstance(grad, indexed_slices.IndexedSlices) else grad
        is_zero = logic_ops.equal(reduce_ops.count_nonzero(values), 0)
        return cond_ops.cond(is_zero, control_flow_ops.no_op, change)

    return applied


def clip_gradients_by_global_norm(
    gradients_variables: Sequence[tuple[Any, Any]], clip_norm: Any = 20.0
) -> tuple[list[tuple[Any, Any]], Any]:
    """Return pairs of gradients and variables, with gradients of at most this global norm.

    Also return the norm before, a scalar. Gradients may be None.
    """
    grads, variables = zip(*gradients_variables, strict=True)
    norm = clip_ops.global_norm(list(grads))
    clipped, _ = clip_ops.clip_by_global_norm(list(grads), clip_norm, use_norm=norm)
    return list(zip(clipped, variables, strict=True)), norm
