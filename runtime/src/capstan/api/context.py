"""Names, devices, control dependencies and collections of the default graph.

Each function calls the `tf.Graph` method of the same name on the default graph
(python/framework/ops.py).
"""

from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager, ExitStack
from types import TracebackType
from typing import Any

from capstan.core import devices
from capstan.framework import graph as graphs


class name_scope:
    """A `with` block that prefixes the names of new operations.

    The value of the block is the prefix with a final slash. `default_name` is used if `name` is
    None. In the block, the graph of the tensors in `values` is the default graph.

    Raises:
        ValueError: `values` is given without a name, its tensors belong to different graphs, or
            the name is invalid.
    """

    def __init__(
        self,
        name: str | None,
        default_name: str | None = None,
        values: Sequence[Any] | None = None,
    ) -> None:
        self._name = default_name if name is None else name
        if self._name is None and values is not None:
            raise ValueError(
                f"At least one of name ({name}) and default_name ({default_name}) must be provided."
            )
        self._values = values or ()
        self._blocks = ExitStack()

    @property
    def name(self) -> str | None:
        """The requested name, before it is made unique."""
        return self._name

    def __enter__(self) -> str:
        graph = graphs.graph_of(self._values)
        with ExitStack() as blocks:
            blocks.enter_context(graph.as_default())
            scope = blocks.enter_context(graph.name_scope(self._name))
            self._blocks = blocks.pop_all()
        return scope

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._blocks.close()


def device(
    device_name_or_function: "str | devices.DeviceSpec | Callable[[Any], Any] | None",
) -> AbstractContextManager[None]:
    """Place new operations on a device. See `Graph.device`.

    An inner block may override fields of the device.
    """
    return graphs.get_default_graph().device(device_name_or_function)


def container(container_name: str) -> AbstractContextManager[str]:
    """Keep the state of new operations in a container, which `Session.reset` can clear."""
    return graphs.get_default_graph().container(container_name)


def colocate_with(op: Any, ignore_existing: bool = False) -> AbstractContextManager[None]:
    """Place new operations on the device of `op`. See `Graph.colocate_with`."""
    return graphs.get_default_graph().colocate_with(op, ignore_existing)


def control_dependencies(control_inputs: Iterable[Any] | None) -> AbstractContextManager[None]:
    """Make new operations wait for `control_inputs`. None clears the outer blocks' dependencies."""
    return graphs.get_default_graph().control_dependencies(control_inputs)


def add_to_collection(name: Any, value: Any) -> None:
    """Add a value to a collection of the default graph.

    Raises:
        RuntimeError: the graph is finalized.
    """
    graphs.get_default_graph().add_to_collection(name, value)


def add_to_collections(names: Any, value: Any) -> None:
    """Add a value to several collections, once to each."""
    graphs.get_default_graph().add_to_collections(names, value)


def get_collection(key: Any, scope: str | None = None) -> list[Any]:
    """Return a list of the members of a collection of the default graph, in their order.

    `scope` is a regular expression that the names of the members must match from their start.
    Members without a name are left out then. Without such a collection, the list is empty.
    """
    return graphs.get_default_graph().get_collection(key, scope)


def get_collection_ref(key: Any) -> list[Any]:
    """Return the list that holds a collection. Changing the list changes the collection."""
    return graphs.get_default_graph().get_collection_ref(key)
