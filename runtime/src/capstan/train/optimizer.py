"""The base class of all optimizers. It computes gradients, keeps slots, and makes the train op.

A slot is a variable that an optimizer keeps for each trained variable, such as a momentum. Each
update is placed with its variable, so a parameter server updates its own variables. Source:
tensorflow/python/training/optimizer.py.
"""

from collections.abc import Iterable, Sequence
from typing import Any, ClassVar

from capstan.api import control_flow_ops, math_ops, variable_collections, variables
from capstan.core import dtypes
from capstan.framework import collections, convert, gradients, indexed_slices
from capstan.framework import graph as graphs
from capstan.framework.raw import raw
from capstan.train import slot_creator

GradsAndVars = Sequence[tuple[Any, Any]]
_FLOATING = (dtypes.float16, dtypes.bfloat16, dtypes.float32, dtypes.float64)


class Optimizer:
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
        self._use_locking = use_locking
        self._name = name
        self._slots: dict[str, dict[Any, Any]] = {}
        self._non_slots: dict[tuple[str, graphs.Graph], Any] = {}

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
        """Return an operation that makes one training step.

        This method calls `compute_gradients` and then `apply_gradients`.

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

        Raises:
            TypeError: a member of `var_list` is not a variable.
            ValueError: there are no variables, the loss or a variable has a dtype without
                gradients, or `gate_gradients` is unknown.
        """
        if gate_gradients not in (self.GATE_NONE, self.GATE_OP, self.GATE_GRAPH):
            raise ValueError(
                "gate_gradients must be one of: Optimizer.GATE_NONE, Optimizer.GATE_OP, "
                f"Optimizer.GATE_GRAPH.  Not {gate_gradients}"
            )
        self._check_types([loss] if grad_loss is None else [loss, grad_loss])
        targets = (
            variable_collections.trainable_variables() if var_list is None else _flat(var_list)
        )
        if not targets:
            raise ValueError("No variables to optimize.")
        for var in targets:
            if not isinstance(var, variables.Variable):
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
        self._check_types([var for grad, var in pairs if grad is not None])
        return pairs

    def apply_gradients(
        self,
        grads_and_vars: Iterable[tuple[Any, Any]],
        global_step: Any = None,
        name: str | None = None,
    ) -> graphs.Operation:
        """Return an operation that updates the variables and then adds one to `global_step`.

        Raises:
            TypeError: a gradient is not a tensor.
            ValueError: there are no variables, or all gradients are None.
        """
        pairs = [(_as_gradient(grad), var) for grad, var in grads_and_vars]
        if not pairs:
            raise ValueError("No variables provided.")
        with_gradient = [(grad, var) for grad, var in pairs if grad is not None]
        if not with_gradient:
            names = [str(var) for _, var in pairs]
            raise ValueError(f"No gradients provided for any variable: {names}.")
        graph = graphs.get_default_graph()
        with graph.control_dependencies(None):
            self._create_slots([var for _, var in with_gradient])
        with graph.name_scope(name or self._name) as scope:
            self._prepare()
            updates = [self._update(grad, var) for grad, var in with_gradient]
            train_op = self._with_step(updates, global_step, scope)
        train_ops = graph.get_collection_ref(collections.GraphKeys.TRAIN_OP)
        if train_op not in train_ops:
            train_ops.append(train_op)
        return train_op

    def _with_step(
        self, updates: list[graphs.Operation], global_step: Any, scope: str
    ) -> graphs.Operation:
        if global_step is None:
            return self._finish(updates, scope)
        graph = graphs.get_default_graph()
        with (
            graph.control_dependencies([self._finish(updates, "update")]),
            graph.colocate_with(global_step),
        ):
            next_step: graphs.Tensor = raw.AssignAdd(global_step._ref(), 1, name=scope)
            return next_step.op

    def _update(self, grad: Any, var: Any) -> graphs.Operation:
        graph = graphs.get_default_graph()
        with graph.name_scope(f"update_{var.op.name}"), graph.colocate_with(var):
            if isinstance(grad, indexed_slices.IndexedSlices):
                return self._apply_sparse(grad, var)
            return self._apply_dense(grad, var)

    # --- slots

    def get_slot(self, var: Any, name: str) -> Any:
        """Return the slot `name` of a variable, or None if the variable has no such slot."""
        return self._slots.get(name, {}).get(var)

    def get_slot_names(self) -> list[str]:
        """Return the names of the slots that were created, sorted."""
        return sorted(self._slots)

    def variables(self) -> list[Any]:
        """Return the optimizer's own variables in the default graph, sorted by name."""
        graph = graphs.get_default_graph()
        slots = [slot for by_variable in self._slots.values() for slot in by_variable.values()]
        own = [*slots, *self._non_slots.values()]
        return sorted((var for var in own if var.graph is graph), key=lambda var: str(var.name))

    def _zeros_slot(self, var: Any, slot_name: str, op_name: str) -> Any:
        """Return the slot `slot_name` of a variable. Create it with zeros if it is missing."""
        by_variable = self._slots.setdefault(slot_name, {})
        if var not in by_variable:
            by_variable[var] = slot_creator.create_zeros_slot(var, op_name)
        return by_variable[var]

    def _non_slot_variable(self, initial_value: float, name: str, colocate_with: Any) -> Any:
        """Return the optimizer's own variable `name` in the graph of `colocate_with`.

        Create the variable if the graph does not have it.
        """
        key = name, colocate_with.graph
        if key not in self._non_slots:
            with colocate_with.graph.colocate_with(colocate_with):
                self._non_slots[key] = variables.Variable(initial_value, name=name, trainable=False)
        return self._non_slots[key]

    # --- methods that subclasses override

    def _create_slots(self, var_list: Sequence[Any]) -> None:
        """Make the slots of all variables."""

    def _prepare(self) -> None:
        """Make the tensors that all updates use, such as the learning rate."""

    def _apply_dense(self, grad: Any, var: Any) -> graphs.Operation:
        """Return the operation that updates `var` with a Tensor as its gradient."""
        raise TypeError(f"{type(self).__name__} cannot apply a dense gradient")

    def _apply_sparse(self, grad: indexed_slices.IndexedSlices, var: Any) -> graphs.Operation:
        """Return the operation that updates `var` with IndexedSlices. Their rows may repeat."""
        raise TypeError(f"{type(self).__name__} cannot apply an IndexedSlices")

    def _finish(self, updates: list[graphs.Operation], scope: str) -> graphs.Operation:
        """Return an operation that runs after all updates."""
        group: graphs.Operation = control_flow_ops.group(*updates, name=scope)
        return group

    def _check_types(self, tensors: Iterable[Any]) -> None:
        for tensor in tensors:
            dtype = convert.convert_to_tensor(tensor).dtype.base_dtype
            if dtype not in _FLOATING:
                raise ValueError(
                    f"Invalid type {dtype!r} for {tensor.name}, expected: {list(_FLOATING)}."
                )


def hyperparameter(value: Any, name: str) -> graphs.Tensor:
    """Return a hyperparameter as a tensor.

    `value` is a number, a tensor, or a function without arguments that returns either.
    """
    return convert.convert_to_tensor(value() if callable(value) else value, name=name)


def like(value: Any, var: Any) -> graphs.Tensor:
    """Return a hyperparameter, cast to the dtype of the variable `var`."""
    cast: graphs.Tensor = math_ops.cast(value, var.dtype.base_dtype)
    return cast


def without_repeats(grad: indexed_slices.IndexedSlices) -> indexed_slices.IndexedSlices:
    """Return a gradient that names each row once. The slices of a repeated row are summed."""
    rows, positions = raw.Unique(grad.indices)
    values = raw.UnsortedSegmentSum(grad.values, positions, raw.Size(rows))
    return indexed_slices.IndexedSlices(values, rows, grad.dense_shape)


def _as_gradient(grad: Any) -> Any:
    try:
        return convert.convert_to_tensor_or_indexed_slices(grad)
    except TypeError as error:
        raise TypeError(
            f"Gradient must be convertible to a Tensor or IndexedSlices, or None: {grad}"
        ) from error


def _flat(var_list: Any) -> list[Any]:
    if isinstance(var_list, list | tuple):
        return [var for entry in var_list for var in _flat(entry)]
    return [var_list]
