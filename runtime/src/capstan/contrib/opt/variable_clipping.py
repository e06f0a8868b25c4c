"""`tf.contrib.opt.VariableClippingOptimizer` (contrib/opt/python/training)."""

import contextlib
from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any

from capstan.api import (
    array_ops,
    clip_ops,
    control_flow_ops,
    gather_ops,
    logging,
    resource_variables,
    state_ops,
)
from capstan.framework import graph as graphs
from capstan.framework import indexed_slices
from capstan.train import optimizer


class VariableClippingOptimizer(optimizer.Optimizer):
    """An optimizer that limits the norms of variables after each update.

    It does not limit the norms of gradients: `tf.clip_by_norm` does. Wrap an optimizer several
    times to give groups of variables different limits. Of a variable with a sparse gradient, only
    the rows of the gradient are clipped, unless the norm is taken over dimension 0.
    """

    def __init__(
        self,
        opt: optimizer.Optimizer,
        vars_to_clip_dims: Mapping[Any, Sequence[int]],
        max_norm: Any,
        use_locking: bool = False,
        colocate_clip_ops_with_vars: bool = False,
        name: str = "VariableClipping",
    ) -> None:
        """Wrap `opt`, which computes and applies the gradients.

        `vars_to_clip_dims` maps each variable to be clipped to the dimensions over which its L2
        norms are taken, as the `axes` of `tf.clip_by_norm`. No norm exceeds `max_norm`. With
        `colocate_clip_ops_with_vars`, the norms are computed where the variable is, so the values
        of the variable do not travel to the worker.
        """
        super().__init__(use_locking, name)
        self._opt, self._max_norm = opt, max_norm
        self._vars_to_clip_dims = {var: list(dims) for var, dims in vars_to_clip_dims.items()}
        self._colocate_clip_ops_with_vars = colocate_clip_ops_with_vars

    def compute_gradients(self, *args: Any, **kwargs: Any) -> list[tuple[Any, Any]]:
        """Do what the wrapped optimizer does."""
        return self._opt.compute_gradients(*args, **kwargs)

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
    ) -> graphs.Operation:
        """Return an operation that does what the wrapped optimizer does, and then clips."""
        graph, pairs = graphs.get_default_graph(), list(grads_and_vars)
        with graph.name_scope(name or self._name) as scope:
            done = [self._opt.apply_gradients(pairs, global_step)]
            with graph.control_dependencies(list(done)):
                for grad, var in pairs:
                    if grad is not None and var in self._vars_to_clip_dims:
                        with graph.name_scope(f"clip_{var.op.name}"):
                            done.append(self._clipped(grad, var))
            return control_flow_ops.group(*done, name=scope)

    def _clipped(self, grad: Any, var: Any) -> Any:
        """Return an operation that clips the variable, or the rows that the gradient has."""
        dims = self._vars_to_clip_dims[var]
        if not isinstance(grad, indexed_slices.IndexedSlices):
            return self._clipped_whole(var, dims)
        if 0 in dims:
            logging.warning(
                "Clipping norm across dims %s for %s is inefficient when including sparse "
                "dimension 0.",
                dims,
                var.op.name,
            )
            return self._clipped_whole(var, dims)
        return self._clipped_rows(var, dims, grad.indices)

    def _clipped_whole(self, var: Any, dims: list[int]) -> Any:
        with self._beside(var):
            value = var.read_value()
            excess = value - clip_ops.clip_by_norm(value, self._max_norm, dims)
        with graphs.get_default_graph().colocate_with(var):
            return state_ops.assign_sub(var, excess, use_locking=self._use_locking)

    def _clipped_rows(self, var: Any, dims: list[int], indices: Any) -> Any:
        graph = graphs.get_default_graph()
        # The excess of a row that the gradient has twice must be subtracted once.
        rows = array_ops.unique(indices)[0]
        is_resource = resource_variables.is_resource_variable(var)
        with graph.colocate_with(var):
            # The snapshot of a reference variable may be of the time before the update.
            values = gather_ops.gather(var if is_resource else var.read_value(), rows)
        with self._beside(var):
            excess = values - clip_ops.clip_by_norm(values, self._max_norm, dims)
        with graph.colocate_with(var):
            return state_ops.scatter_sub(var, rows, excess, use_locking=self._use_locking)

    def _beside(self, var: Any) -> AbstractContextManager[Any]:
        if self._colocate_clip_ops_with_vars:
            return graphs.get_default_graph().colocate_with(var)
        return contextlib.nullcontext()
