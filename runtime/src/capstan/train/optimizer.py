"""The base class of all optimizers. It computes gradients, keeps slots, and makes the train op.

A slot is a variable that an optimizer keeps for each trained variable, such as a momentum. Each
update is placed with its variable, so a parameter server updates its own variables. Source:
tensorflow/python/training/optimizer.py.
"""

from collections.abc import Iterable, Sequence
from typing import Any, ClassVar

from capstan.api import (
    control_flow_ops,
    distribution_modes,
    loss_scaling,
    resource_variables,
    state_ops,
    variable_collections,
    variables,
)
from capstan.core import dtypes
from capstan.framework import collections, convert, gradients, indexed_slices, nest
from capstan.framework import graph as graphs
from capstan.train import optimizer_slots, updates

_FLOATING = (dtypes.float16, dtypes.bfloat16, dtypes.float32, dtypes.float64)


class Optimizer(optimizer_slots.SlotOwner):
    """Computes gradients and applies them. A subclass defines the update of one variable.

    A subclass defines `_apply_dense` and `_apply_sparse`. If it needs to, it also defines
    `_prepare` (constants), `_create_slots` and `_finish`. `use_locking` has no effect, because
    every update holds the lock of its variable. Not thread-safe.

    Raises:
        ValueError: `name` is empty.
    """

    GATE_NONE: ClassVar = 0
    GATE_OP: ClassVar = 1
    GATE_GRAPH: ClassVar = 2

    def __init__(self, use_locking: bool, name: str) -> None:
        if not name:
            raise ValueError("Must specify the optimizer name")
        super().__init__()
        self._use_locking = use_locking
        self._name = name

    def get_name(self) -> str:
        return self._name

    def minimize(
        self,
        loss: Any,
        global_step: Any = None,
        var_list: Any = None,
        gate_gradients: int = GATE_OP,
        aggregation_method: int | None = None,
        colocate_gradients_with_ops: bool = False,
        name: str | None = None,
        grad_loss: Any = None,
    ) -> graphs.Operation:
        """Return an operation that makes one training step: it lowers `loss`.

        This method calls `compute_gradients` and then `apply_gradients`, and raises as they do. The
        sum of the elements of `loss` counts. The operation adds one to the variable `global_step`.

        Raises:
            ValueError: the loss depends on none of the variables.
        """
        grads_and_vars = self.compute_gradients(
            loss,
            var_list,
            gate_gradients,
            aggregation_method,
            colocate_gradients_with_ops,
            grad_loss,
        )
        if all(grad is None for grad, _ in grads_and_vars):
            raise ValueError(
                "No gradients provided for any variable, check your graph for ops that do not "
                f"support gradients, between variables {[str(v) for _, v in grads_and_vars]} and "
                f"loss {loss}."
            )
        return self.apply_gradients(grads_and_vars, global_step, name)

    def compute_gradients(
        self,
        loss: Any,
        var_list: Any = None,
        gate_gradients: int = GATE_OP,
        aggregation_method: int | None = None,
        colocate_gradients_with_ops: bool = False,
        grad_loss: Any = None,
    ) -> list[tuple[Any, Any]]:
        """Return a list of pairs: a gradient of `loss`, and its variable.

        The variables are the members of `var_list`, by default all trainable variables. A gradient
        is a Tensor or an IndexedSlices. It is None if the loss does not depend on the variable.
        `loss` and `var_list` may be functions without arguments. `var_list` may also have tensors,
        which `apply_gradients` does not take.

        Raises:
            TypeError: a member of `var_list` is neither a variable nor a tensor.
            ValueError: there are no variables, the loss or a variable has a dtype without
                gradients, or `gate_gradients` is unknown.
        """
        if gate_gradients not in (self.GATE_NONE, self.GATE_OP, self.GATE_GRAPH):
            raise ValueError(
                "gate_gradients must be one of: Optimizer.GATE_NONE, Optimizer.GATE_OP, "
                f"Optimizer.GATE_GRAPH.  Not {gate_gradients}"
            )
        loss = loss_scaling.scaled(loss() if callable(loss) else loss)
        var_list = var_list() if callable(var_list) else var_list
        self._assert_valid_dtypes([loss] if grad_loss is None else [loss, grad_loss])
        targets = (
            variable_collections.trainable_variables()
            if var_list is None
            else nest.flatten(var_list)
        )
        if not targets:
            raise ValueError("No variables to optimize.")
        for var in targets:
            if not isinstance(var, variables.Variable | graphs.Tensor):
                raise TypeError(f"Argument is not a tf.Variable: {var}")
        grads = gradients.gradients(
            loss,
            targets,
            grad_ys=grad_loss,
            colocate_gradients_with_ops=colocate_gradients_with_ops,
            gate_gradients=gate_gradients == self.GATE_OP,
            aggregation_method=aggregation_method,
        )
        if gate_gradients == self.GATE_GRAPH:
            grads = control_flow_ops.tuple(grads)
        pairs = list(zip(grads, targets, strict=True))
        self._assert_valid_dtypes([var for grad, var in pairs if grad is not None])
        return pairs

    def apply_gradients(
        self,
        grads_and_vars: Iterable[tuple[Any, Any]],
        global_step: Any = None,
        name: str | None = None,
    ) -> graphs.Operation:
        """Return an operation that updates the variables and then adds one to `global_step`.

        In a replica of a strategy, the gradients of all replicas are first added, and all copies of
        the variables are updated.

        Raises:
            TypeError: a gradient is not a tensor.
            NotImplementedError: a tensor stands in the place of a variable.
            ValueError: there are no variables, or all gradients are None.
            RuntimeError: the graph is built for all replicas of a strategy.
        """
        mode = distribution_modes.current()
        if mode is not None and mode.replica is None:
            raise RuntimeError(
                "Call `apply_gradients()` in a replica, not in a cross-replica context: pass a "
                "function that calls it to `strategy.experimental_run_v2`."
            )
        pairs = [(_as_gradient(grad), var) for grad, var in grads_and_vars]
        for _, var in pairs:
            if isinstance(var, graphs.Tensor):
                raise NotImplementedError(f"Trying to update a Tensor {var}")
        if not pairs:
            raise ValueError("No variables provided.")
        with_gradient = [(grad, var) for grad, var in pairs if grad is not None]
        if not with_gradient:
            names = [str(var) for _, var in pairs]
            raise ValueError(f"No gradients provided for any variable: {names}.")
        if mode is None:
            return self._applied_once(with_gradient, global_step, name)
        applied: graphs.Operation = mode.replica.merge_call(
            self._distributed_apply, (with_gradient, global_step, name)
        )
        return applied

    def _applied_once(
        self, pairs: list[tuple[Any, Any]], global_step: Any, name: str | None
    ) -> graphs.Operation:
        graph = graphs.get_default_graph()
        with graph.control_dependencies(None):
            self._create_slots([var for _, var in pairs])
        with graph.name_scope(name or self._name) as scope:
            self._prepare()
            update_ops = [self._update(grad, var) for grad, var in pairs]
            return _as_train_op(self._with_step(update_ops, global_step, scope))

    def _distributed_apply(
        self,
        distribution: Any,
        grads_and_vars: list[tuple[Any, Any]],
        global_step: Any = None,
        name: str | None = None,
    ) -> graphs.Operation:
        """Add the gradients of all replicas, and update all copies of the variables."""
        extended, graph = distribution.extended, graphs.get_default_graph()
        sums = extended.batch_reduce_to("SUM", grads_and_vars)
        targets = [var for _, var in grads_and_vars]
        with graph.control_dependencies(None):
            self._create_slots(targets)
        with graph.name_scope(name or self._name) as scope:
            self._prepare()
            update_ops = [
                op
                for grad, var in zip(sums, targets, strict=True)
                for op in extended.update(
                    var, lambda copy, part: self._update(part, copy), (grad,), group=False
                )
            ]
            finished = extended.update_non_slot(
                extended.non_slot_devices(targets),
                lambda ops: self._finish(ops, "update"),
                (update_ops,),
                group=False,
            )
            if global_step is None:
                return _as_train_op(distribution.group(finished, name=scope))
            with graph.control_dependencies(finished):
                counted = extended.update(
                    global_step, lambda copy: copy.assign_add(1, read_value=False)
                )
            return _as_train_op(distribution.group(counted, name=scope))

    def _with_step(self, update_ops: list[Any], global_step: Any, scope: str) -> Any:
        if global_step is None:
            return self._finish(update_ops, scope)
        graph = graphs.get_default_graph()
        with (
            graph.control_dependencies([self._finish(update_ops, "update")]),
            graph.colocate_with(global_step),
        ):
            if isinstance(global_step, graphs.Tensor):
                # `get_global_step` returns one for a variable that it finds by its name.
                return state_ops.assign_add(global_step, 1, name=scope).op
            return global_step.assign_add(1, name=scope, read_value=False)

    def _update(self, grad: Any, var: Any) -> Any:
        graph = graphs.get_default_graph()
        with graph.name_scope(f"update_{var.op.name}"), graph.colocate_with(var):
            if isinstance(grad, indexed_slices.IndexedSlices):
                if var.constraint is not None:
                    raise RuntimeError("Cannot use a constraint function on a sparse variable.")
                if resource_variables.is_resource_variable(var):
                    return self._resource_apply_sparse_duplicate_indices(
                        grad.values, var, grad.indices
                    )
                return self._apply_sparse_duplicate_indices(grad, var)
            is_resource = resource_variables.is_resource_variable(var)
            apply = self._resource_apply_dense if is_resource else self._apply_dense
            update = apply(grad, var)
            if var.constraint is None:
                return update
            with graph.control_dependencies([update]):
                return var.assign(var.constraint(var)).op

    # --- methods that subclasses override, with TensorFlow's names

    def _valid_dtypes(self) -> Sequence[dtypes.DType]:
        """Return the dtypes that the loss, variables and gradients may have."""
        return _FLOATING

    def _create_slots(self, var_list: Sequence[Any]) -> None:
        """Make the slots of all variables."""

    def _prepare(self) -> None:
        """Make the tensors that all updates use, such as the learning rate."""

    def _apply_dense(self, grad: Any, var: Any) -> Any:
        """Return the operation that updates `var` with a Tensor as its gradient."""
        raise NotImplementedError(f"{type(self).__name__} cannot apply a dense gradient")

    def _resource_apply_dense(self, grad: Any, handle: Any) -> Any:
        """Return the operation that updates `handle`, which is the resource variable itself."""
        return self._apply_dense(grad, handle)

    def _apply_sparse(self, grad: indexed_slices.IndexedSlices, var: Any) -> Any:
        """Return the operation that updates rows of `var`. No row occurs twice."""
        raise NotImplementedError(f"{type(self).__name__} cannot apply an IndexedSlices")

    def _resource_apply_sparse(self, grad: Any, handle: Any, indices: Any) -> Any:
        """Return the operation that updates rows of the resource variable `handle`."""
        return self._apply_sparse(indexed_slices.IndexedSlices(grad, indices), handle)

    def _apply_sparse_duplicate_indices(self, grad: indexed_slices.IndexedSlices, var: Any) -> Any:
        """Return the operation that updates rows of `var`. Rows may repeat.

        This implementation sums the slices of a repeated row, and calls `_apply_sparse`.
        """
        values, rows = updates.without_repeats(grad.values, grad.indices)
        return self._apply_sparse(indexed_slices.IndexedSlices(values, rows, grad.dense_shape), var)

    def _resource_apply_sparse_duplicate_indices(self, grad: Any, handle: Any, indices: Any) -> Any:
        """Do the same for the resource variable `handle`."""
        values, rows = updates.without_repeats(grad, indices)
        return self._resource_apply_sparse(values, handle, rows)

    def _finish(self, update_ops: list[Any], name_scope: str) -> Any:
        """Return an operation that runs after all updates."""
        return control_flow_ops.group(*update_ops, name=name_scope)

    # --- functions for subclasses

    def _call_if_callable(self, param: Any) -> Any:
        return param() if callable(param) else param

    def _assert_valid_dtypes(self, tensors: Iterable[Any]) -> None:
        allowed = self._valid_dtypes()
        for tensor in tensors:
            dtype = convert.convert_to_tensor(tensor).dtype.base_dtype
            if dtype not in allowed:
                raise ValueError(
                    f"Invalid type {dtype!r} for {tensor.name}, expected: {list(allowed)}."
                )


def _as_train_op(applied: Any) -> graphs.Operation:
    """Return the operation of an update, after it was put among the training operations."""
    # A subclass may return a tensor from `_finish`.
    train_op: graphs.Operation = applied.op if isinstance(applied, graphs.Tensor) else applied
    train_ops = train_op.graph.get_collection_ref(collections.GraphKeys.TRAIN_OP)
    if train_op not in train_ops:
        train_ops.append(train_op)
    return train_op


def _as_gradient(grad: Any) -> Any:
    try:
        return convert.convert_to_tensor_or_indexed_slices(grad)
    except TypeError as error:
        raise TypeError(
            f"Gradient must be convertible to a Tensor or IndexedSlices, or None: {grad}"
        ) from error
