"""The order of operations with effects in the body of a `tf.function`
(python/framework/auto_control_deps.py).

The rules, for the operations of a body in the order in which the program adds them:

1. An operation that changes a resource waits for the last change of the resource and for all
   reads since then. A read waits for the last change.
2. An operation that acts on the world outside, or whose resource is unknown, waits for the last
   such operation.
3. An operation that changes a resource or acts on the world runs in every call, also if no result
   of the function needs it.

A draw of random numbers follows no order. A call of functions may change each resource that it
takes.
"""

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from capstan.core import dtypes, function
from capstan.framework import facts, opdef
from capstan.framework.operation import Operation


class _Uses:
    """The operations that have used one resource since its last change."""

    def __init__(self) -> None:
        self.change: Operation | None = None
        self.reads: list[Operation] = []

    def read_by(self, op: Operation) -> list[Operation]:
        """Note a read, and return the operations that it waits for."""
        self.reads.append(op)
        return [] if self.change is None else [self.change]

    def changed_by(self, op: Operation) -> list[Operation]:
        """Note a change, and return the operations that it waits for."""
        before = [*([] if self.change is None else [self.change]), *self.reads]
        self.change, self.reads = op, []
        return before


def add(operations: Sequence[Operation]) -> list[Operation]:
    """Add control inputs by rules 1 and 2, and return the operations of rule 3."""
    resources: defaultdict[Any, _Uses] = defaultdict(_Uses)
    must_run = []
    for op in operations:
        if op.control_flow_context is not None or opdef.role(op.type) in facts.CONTROL_FLOW:
            continue  # the program orders the operations of a loop or conditional of TensorFlow 1
        read, changed, acts = _effects(op)
        if acts and not changed:
            changed = {None}
        before = [
            *(other for each in read - changed for other in resources[each].read_by(op)),
            *(other for each in changed for other in resources[each].changed_by(op)),
        ]
        needed = [other for other in dict.fromkeys(before) if other is not op]
        if needed:
            op._add_control_inputs(needed)
        if changed:
            must_run.append(op)
    return must_run


def _effects(op: Operation) -> tuple[set[Any], set[Any], bool]:
    """Return the tensors of the resources that `op` reads and changes, and whether it acts."""
    row = op.row
    if row is None or row.effect.calls:
        names = [op.type] if row is None else _called(op)
        acts = any(_is_stateful(op.graph.named_function(name)) for name in names)
        return set(), {tensor for tensor in op.inputs if _is_state(tensor)} if acts else set(), acts
    effect = row.effect
    read = _inputs_of(op, row, effect.reads)
    return read, _inputs_of(op, row, effect.changes), effect.external or effect.blocks


def _called(op: Operation) -> list[str]:
    """Return the names of the functions that `op` calls."""
    values = (each if isinstance(each, list) else [each] for each in op.node.attrs.values())
    return [each.name for row in values for each in row if isinstance(each, function.Reference)]


def _is_stateful(callee: function.Function | None) -> bool:
    return callee is None or callee.is_stateful


def _inputs_of(op: Operation, row: opdef.OpDef, arguments: Sequence[str]) -> set[Any]:
    """Return the inputs that belong to the named arguments."""
    found: set[Any] = set()
    start = 0
    for argument in row.input_arguments if arguments else ():
        end = start + len(opdef.expand([argument], op.node.attrs))
        if argument.name in arguments:
            found.update(op.inputs[start:end])
        start = end
    return found


def _is_state(tensor: Any) -> bool:
    return tensor.dtype is dtypes.resource or tensor.dtype.is_ref_dtype
