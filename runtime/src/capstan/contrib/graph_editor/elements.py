"""Lists of the operations and tensors of one graph (contrib/graph_editor/util.py)."""

from collections.abc import Iterable, Iterator
from typing import Any

from capstan.framework import graph as graphs

__all__ = [
    "ListView", "check_graphs", "concatenate_unique", "get_consuming_ops", "get_generating_ops",
    "get_tensors", "get_unique_graph", "is_iterable", "make_list_of_op", "make_list_of_t",
]  # fmt: skip


class ListView:
    """A list that cannot be changed through this object. It shows later changes of the list."""

    def __init__(self, list_: list[Any]) -> None:
        if not isinstance(list_, list):
            raise TypeError(f"Expected a list, got: {type(list_)}.")
        self._list = list_

    def __iter__(self) -> Iterator[Any]:
        return iter(self._list)

    def __len__(self) -> int:
        return len(self._list)

    def __bool__(self) -> bool:
        return bool(self._list)

    def __getitem__(self, i: Any) -> Any:
        return self._list[i]

    def __add__(self, other: Iterable[Any]) -> list[Any]:
        return [*self._list, *other]


def concatenate_unique(la: list[Any], lb: Iterable[Any]) -> list[Any]:
    """Add the elements of `lb` that `la` lacks to `la`, in their order. Return `la`."""
    known = set(la)
    la.extend(each for each in dict.fromkeys(lb) if each not in known)
    return la


def is_iterable(obj: Any) -> bool:
    """Return whether `obj` can be iterated over. Tensors cannot."""
    if isinstance(obj, graphs.Tensor):
        return False
    try:
        iter(obj)
    except TypeError:
        return False
    return True


def check_graphs(*args: Any) -> None:
    """Check that all arguments that have a graph have the same one.

    Raises:
        ValueError: an argument belongs to another graph.
    """
    first = None
    for i, each in enumerate(args):
        if first is None:
            first = each.graph
        elif each.graph is not None and each.graph is not first:
            raise ValueError(f"Argument[{i}]: Wrong graph! It belongs to another graph")


def get_unique_graph(tops: Any, check_types: Any = None, none_if_empty: bool = False) -> Any:
    """Return the graph of all operations and tensors of `tops`, or `tops` if it is a graph.

    `check_types` is a type or several, by default Operation and Tensor. If `none_if_empty`, the
    graph of an empty list is None.

    Raises:
        TypeError: `tops` is not a list, or an element has another type.
        ValueError: the elements belong to different graphs, or the list is empty.
    """
    if isinstance(tops, graphs.Graph):
        return tops
    if not is_iterable(tops):
        raise TypeError(f"{type(tops)} is not iterable")
    types = (graphs.Operation, graphs.Tensor) if check_types is None else check_types
    types = tuple(types) if is_iterable(types) else (types,)
    first = None
    for each in tops:
        if not isinstance(each, types):
            names = ", ".join(map(str, types))
            raise TypeError(f"Expected a type in ({names}), got: {type(each)}")
        if first is None:
            first = each.graph
        elif each.graph is not first:
            raise ValueError(f"Operation {each} does not belong to given graph")
    if first is None and not none_if_empty:
        raise ValueError("Can't find the unique graph of an empty list")
    return first


def make_list_of_op(
    ops: Any, check_graph: bool = True, allow_graph: bool = True, ignore_ts: bool = False
) -> list[Any]:
    """Return the operations of `ops`: a list of operations, one operation, or a graph.

    Raises:
        TypeError: an element is neither an operation, nor a tensor that `ignore_ts` allows. Or
            `ops` is a graph, and `allow_graph` is false.
        ValueError: the elements belong to different graphs. This is checked if `check_graph`.
    """
    if isinstance(ops, graphs.Graph):
        if not allow_graph:
            raise TypeError("allow_graph is False: cannot convert a tf.Graph.")
        return ops.get_operations()
    types = None if ignore_ts else graphs.Operation
    return _listed(ops, types if check_graph else object, graphs.Operation)


def make_list_of_t(
    ts: Any, check_graph: bool = True, allow_graph: bool = True, ignore_ops: bool = False
) -> list[Any]:
    """Return the tensors of `ts`: a list of tensors, one tensor, or a graph.

    Raises:
        TypeError: an element is neither a tensor, nor an operation that `ignore_ops` allows. Or
            `ts` is a graph, and `allow_graph` is false.
        ValueError: the elements belong to different graphs. This is checked if `check_graph`.
    """
    if isinstance(ts, graphs.Graph):
        if not allow_graph:
            raise TypeError("allow_graph is False: cannot convert a tf.Graph.")
        return get_tensors(ts)
    types = None if ignore_ops else graphs.Tensor
    return _listed(ts, types if check_graph else object, graphs.Tensor)


def _listed(given: Any, types: Any, kind: type) -> list[Any]:
    """Return the elements of the type `kind`. Elements of the type object are not checked."""
    elements = list(given) if is_iterable(given) else [given]
    if elements and types is not object:
        get_unique_graph(elements, check_types=types)
    return [each for each in elements if isinstance(each, kind)]


def get_tensors(graph: Any) -> list[Any]:
    """Return all tensors of a graph. Raise TypeError if `graph` is not a graph."""
    if not isinstance(graph, graphs.Graph):
        raise TypeError(f"Expected a graph, got: {type(graph)}")
    return [tensor for op in graph.get_operations() for tensor in op.outputs]


def get_generating_ops(ts: Any) -> list[Any]:
    """Return the operation of each tensor. Raise TypeError if an element is not a tensor."""
    return [tensor.op for tensor in make_list_of_t(ts, allow_graph=False)]


def get_consuming_ops(ts: Any) -> list[Any]:
    """Return the operations that read tensors. Raise TypeError if an element is not a tensor."""
    tensors = make_list_of_t(ts, allow_graph=False)
    return list(dict.fromkeys(op for tensor in tensors for op in tensor.consumers()))
