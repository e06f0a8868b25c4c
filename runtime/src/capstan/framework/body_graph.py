"""The body of a branch or of a loop that is a function: control flow v2
(`FuncGraph` of python/framework/func_graph.py)."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

from capstan.framework import auto_control_deps, defaults, func_graph
from capstan.framework import graph as graphs


class BodyGraph(func_graph.FuncGraph):
    """A body with the collections, the seed and the device blocks of the graph around it."""

    has_functional_control_flow = True

    def __init__(self) -> None:
        super().__init__()
        outer: Any = self.outer_graph
        self.seed = outer.seed
        self._collections = outer._collections
        self._scopes.devices = outer._scopes.devices
        self._scopes.gradients = outer._scopes.gradients
        self._scopes.container = outer._scopes.container
        self._awaited: dict[graphs.Operation, None] = {}
        self.orders_effects: bool = getattr(outer, "orders_effects", False)
        """Whether operations with effects run in the order in which the program adds them."""

    def order_effects(self) -> None:
        """Order the operations with effects if the body is in a `tf.function`.

        All results must be in `outputs`. No operations may be added later.
        """
        if self.orders_effects:
            self.control_outputs = auto_control_deps.add(self.get_operations())

    @property
    def awaited(self) -> list[graphs.Operation]:
        """The operations of other graphs that operations of the body wait for.

        The call of the function waits for these operations.
        """
        return list(self._awaited)

    @contextmanager
    def control_dependencies(self, control_inputs: Iterable[Any] | None) -> Iterator[None]:
        """Make new operations wait, as `Graph.control_dependencies`. See also `awaited`."""
        if control_inputs is None:
            with super().control_dependencies(None):
                yield
            return
        inside = []
        for value in control_inputs:
            op = getattr(value, "op", value)
            if getattr(op, "graph", self) is self:
                inside.append(value)
            else:
                self._awaited[op] = None
        with super().control_dependencies(inside):
            yield

    @contextmanager
    def colocate_with(self, op: Any, ignore_existing: bool = False) -> Iterator[None]:
        """Place new operations with `op`. If it is outside of the body, use its device."""
        if op is None or getattr(op, "graph", self) is self:
            with super().colocate_with(op, ignore_existing):
                yield
            return
        with super().colocate_with(None, ignore_existing=True), self.device(op.device or None):
            yield


def is_functional(graph: Any) -> bool:
    """Return whether a conditional or a loop in `graph` is built of functions."""
    functional: bool = graph.has_functional_control_flow or defaults.BEHAVIOUR.control_flow_v2
    return functional


def around(graph: Any) -> tuple[Any, AbstractContextManager[Any]]:
    """Return the graph around all bodies that contain `graph`, and a block for its operations.

    In the block, the operations are in the name scope that `graph` has now. If `graph` is not a
    body, return `graph` and a block without effect.
    """
    if not isinstance(graph, BodyGraph):
        return graph, nullcontext()
    scope = graph.get_name_scope()
    while isinstance(graph, BodyGraph):
        graph = graph.outer_graph
    return graph, graph.name_scope(f"{scope}/" if scope else None)


@contextmanager
def init_scope() -> Iterator[None]:
    """Add the operations of a `with` block to the graph around all functions that are being built.

    The block leaves control dependencies, conditionals and loops. It keeps the name scope, and the
    innermost devices that a block has set (python/framework/ops.py).
    """
    graph = graphs.get_default_graph()
    scope = graph.get_name_scope()
    devices = graph._scopes.devices
    while isinstance(graph, func_graph.FuncGraph):
        graph = graph.outer_graph
        devices = devices or graph._scopes.devices
    inner = f"{scope}/" if scope else None
    with graph.as_default(), graph.name_scope(inner), graph.control_dependencies(None):
        outer_devices, graph._scopes.devices = graph._scopes.devices, devices
        try:
            yield
        finally:
            graph._scopes.devices = outer_devices


def outside(make: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that calls `make` in the graph around all bodies.

    In a graph that is not a body, return `make`.
    """
    graph = graphs.get_default_graph()
    if not isinstance(graph, BodyGraph):
        return make

    def made(*args: Any, **kwargs: Any) -> Any:
        around: graphs.Graph = graph
        while isinstance(around, BodyGraph):
            around = around.outer_graph
        creators = around._scopes.creators
        around._scopes.creators = graph._scopes.creators
        try:
            with around.as_default(), around.name_scope(None), around.control_dependencies(None):
                return make(*args, **kwargs)
        finally:
            around._scopes.creators = creators

    return made
