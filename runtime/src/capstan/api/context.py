"""What `with` blocks and functions do to the default graph: names, devices, dependencies,
collections.

Each function here is the `tf.Graph` method of its name, on the default graph
(python/framework/ops.py).
"""

from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager, ExitStack
from types import TracebackType
from typing import Any

from capstan.core import devices
from capstan.framework import graph as graphs


class name_scope:
    """Prefix the names of new operations; the value of the block is the prefix, with a slash.

    `default_name` stands in for a `name` of None. The graph of the tensors in `values` becomes the
    default one in the block.

    Raises:
        ValueError: `values` without a name, tensors of different graphs, or no valid name.
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
        """The name asked for, before it was made unique."""
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
    """Place new operations on a device; inner blocks decide, field by field. See `Graph.device`."""
    return graphs.get_default_graph().device(device_name_or_function)


def container(container_name: str) -> AbstractContextManager[str]:
    """Keep the state of new operations in a container, which `Session.reset` can clear."""
    return graphs.get_default_graph().container(container_name)


def colocate_with(op: Any, ignore_existing: bool = False) -> AbstractContextManager[None]:
    """Place new operations where `op` is. See `Graph.colocate_with`."""
    return graphs.get_default_graph().colocate_with(op, ignore_existing)


def control_dependencies(control_inputs: Iterable[Any] | None) -> AbstractContextManager[None]:
    """Make operations created in the block wait for `control_inputs`; None ignores outer blocks."""
    return graphs.get_default_graph().control_dependencies(control_inputs)


def add_to_collection(name: Any, value: Any) -> None:
    graphs.get_default_graph().add_to_collection(name, value)


def add_to_collections(names: Any, value: Any) -> None:
    """Add to several collections, to each once."""
    graphs.get_default_graph().add_to_collections(names, value)


def get_collection(key: Any, scope: str | None = None) -> list[Any]:
    """Return what is in a collection; with `scope`, what has a name that the pattern matches."""
    return graphs.get_default_graph().get_collection(key, scope)


def get_collection_ref(key: Any) -> list[Any]:
    """Return the live list of a collection, which the caller may change."""
    return graphs.get_default_graph().get_collection_ref(key)
