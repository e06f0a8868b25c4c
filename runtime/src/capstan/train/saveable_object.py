"""The objects that a saver saves and restores: variables, and any other state in tensors.

Source: tensorflow/python/training/saving/saveable_object.py and saveable_object_util.py.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from capstan.api import (
    distributed_variables,
    partitioned_variables,
    resource_variables,
    variables,
)
from capstan.framework import facts, nest, opdef
from capstan.framework import graph as graphs
from capstan.framework.raw import raw
from capstan.framework.saveable import SaveableObject as SaveableObject
from capstan.framework.saveable import SaveSpec as SaveSpec


class ReferenceVariableSaveable(SaveableObject):
    """A variable, or the tensor that refers to the variable."""

    def __init__(self, var: Any, slice_spec: str, name: str) -> None:
        state = _element(var)
        super().__init__(var, [SaveSpec(state, slice_spec, name, state.dtype.base_dtype)], name)
        self._state = state

    def restore(self, restored_tensors: Sequence[graphs.Tensor], restored_shapes: Any) -> Any:
        shape = self._state.get_shape()
        value = _reshaped(restored_tensors[0], restored_shapes)
        is_checked = restored_shapes is None and shape.is_fully_defined()
        return raw.Assign(self._state, value, validate_shape=is_checked).op


class ResourceVariableSaveable(SaveableObject):
    """A resource variable, or a tensor that a ReadVariableOp has read from the variable."""

    def __init__(self, var: Any, slice_spec: str, name: str) -> None:
        value = _element(var)
        self.handle_op = value.op.inputs[0]
        super().__init__(var, [SaveSpec(value, slice_spec, name)], name)

    def restore(self, restored_tensors: Sequence[graphs.Tensor], restored_shapes: Any) -> Any:
        value = _reshaped(restored_tensors[0], restored_shapes)
        with value.graph.device(self.handle_op.device):
            return raw.AssignVariableOp(self.handle_op, raw.Identity(value))


def saveables_by_name(given: Any) -> dict[str, Any]:
    """Return variables and saveables by their names in the checkpoint.

    The names are the keys of `given` if it is a dictionary. Otherwise `given` is a sequence, which
    may be nested, and the names are those of the variables. The slices of a variable form a list.

    Raises:
        TypeError: a member is neither a variable nor a saveable.
        ValueError: two members have the same name.
    """
    if isinstance(given, Mapping):
        return {str(name): given[name] for name in given}
    if not isinstance(given, list | tuple | set):
        raise TypeError(f"Variables to save should be passed in a dict or a list. Got {given}")
    found: dict[str, Any] = {}
    for each in nest.flatten(list(given)):
        # A table that is saved has a saveable.
        member = getattr(each, "saveable", each)
        slice_info = getattr(member, "_save_slice_info", None)
        name = _name(member) if slice_info is None else slice_info.full_name
        if slice_info is not None and isinstance(found.get(name, []), list):
            found.setdefault(name, []).append(member)
        elif name in found:
            raise ValueError(f"At least two variables have the same name: {name}")
        else:
            found[name] = member
    return found


def saveables(members: Mapping[str, Any]) -> list[SaveableObject]:
    """Return the saveables of variables and saveables by name, sorted by name.

    Raises:
        TypeError: a member is neither a variable nor a saveable.
        ValueError: a member has two names, or a list holds other objects than slices of one tensor.
    """
    found = [
        saveable
        for name in sorted(members)
        for saveable in saveable_objects_for_op(members[name], name)
    ]
    seen: set[int] = set()
    for saveable in found:
        if id(saveable.op) in seen and saveable.op is not None:
            raise ValueError(f"The same saveable will be restored with two names: {saveable.name}")
        seen.add(id(saveable.op))
    return found


def saveable_objects_for_op(op: Any, name: str) -> Iterator[SaveableObject]:
    """Yield the saveables of a variable, a list of slices, or a saveable.

    Raises:
        TypeError: `op` is none of these.
        ValueError: a list holds other objects than slices of one tensor.
    """
    op = getattr(op, "saveable", op)
    if isinstance(op, SaveableObject):
        yield op
    elif isinstance(op, distributed_variables.DistributedVariable):
        yield op.checkpoint_saveable(name)
    elif isinstance(op, list | tuple | partitioned_variables.PartitionedVariable):
        full_names = {_slice_of(var).full_name for var in op}
        if len(full_names) > 1:
            raise ValueError(
                f"Slices must all be from the same tensor: {' != '.join(sorted(full_names))}"
            )
        for var in op:
            yield _of_variable(var, _slice_of(var).spec, name)
    else:
        element = _element(op)
        if not _is_variable(element):
            raise TypeError(
                "names_to_saveables must be a dict mapping string names to Tensors/Variables. "
                f"Not a variable: {op}"
            )
        yield _of_variable(element, "", name)


def _of_variable(var: Any, slice_spec: str, name: str) -> SaveableObject:
    is_resource = resource_variables.is_read(_element(var).op)
    kind = ResourceVariableSaveable if is_resource else ReferenceVariableSaveable
    return kind(var, slice_spec, name)


def _name(member: Any) -> str:
    """Return the name of a variable, or of a saveable, in a checkpoint."""
    if isinstance(member, SaveableObject | partitioned_variables.PartitionedVariable):
        return member.name
    if isinstance(member, distributed_variables.DistributedVariable):
        return str(member.primary.op.name)
    element = _element(member)
    if not _is_variable(element):
        raise TypeError(f"Variable to save is not a Variable: {member}")
    op = element.op
    return str(op.inputs[0].op.name if resource_variables.is_read(op) else op.name)


def _element(var: Any) -> Any:
    """Return the tensor of a variable. Return any other object as it is."""
    return var._as_graph_element() if isinstance(var, variables.Variable) else var


def _is_variable(element: Any) -> bool:
    if not isinstance(element, graphs.Tensor):
        return False
    is_reference = opdef.role(element.op.type) is facts.Role.VARIABLE
    return is_reference or resource_variables.is_read(element.op)


def _slice_of(var: Any) -> Any:
    info = getattr(var, "_save_slice_info", None)
    if info is None:
        raise ValueError(f"Slices must all be slices: {var}")
    return info


def _reshaped(value: graphs.Tensor, shapes: Any) -> graphs.Tensor:
    if shapes is None:
        return value
    reshaped: graphs.Tensor = raw.Reshape(value, shapes[0])
    return reshaped
