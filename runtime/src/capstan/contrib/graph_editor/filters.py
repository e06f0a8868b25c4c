"""Operations and tensors chosen by name, by a function, or by what they are connected to
(contrib/graph_editor/select.py).

`ops` is a list of operations, one operation, or a graph. A TypeError says that it is none of these.
"""

import re
from collections.abc import Callable
from typing import Any

from capstan.contrib.graph_editor import control_outputs as controls
from capstan.contrib.graph_editor import elements
from capstan.framework import graph as graphs

__all__ = [
    "can_be_regex", "check_cios", "compute_boundary_ts", "filter_ops", "filter_ops_from_regex",
    "filter_ts", "filter_ts_from_regex", "get_name_scope_ops", "get_ops_ios", "make_regex",
    "select_ops", "select_ops_and_ts", "select_ts",
]  # fmt: skip

_OPS, _TS = "(?#ops)", "(?#ts)"
"""A regular expression that begins with such a comment chooses only operations, or tensors."""


def can_be_regex(obj: Any) -> bool:
    """Return whether `obj` is a string or a compiled regular expression."""
    return isinstance(obj, str | re.Pattern)


def make_regex(obj: Any) -> "re.Pattern[str]":
    """Return a compiled regular expression for a string, or for one that is compiled already.

    Raises:
        ValueError: `obj` is something else.
    """
    if not can_be_regex(obj):
        raise ValueError(f"Expected a string or a regex, got: {type(obj)}")
    return re.compile(obj)


def _get_input_ts(ops: Any) -> list[Any]:
    """Return the tensors that operations read, each once."""
    return list(dict.fromkeys(t for op in elements.make_list_of_op(ops) for t in op.inputs))


def _get_output_ts(ops: Any) -> list[Any]:
    """Return the tensors that operations produce."""
    return [t for op in elements.make_list_of_op(ops) for t in op.outputs]


def filter_ts(ops: Any, positive_filter: Any) -> list[Any]:
    """Return the inputs and the outputs of `ops` for which `positive_filter(tensor)` is true.

    If `positive_filter` is True, return all of them.
    """
    tensors = elements.concatenate_unique(_get_input_ts(ops), _get_output_ts(ops))
    return _passing(tensors, positive_filter)


def filter_ts_from_regex(ops: Any, regex: Any) -> list[Any]:
    """Return the inputs and the outputs of `ops` in whose names `regex` is found."""
    found = make_regex(regex).search
    return filter_ts(ops, lambda tensor: found(tensor.name))


def filter_ops(ops: Any, positive_filter: Any) -> list[Any]:
    """Return the operations for which `positive_filter(op)` is true, or all if it is True."""
    return _passing(elements.make_list_of_op(ops), positive_filter)


def filter_ops_from_regex(ops: Any, regex: Any) -> list[Any]:
    """Return the operations in whose names `regex` is found."""
    found = make_regex(regex).search
    return filter_ops(ops, lambda op: found(op.name))


def get_name_scope_ops(ops: Any, scope: str) -> list[Any]:
    """Return the operations whose names are `scope` or begin with it and a slash."""
    return filter_ops_from_regex(ops, f"^{scope.removesuffix('/')}(/.*)?$")


def _passing(each: list[Any], positive_filter: Any) -> list[Any]:
    return each if positive_filter is True else [one for one in each if positive_filter(one)]


def check_cios(
    control_inputs: bool = False, control_outputs: Any = None, control_ios: Any = None
) -> tuple[bool, Any]:
    """Return whether control inputs count, and the ControlOutputs that count, brought up to date.

    `control_ios` is a ControlOutputs and stands for both.

    Raises:
        TypeError: an argument is not a ControlOutputs.
        ValueError: there are both `control_outputs` and `control_ios`.
    """
    if control_ios is not None:
        if control_outputs is not None:
            raise ValueError("control_outputs should be None when using control_ios.")
        control_inputs, control_outputs = True, control_ios
    if control_outputs is not None:
        if not isinstance(control_outputs, controls.ControlOutputs):
            raise TypeError(f"Expected a util.ControlOutputs, got: {type(control_outputs)}")
        control_outputs.update()
    return control_inputs, control_outputs


def get_ops_ios(
    ops: Any, control_inputs: bool = False, control_outputs: Any = None, control_ios: Any = None
) -> list[Any]:
    """Return the operations that operations of `ops` read, or that read them.

    `check_cios` explains the arguments for control inputs.
    """
    control_inputs, control_outputs = check_cios(control_inputs, control_outputs, control_ios)
    found: dict[Any, None] = {}
    for op in elements.make_list_of_op(ops):
        found.update(dict.fromkeys(t.op for t in op.inputs))
        found.update(dict.fromkeys(each for t in op.outputs for each in t.consumers()))
        if control_outputs is not None:
            found.update(dict.fromkeys(control_outputs.get(op)))
        if control_inputs:
            found.update(dict.fromkeys(op.control_inputs))
    return list(found)


def compute_boundary_ts(ops: Any) -> tuple[list[Any], list[Any], list[Any]]:
    """Return the tensors that enter `ops`, those that leave them, and those inside.

    A tensor inside leaves as well if operations outside read it. A tensor that nothing reads
    leaves.
    """
    ops = elements.make_list_of_op(ops)
    entering, leaving = _get_input_ts(ops), _get_output_ts(ops)
    produced, within = set(leaving), set(ops)
    inside = [t for t in entering if t in produced]
    hidden = {t for t in inside if within.issuperset(t.consumers())}
    return (
        [t for t in entering if t not in produced],
        [t for t in leaving if t not in hidden],
        inside,
    )


def select_ops(
    *args: Any,
    graph: Any = None,
    positive_filter: Callable[[Any], Any] | None = None,
    restrict_ops_regex: bool = False,
    restrict_ts_regex: bool = False,
) -> list[Any]:
    """Return the operations that the arguments name, each once.

    An argument is an operation, a list of them, or a regular expression for the names of the
    operations of `graph`. Tensors, and expressions that begin with `(?#ts)`, are ignored. If
    `restrict_ops_regex`, expressions that do not begin with `(?#ops)` are ignored as well. Only
    operations for which `positive_filter` is true are returned.

    Raises:
        TypeError: `graph` is not a graph, or an argument is something else.
        ValueError: there is an expression but no graph.
    """
    return _selected(
        args, graph, positive_filter, _TS, _OPS if restrict_ops_regex else "",
        filter_ops_from_regex, lambda arg: elements.make_list_of_op(arg, ignore_ts=True),
    )  # fmt: skip


def select_ts(
    *args: Any,
    graph: Any = None,
    positive_filter: Callable[[Any], Any] | None = None,
    restrict_ts_regex: bool = False,
    restrict_ops_regex: bool = False,
) -> list[Any]:
    """Return the tensors that the arguments name, each once.

    An argument is a tensor, a list of them, or a regular expression for the names of the tensors of
    `graph`. Operations, and expressions that begin with `(?#ops)`, are ignored. If
    `restrict_ts_regex`, expressions that do not begin with `(?#ts)` are ignored as well. Only
    tensors for which `positive_filter` is true are returned.

    Raises:
        TypeError: `graph` is not a graph, or an argument is something else.
        ValueError: there is an expression but no graph.
    """
    return _selected(
        args, graph, positive_filter, _OPS, _TS if restrict_ts_regex else "",
        filter_ts_from_regex, lambda arg: elements.make_list_of_t(arg, ignore_ops=True),
    )  # fmt: skip


def select_ops_and_ts(
    *args: Any, graph: Any = None, positive_filter: Callable[[Any], Any] | None = None
) -> tuple[list[Any], list[Any]]:
    """Return the operations and the tensors that the arguments name.

    An argument is an argument of `select_ops` or `select_ts`. An expression is for tensors only if
    it begins with `(?#ts)`.
    """
    ops = select_ops(*args, graph=graph, positive_filter=positive_filter)
    ts = select_ts(*args, graph=graph, positive_filter=positive_filter, restrict_ts_regex=True)
    return ops, ts


def _selected(
    args: Any, graph: Any, positive_filter: Any, ignored: str, required: str,
    by_name: Callable[[Any, Any], list[Any]], listed: Callable[[Any], list[Any]],
) -> list[Any]:  # fmt: skip
    if graph is not None and not isinstance(graph, graphs.Graph):
        raise TypeError(f"Expected a tf.Graph, got: {type(graph)}")
    found: dict[Any, None] = {}
    for arg in args:
        if can_be_regex(arg):
            if graph is None:
                raise ValueError("Use the keyword argument 'graph' to use regex.")
            regex = make_regex(arg)
            if regex.pattern.startswith(ignored) or not regex.pattern.startswith(required):
                continue
            found.update(dict.fromkeys(by_name(graph, regex)))
        else:
            found.update(dict.fromkeys(listed(arg)))
    return _passing(list(found), True if positive_filter is None else positive_filter)
