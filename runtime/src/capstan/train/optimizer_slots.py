"""The variables that an optimizer makes: slots, one for each trained variable, and others.

The methods have the names by which subclasses of TensorFlow's Optimizer call them. Source:
tensorflow/python/training/optimizer.py.
"""

from typing import Any

from capstan.api import distributed_values, resource_variables, trackable, variables
from capstan.core import dtypes, tensor_shape
from capstan.framework import graph as graphs
from capstan.train import slot_creator


class SlotOwner:
    """Makes each variable once, and finds it again by the trained variable and a name."""

    def __init__(self) -> None:
        self._slots: dict[str, dict[Any, Any]] = {}
        self._non_slots: dict[tuple[str, Any], Any] = {}

    def get_slot(self, var: Any, name: str) -> Any:
        """Return the slot `name` of a variable, or None if the variable has no such slot.

        The slot of a copy that a strategy has made is the copy of the variable's slot.
        """
        slot = self._slots.get(name, {}).get(_key(var))
        return distributed_values.copy_beside(slot, var)

    def get_slot_names(self) -> list[str]:
        """Return the names of the slots that were created, sorted."""
        return sorted(self._slots)

    def variables(self) -> list[Any]:
        """Return the optimizer's own variables in the default graph, sorted by name."""
        graph = graphs.get_default_graph()
        slots = [slot for by_variable in self._slots.values() for slot in by_variable.values()]
        own = [*slots, *self._non_slots.values()]
        return sorted((var for var in own if var.graph is graph), key=lambda var: str(var.name))

    @property
    def _checkpoint_dependencies(self) -> trackable.Dependencies:
        """The variables of the default graph that are not slots, sorted by name."""
        graph = graphs.get_default_graph()
        own = [(name, var) for (name, home), var in self._non_slots.items() if home is graph]
        return sorted(own, key=lambda named: named[0])

    def _slot_dict(self, slot_name: str) -> dict[Any, Any]:
        return self._slots.setdefault(slot_name, {})

    def _get_or_make_slot(self, var: Any, val: Any, slot_name: str, op_name: str) -> Any:
        """Return the slot `slot_name` of a variable. If it is missing, make it from `val`."""
        slots, key = self._slot_dict(slot_name), _key(var)
        if key not in slots:
            slots[key] = slot_creator.create_slot(var, val, op_name)
        return slots[key]

    def _get_or_make_slot_with_initializer(
        self,
        var: Any,
        initializer: Any,
        shape: tensor_shape.TensorShape,
        dtype: dtypes.DType,
        slot_name: str,
        op_name: str,
    ) -> Any:
        """Return the slot `slot_name` of a variable. If missing, make it by an initializer."""
        slots, key = self._slot_dict(slot_name), _key(var)
        if key not in slots:
            slots[key] = slot_creator.create_slot_with_initializer(
                var, initializer, shape, dtype, op_name
            )
        return slots[key]

    def _zeros_slot(self, var: Any, slot_name: str, op_name: str) -> Any:
        """Return the slot `slot_name` of a variable. Create it with zeros if it is missing."""
        slots, key = self._slot_dict(slot_name), _key(var)
        if key not in slots:
            slots[key] = slot_creator.create_zeros_slot(var, op_name)
        return slots[key]

    def _create_non_slot_variable(self, initial_value: Any, name: str, colocate_with: Any) -> Any:
        """Return the optimizer's own variable `name` in the graph of `colocate_with`.

        Create the variable if the graph does not have it.
        """
        key = name, colocate_with.graph
        if key not in self._non_slots:
            with colocate_with.graph.colocate_with(colocate_with):
                self._non_slots[key] = variables.Variable(
                    initial_value,
                    name=name,
                    trainable=False,
                    use_resource=resource_variables.is_resource_variable(colocate_with),
                )
        return self._non_slots[key]

    def _get_non_slot_variable(self, name: str, graph: Any = None) -> Any:
        """Return the optimizer's own variable `name` in `graph`, or None."""
        return self._non_slots.get((name, graph))


def _key(var: Any) -> tuple[Any, str]:
    op = distributed_values.first_copy(distributed_values.container_of(var)).op
    return op.graph, op.name
