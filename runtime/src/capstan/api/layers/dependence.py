"""Which tensors and operations of a graph depend on which tensors."""

from collections.abc import Collection, Iterable
from typing import Any

from capstan.framework import composite


def reached(sources: Collection[Any], values: Iterable[Any]) -> list[Any]:
    """Return the values (tensors or operations) that the graph computes from `sources`.

    The sources are tensors, composite tensors and variables.
    """
    given = {id(source) for source in sources}
    given |= {id(part) for source in sources for part in _parts(source)}
    return [value for value in values if depends(value, given)]


def _parts(source: Any) -> Collection[Any]:
    parts: Collection[Any] = composite.parts(source) or ()
    is_variable = not parts and not hasattr(source, "consumers") and hasattr(source, "op")
    return source.op.outputs if is_variable else parts


def rest(values: Iterable[Any], some: Iterable[Any]) -> list[Any]:
    """Return the values that are not among `some`."""
    known = {id(each) for each in some}
    return [value for value in values if id(value) not in known]


def depends(value: Any, sources: Collection[int]) -> bool:
    """Return whether a tensor or an operation depends on a tensor whose `id` is in `sources`."""
    if id(value) in sources:
        return True
    pending, seen = [getattr(value, "op", value)], set()
    while pending:
        op = pending.pop()
        if op in seen:
            continue
        seen.add(op)
        if any(id(tensor) in sources for tensor in op.inputs):
            return True
        pending += [*(tensor.op for tensor in op.inputs), *op.control_inputs]
    return False


def get_reachable_from_inputs(inputs: Any, targets: Any = None) -> set[Any]:
    """Return the tensors that depend on `inputs`, and the inputs. Variables may be inputs.

    The search ends when it has found all `targets`.
    """
    found, wanted = set(inputs), set(targets or ())
    pending = list(inputs)
    while pending and not (wanted and wanted <= found):
        tensor = pending.pop()
        consumers = tensor.consumers() if hasattr(tensor, "consumers") else [tensor.op]
        outputs = {output for op in consumers for output in op.outputs} - found
        found |= outputs
        pending = [*outputs, *pending]
    return found
