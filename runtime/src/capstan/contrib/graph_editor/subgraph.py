"""Views of parts of a graph (contrib/graph_editor/subgraph.py)."""

import copy
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Self

from capstan.contrib.graph_editor import elements, filters, walks
from capstan.framework import graph as graphs

__all__ = ["SubGraphView", "make_view", "make_view_from_scope"]


class SubGraphView:
    """Some operations of a graph, the tensors that enter them, and the tensors that leave them.

    A view changes nothing in the graph. Inputs may be left out or put in another order, and outputs
    may also be repeated: the view then stands for a function of these inputs. A tensor that no
    operation of the view reads or produces is a passthrough: it is an input and an output at once.

    The functions that change a graph also change the views that they are given. Another change of
    the graph leaves a view as it is.
    """

    def __init__(self, inside_ops: Any = (), passthrough_ts: Any = ()) -> None:
        """Make a view of operations. Tensors that are connected to the operations are ignored.

        Raises:
            TypeError: the arguments are not lists of operations and of tensors.
            ValueError: they belong to different graphs.
        """
        self._ops = elements.make_list_of_op(inside_ops)
        tensors = elements.make_list_of_t(passthrough_ts)
        self._graph = elements.get_unique_graph([*self._ops, *tensors], none_if_empty=True)
        inputs, outputs, inside = filters.compute_boundary_ts(self._ops)
        connected = {*inputs, *outputs, *inside}
        self._passthrough_ts = [t for t in tensors if t not in connected]
        self._input_ts = inputs + self._passthrough_ts
        self._output_ts = outputs + self._passthrough_ts

    def __copy__(self) -> Self:
        made = type(self).__new__(type(self))
        made._assign_from(self)
        return made

    def _assign_from(self, other: "SubGraphView") -> None:
        """Make this a view of what `other` is a view of."""
        if not isinstance(other, SubGraphView):
            raise TypeError(f"Expected SubGraphView, got: {type(other)}")
        self._graph = other._graph
        self._ops = list(other._ops)
        self._passthrough_ts = list(other._passthrough_ts)
        self._input_ts = list(other._input_ts)
        self._output_ts = list(other._output_ts)

    def copy(self) -> Self:
        """Return another view of the same operations. The operations are not copied."""
        return copy.copy(self)

    def remap_default(self, remove_input_map: bool = True, remove_output_map: bool = True) -> Self:
        """Return a view with all inputs, and all outputs, in their original order."""
        made = self.copy()
        inputs, outputs, _ = filters.compute_boundary_ts(self._ops)
        if remove_input_map:
            made._input_ts = inputs + self._passthrough_ts
        if remove_output_map:
            made._output_ts = outputs + self._passthrough_ts
        return made

    def remap_inputs(self, new_input_indices: Iterable[Any]) -> Self:
        """Return a view with some of the inputs, given by their indices or as tensors.

        Raises:
            ValueError: the view has no such input, or an input is repeated.
        """
        return self.remap(new_input_indices=new_input_indices)

    def remap_outputs(self, new_output_indices: Iterable[Any]) -> Self:
        """Return a view with some of the outputs, given by their indices or as tensors.

        Raises:
            ValueError: the view has no such output.
        """
        return self.remap(new_output_indices=new_output_indices)

    def remap(
        self,
        new_input_indices: Iterable[Any] | None = None,
        new_output_indices: Iterable[Any] | None = None,
    ) -> Self:
        """Return a view with the inputs and the outputs of `remap_inputs` and `remap_outputs`.

        None leaves them as they are.
        """
        made = self.copy()
        if new_input_indices is not None:
            made._input_ts = _chosen(new_input_indices, self._input_ts)
            if len(set(made._input_ts)) < len(made._input_ts):
                names = [t.name for t in made._input_ts]
                raise ValueError(f"Found repetition in mapping: {names}")
        if new_output_indices is not None:
            made._output_ts = _chosen(new_output_indices, self._output_ts)
        return made

    def remap_outputs_make_unique(self) -> Self:
        """Return a view that has each of the outputs once."""
        made = self.copy()
        made._output_ts = list(dict.fromkeys(self._output_ts))
        return made

    def remap_outputs_to_consumers(self) -> Self:
        """Return a view that has each of the outputs as often as operations read it."""
        made = self.remap_outputs_make_unique()
        made._output_ts = [t for t in made._output_ts for _ in t.consumers()]
        return made

    def remove_unused_ops(self, control_inputs: bool = True) -> Self:
        """Return a view without operations that are connected to no input and no output.

        Control inputs connect operations if `control_inputs`.
        """
        made = self.copy()
        used = set(
            walks.get_walks_union_ops(
                self.connected_inputs,
                self.connected_outputs,
                within_ops=self._ops,
                control_inputs=control_inputs,
            )
        )
        made._ops = [op for op in self._ops if op in used]
        return made

    def find_op_by_name(self, op_name: str) -> Any:
        """Return the operation of this name. Raise ValueError if the view has none."""
        for op in self._ops:
            if op.name == op_name:
                return op
        raise ValueError(f"{op_name} not in subgraph.")

    def __str__(self) -> str:
        if not self:
            return "SubGraphView: empty"
        passing = set(self._passthrough_ts)
        lines = [f"SubGraphView (graphid={id(self.graph)}):"]
        for what, each in (
            ("ops", self._ops), ("inputs", self._input_ts), ("outputs", self._output_ts),
        ):  # fmt: skip
            lines.append(f"** {what}[{len(each)}]:" if each else f"** {what}: empty")
            lines += [f"  {one.name}{' *' if one in passing else ''}" for one in each]
        return "\n".join([*lines, ""])

    @property
    def graph(self) -> Any:
        """The graph, or None if the view is empty."""
        return self._graph

    @property
    def ops(self) -> list[Any]:
        return self._ops

    @property
    def inputs(self) -> elements.ListView:
        return elements.ListView(self._input_ts)

    @property
    def connected_inputs(self) -> list[Any]:
        """The inputs that operations of the view read."""
        passing = set(self._passthrough_ts)
        return [t for t in self._input_ts if t not in passing]

    @property
    def outputs(self) -> elements.ListView:
        return elements.ListView(self._output_ts)

    @property
    def connected_outputs(self) -> list[Any]:
        """The outputs that operations of the view produce."""
        passing = set(self._passthrough_ts)
        return [t for t in self._output_ts if t not in passing]

    @property
    def passthroughs(self) -> elements.ListView:
        """The tensors that no operation of the view reads or produces."""
        return elements.ListView(self._passthrough_ts)

    def __bool__(self) -> bool:
        return self._graph is not None

    def op(self, op_id: int) -> Any:
        """Return the operation at an index of `ops`."""
        return self._ops[op_id]

    def is_passthrough(self, t: Any) -> bool:
        return t in self._passthrough_ts

    def __enter__(self) -> Self:
        """Return the view, for blocks that show how long it is used."""
        return self

    def __exit__(self, *exc_info: object) -> None: ...

    def input_index(self, t: Any) -> int:
        """Return the index of an input. Raise ValueError if the view has no such input."""
        return _index(t, self._input_ts, "inputs")

    def output_index(self, t: Any) -> int:
        """Return the index of an output. Raise ValueError if the view has no such output."""
        return _index(t, self._output_ts, "outputs")

    def consumers(self) -> list[Any]:
        """Return the operations outside of the view that read its outputs."""
        within = set(self._ops)
        reading = dict.fromkeys(op for t in self._output_ts for op in t.consumers())
        return [op for op in reading if op not in within]


def _chosen(indices: Iterable[Any], tensors: Sequence[Any]) -> list[Any]:
    """Return tensors that are given by their indices or as they are."""
    found = []
    for each in indices:
        index = each if isinstance(each, int) else _index(each, tensors, "tensors")
        if not 0 <= index < len(tensors):
            raise ValueError(f"Out of [0, {len(tensors)}[ range: {index}")
        found.append(tensors[index])
    return found


def _index(tensor: Any, tensors: Sequence[Any], what: str) -> int:
    if tensor not in tensors:
        names = [each.name for each in tensors]
        raise ValueError(f"Can't find {tensor.name} in the {what} of the subgraph, {names}")
    return tensors.index(tensor)


def make_view(
    *args: Any, graph: Any = None, positive_filter: Callable[[Any], Any] | None = None
) -> SubGraphView:
    """Return a view of operations, with tensors that pass through.

    The arguments are those of `select_ops_and_ts`, or one view, which is returned itself.

    Raises:
        TypeError: an argument has another type.
        ValueError: the operations belong to another graph than `graph`, or to different ones.
    """
    if len(args) == 1 and isinstance(args[0], SubGraphView):
        view = args[0]
    else:
        chosen = filters.select_ops_and_ts(*args, graph=graph, positive_filter=positive_filter)
        view = SubGraphView(*chosen)
    if graph is not None and view:
        if not isinstance(graph, graphs.Graph):
            raise TypeError(f"Expected a tf.Graph, got: {type(graph)}")
        if view.graph is not graph:
            raise ValueError("Graph mismatch: the subgraph belongs to another graph")
    return view


def make_view_from_scope(scope: str, graph: graphs.Graph) -> SubGraphView:
    """Return a view of the operations in a name scope."""
    return SubGraphView(filters.get_name_scope_ops(graph, scope))
