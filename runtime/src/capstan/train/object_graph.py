"""The graph of objects behind a checkpoint, and the names of their variables in it.

A checkpoint has the value of each variable under the names of the attributes that lead to it, such
as `model/dense/kernel/.ATTRIBUTES/VARIABLE_VALUE`. It also has the graph itself, as a message.
Source: tensorflow/python/training/tracking/graph_view.py.
"""

from collections import deque
from dataclasses import dataclass
from typing import Any, Final

from capstan.api import trackable, variables

KEY: Final = "_CHECKPOINTABLE_OBJECT_GRAPH"
"""The name of the message in the checkpoint."""
_VALUE: Final = "VARIABLE_VALUE"


@dataclass(frozen=True, slots=True)
class Node:
    """An object, its path from the root, and the numbers of its dependencies by name."""

    value: Any
    path: str
    children: dict[str, int]

    @property
    def is_variable(self) -> bool:
        return isinstance(self.value, variables.Variable)

    @property
    def key(self) -> str:
        """The name of a variable's value in the checkpoint."""
        return f"{self.path}/.ATTRIBUTES/{_VALUE}"


@dataclass(frozen=True, slots=True)
class Slot:
    """The numbers of an optimizer, of a variable that it trains, and of a slot for the variable."""

    optimizer: int
    variable: int
    name: str
    slot: int


@dataclass(frozen=True, slots=True)
class ObjectGraph:
    """The objects that can be reached from a root, breadth first, and then the slots."""

    nodes: list[Node]
    slots: list[Slot]

    def variables(self) -> dict[str, Any]:
        """Return the variables by their names in the checkpoint."""
        return {node.key: node.value for node in self.nodes if node.is_variable}

    def serialized(self) -> bytes:
        """Return the message TrackableObjectGraph."""
        from tensorboard.compat.proto import trackable_object_graph_pb2

        message = trackable_object_graph_pb2.TrackableObjectGraph()
        for node in self.nodes:
            written = message.nodes.add()
            for name, number in node.children.items():
                written.children.add(node_id=number, local_name=name)
            if node.is_variable:
                full_name = node.value.name.partition(":")[0]
                written.attributes.add(name=_VALUE, full_name=full_name, checkpoint_key=node.key)
        for slot in self.slots:
            message.nodes[slot.optimizer].slot_variables.add(
                original_variable_node_id=slot.variable,
                slot_name=slot.name,
                slot_variable_node_id=slot.slot,
            )
        serialized: bytes = message.SerializeToString(deterministic=True)
        return serialized


def of(root: Any) -> ObjectGraph:
    """Return the objects that can be reached from `root`."""
    nodes = [Node(root, "", {})]
    numbers = {id(root): 0}
    waiting = deque(nodes)
    while waiting:
        node = waiting.popleft()
        for name, value in trackable.dependencies(node.value):
            if id(value) not in numbers:
                numbers[id(value)] = len(nodes)
                path = f"{node.path}/{_escaped(name)}" if node.path else _escaped(name)
                nodes.append(Node(value, path, {}))
                waiting.append(nodes[-1])
            node.children[name] = numbers[id(value)]
    return ObjectGraph(nodes, _add_slots(nodes))


def _add_slots(nodes: list[Node]) -> list[Slot]:
    """Add the slots of all optimizers to the nodes."""
    slots = []
    objects = list(enumerate(nodes))
    for number, node in objects:
        if not hasattr(node.value, "get_slot_names"):
            continue
        for name in node.value.get_slot_names():
            for owner, variable in objects:
                value = _slot(node.value, variable.value, name) if variable.is_variable else None
                if value is not None:
                    slots.append(Slot(number, owner, name, len(nodes)))
                    path = f"{variable.path}/.OPTIMIZER_SLOT/{node.path}/{_escaped(name)}"
                    nodes.append(Node(value, path, {}))
    return slots


def _slot(optimizer: Any, variable: Any, name: str) -> Any:
    """Return a slot, or None if there is none, or if it belongs to a wrapped optimizer."""
    try:
        return optimizer.get_slot(variable, name)
    except AttributeError:
        return None


def match(root: Any, message: Any) -> dict[int, Any]:
    """Return the objects below `root` that a checkpoint has, by their numbers in its message.

    An object matches if the same names lead to it.
    """
    found = {0: root}
    waiting = deque([0])
    while waiting:
        number = waiting.popleft()
        local = dict(trackable.dependencies(found[number]))
        for child in message.nodes[number].children:
            if child.local_name in local and child.node_id not in found:
                found[child.node_id] = local[child.local_name]
                waiting.append(child.node_id)
    for number, value in list(found.items()):
        for slot in message.nodes[number].slot_variables:
            variable = found.get(slot.original_variable_node_id)
            if variable is not None and hasattr(value, "get_slot"):
                made = _slot(value, variable, slot.slot_name)
                if made is not None:
                    found[slot.slot_variable_node_id] = made
    return found


def keys(message: Any, number: int) -> dict[str, str]:
    """Return the names of an object's values in the checkpoint, by the kind of the value."""
    return {each.name: each.checkpoint_key for each in message.nodes[number].attributes}


def value_key(message: Any, number: int) -> str | None:
    """Return the name of a variable's value in the checkpoint, or None if it is not a variable."""
    return keys(message, number).get(_VALUE)


def parsed(serialized: bytes) -> Any:
    """Return the message TrackableObjectGraph."""
    from tensorboard.compat.proto import trackable_object_graph_pb2

    return trackable_object_graph_pb2.TrackableObjectGraph.FromString(serialized)


def _escaped(name: str) -> str:
    return name.replace(".", "..").replace("/", ".S")
