"""`tf.contrib.opt.DropStaleGradientOptimizer` (contrib/opt/python/training)."""

from collections.abc import Iterable
from typing import Any

from capstan.api import (
    array_ops,
    cond_ops,
    init_ops,
    math_ops,
    state_ops,
    variable_scope,
)
from capstan.core import dtypes
from capstan.framework import graph as graphs
from capstan.framework.raw import raw
from capstan.train import optimizer, steps, summary


class DropStaleGradientOptimizer(optimizer.Optimizer):
    """An optimizer of asynchronous workers that drops gradients of old variables.

    A worker reads the global step before it computes gradients. If the global step has grown by
    more than `staleness` since then, the gradients have no effect. The variable `stale_counter`
    counts the steps whose gradients were dropped.
    """

    def __init__(
        self,
        opt: optimizer.Optimizer,
        staleness: int,
        use_locking: bool = False,
        name: str = "DropStaleGradient",
    ) -> None:
        super().__init__(use_locking, name)
        self._opt, self._staleness = opt, staleness
        self._local_step: Any = None

    def compute_gradients(self, loss: Any, *args: Any, **kwargs: Any) -> list[tuple[Any, Any]]:
        """Read the global step, and do what the wrapped optimizer does."""
        graph = graphs.get_default_graph()
        with graph.colocate_with(loss):
            self._local_step = steps.get_global_step() + 0
        with graph.control_dependencies([self._local_step]):
            return self._opt.compute_gradients(array_ops.identity(loss), *args, **kwargs)

    def get_slot(self, *args: Any, **kwargs: Any) -> Any:
        """Return a slot of the wrapped optimizer."""
        return self._opt.get_slot(*args, **kwargs)

    def get_slot_names(self, *args: Any, **kwargs: Any) -> list[str]:
        """Return the names of the slots of the wrapped optimizer."""
        return self._opt.get_slot_names(*args, **kwargs)

    def apply_gradients(
        self,
        grads_and_vars: Iterable[tuple[Any, Any]],
        global_step: Any = None,
        name: str | None = None,
    ) -> Any:
        """Return the number of dropped steps. The step applies the gradients unless they are old.

        `global_step` is the variable of the global step.
        """
        graph, pairs = graphs.get_default_graph(), list(grads_and_vars)
        with graph.colocate_with(global_step):
            dropped = variable_scope.get_variable(
                "stale_counter", [], initializer=init_ops.zeros_initializer(), trainable=False
            )
        computed = [getattr(grad, "op", grad) for grad, _ in pairs if grad is not None]
        with graph.control_dependencies(computed), graph.colocate_with(global_step):
            age = raw.Reshape(global_step - self._local_step, [])

        def accepted() -> Any:
            applied = self._opt.apply_gradients(pairs, global_step, name)
            with graphs.get_default_graph().control_dependencies([applied]):
                return array_ops.identity(0.0)

        is_fresh = raw.LessEqual(age, math_ops.cast(self._staleness, age.dtype))
        number = cond_ops.cond(is_fresh, accepted, lambda: array_ops.identity(1.0))
        updated = state_ops.assign_add(dropped, number)
        summary.scalar(
            "Gradient staleness percentage",
            dropped / math_ops.cast(global_step + 1, dtypes.float32),
        )
        return updated
