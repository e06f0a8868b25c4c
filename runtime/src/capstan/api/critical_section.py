"""`tf.CriticalSection`: parts of a graph that one step at a time runs.

Source: python/ops/critical_section_ops.py.
"""

from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple

from capstan.api import control_flow_nodes, tensor_array_ops
from capstan.api.scoped import scoped
from capstan.core import dtypes
from capstan.framework import body_graph, closures, composite, convert, grouping, nest
from capstan.framework import graph as graphs
from capstan.framework.raw import raw

__all__ = ["CriticalSection"]

CRITICAL_SECTIONS: Final = "critical_sections"
_EXECUTIONS = "critical_section_executions"


class _Execution(NamedTuple):
    """The resources that one call of `execute` uses, and whether no other section may use them."""

    handle: Any
    resources: Sequence[Any]
    is_exclusive: bool


class CriticalSection:
    """A lock on the task of the section, around the functions that `execute` is given.

    All sections of one `shared_name` share the lock, in all sessions that use the task. Without
    `shared_name`, that is the name of the section. A step that fails or ends gives back the lock.
    """

    def __init__(
        self, name: str | None = None, shared_name: str | None = None,
        critical_section_def: Any = None, import_scope: str | None = None,
    ) -> None:  # fmt: skip
        """Add a mutex to the graph, outside of all control flow.

        Raises:
            ValueError: `critical_section_def` is given. TensorFlow cannot read one either.
        """
        if critical_section_def is not None:
            raise ValueError(
                "CriticalSection: critical_section_def is not supported, as in TensorFlow. Give "
                "`name` and `shared_name`"
            )
        del import_scope  # only for critical_section_def
        with scoped(name, "CriticalSection", ()) as scope, body_graph.init_scope():
            shared = scope.rstrip("/") if shared_name is None else shared_name
            self._handle = raw.MutexV2(shared_name=shared, name=scope)
        graphs.get_default_graph().add_to_collection(CRITICAL_SECTIONS, self)

    @property
    def name(self) -> str:
        """The name of the operation of the mutex."""
        name: str = self._handle.op.name
        return name

    def execute(
        self, fn: Callable[[], Any], exclusive_resource_access: bool = True,
        name: str | None = None,
    ) -> Any:  # fmt: skip
        """Return the result of `fn()`, whose operations run while the step has the lock.

        Everything that the operations of `fn` need runs before the step waits for the lock. The
        result is a nest of tensors, with at least one.

        Raises:
            ValueError: `fn` uses this section itself, which would wait for ever. Or `fn` uses a
                resource that an execution of another section uses too, and one of the two has
                `exclusive_resource_access`.
        """
        graph = graphs.get_default_graph()
        with scoped(name, "critical_section_execute", ()):
            lock = raw.MutexLock(self._handle)
            before = len(graph.get_operations())
            with graph.control_dependencies([lock]):
                result = fn()
            created = graph.get_operations()[before:]
            _wait_for_arguments(lock.op, created)
            resources = [
                tensor for op in created for tensor in op.inputs if tensor.dtype == dtypes.resource
            ]
            self._check(resources, exclusive_resource_access)
            flat = [_identity(value) for value in nest.flatten(result)]
            with graph.control_dependencies(flat), graph.colocate_with(self._handle.op):
                release = raw.ConsumeMutexLock(lock)
            with graph.control_dependencies([release, *flat]):
                outputs = [_identity(value) for value in flat]
        execution = _Execution(self._handle, resources, exclusive_resource_access)
        graph.add_to_collection(_EXECUTIONS, execution)
        return nest.packed(result, outputs)

    def _check(self, resources: Sequence[Any], is_exclusive: bool) -> None:
        """Raise ValueError if `fn` may not use the resources in this section."""
        outside = closures.Closures(graphs.get_default_graph(), ())
        if any(_is_same_mutex(outside.origin(tensor), self._handle) for tensor in resources):
            raise ValueError(
                "The function fn attempts to directly access the CriticalSection in which it "
                "would be running.  This is illegal and would cause deadlocks."
            )
        used = {id(tensor) for tensor in resources}
        for other in graphs.get_default_graph().get_collection(_EXECUTIONS):
            if _is_same_mutex(other.handle, self._handle):
                continue
            shared = [tensor for tensor in other.resources if id(tensor) in used]
            if shared and (is_exclusive or other.is_exclusive):
                raise ValueError(
                    f"This execution would access resources: {shared}.  Either this lock "
                    f"(CriticalSection: {self._handle}) or the CriticalSection {other.handle} "
                    "requested exclusive resource access of this resource.  Did you mean to call "
                    "execute with keyword argument exclusive_resource_access=False?"
                )


def _wait_for_arguments(lock: Any, created: Sequence[Any]) -> None:
    """Let `lock` wait for all operations that the `created` ones need, except themselves.

    A step that waited for one of them while it has the lock could wait for a step that waits for
    the lock.
    """
    needed = {tensor.op: None for op in created for tensor in op.inputs}
    needed.update((source, None) for op in created for source in op.control_inputs)
    known = {*created, *lock.control_inputs, *(tensor.op for tensor in lock.inputs), lock}
    arguments = [op for op in needed if op not in known]
    if arguments:
        # The group is in the control flow of the lock, which the arguments may be outside of.
        lock._add_control_inputs([grouping.group(*arguments)])


def _is_same_mutex(tensor: Any, handle: Any) -> bool:
    op, own = tensor.op, handle.op
    if op.type != own.type:
        return False
    shared = op.get_attr("shared_name")
    return bool(shared) and shared == own.get_attr("shared_name") and op.device == own.device


def _identity(value: Any) -> Any:
    if isinstance(value, tensor_array_ops.TensorArray):
        return value.identity()
    if isinstance(value, graphs.Operation):
        return grouping.group(value)
    if not composite.is_composite(value):
        # The result of an assignment to a variable is its value, and not the handle.
        value = convert.convert_to_tensor(value)
    return control_flow_nodes.identity(value)
