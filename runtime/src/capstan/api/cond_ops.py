"""Functions that run one of several parts of a graph (python/ops/control_flow_ops.py)."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from capstan.api import control_flow_ops, functional_branches, reduce_ops
from capstan.api.scoped import scoped
from capstan.core import dtypes
from capstan.framework import (
    array_flows,
    body_graph,
    collections,
    cond_context,
    convert,
    indexed_slices,
    nest,
)
from capstan.framework import graph as graphs
from capstan.framework.raw import raw

__all__ = ["case", "cond"]

_Function = Callable[[], Any]


def cond(
    pred: Any,
    true_fn: _Function | None = None,
    false_fn: _Function | None = None,
    strict: bool = False,
    name: str | None = None,
    fn1: _Function | None = None,
    fn2: _Function | None = None,
) -> Any:
    """Return the result of `true_fn` or `false_fn`. In each step, `pred` selects the function.

    `cond` calls each function once, and the function builds a part of the graph. A step runs only
    the selected part. Tensors that a function uses from outside are computed in either case. Both
    functions return tensors, values, operations, TensorArrays, IndexedSlices, SparseTensors, or a
    nest of these, with the same structure and dtypes. In the result, a boolean tensor replaces an
    operation. A list or tuple with one element is unpacked unless `strict` is true or control flow
    v2 is enabled. `fn1` and `fn2` are older names of the functions.

    Raises:
        TypeError: `pred` is a Python bool or is not boolean, a function is missing or not
            callable, or the results have different structures.
        ValueError: a function returns nothing, or the results have different dtypes, lengths or
            keys.
    """
    true_fn = _function("true_fn", true_fn, "fn1", fn1)
    false_fn = _function("false_fn", false_fn, "fn2", fn2)
    if body_graph.is_functional(graphs.get_default_graph()):
        return functional_branches.cond(pred, true_fn, false_fn, name)
    if isinstance(pred, bool):
        raise TypeError("'pred' must not be a Python bool.")
    with scoped(name, "cond", (pred,)):
        off, on = raw.Switch(pred, pred)
        pivots = {
            True: raw.Identity(on, name="switch_t"),
            False: raw.Identity(off, name="switch_f"),
        }
        chosen = raw.Identity(pred, name="pred_id")
        for tensor in (off, *pivots.values(), chosen):
            tensor.graph.prevent_fetching(tensor.op)
        on_true = cond_context.CondContext(chosen, pivots[True], True)
        true_result, true_tensors = _built(on_true, true_fn, "true_fn", strict)
        on_false = cond_context.CondContext(chosen, pivots[False], False)
        false_result, false_tensors = _built(on_false, false_fn, "false_fn", strict)
        nest.check_same(true_result, false_result, composites=True)
        _widen_indices((on_true, true_tensors), (on_false, false_tensors), true_result)
        if not true_tensors:
            raise ValueError("'true_fn' and 'false_fn' must return at least one result.")
        _check_types(true_tensors, false_tensors)
        merged = [
            raw.Merge([if_false, if_true])[0]
            for if_false, if_true in zip(false_tensors, true_tensors, strict=True)
        ]
        if on_true.outer is None:
            for side in (on_true, on_false):
                side.graph.add_to_collection(collections.GraphKeys.COND_CONTEXT, side)
        old = nest.flatten(true_result, composites=True)
        leaves = array_flows.with_flows(old, merged)
        return nest.packed(true_result, leaves, composites=True)


def _function(
    name: str, given: _Function | None, old_name: str, old: _Function | None
) -> _Function:
    if old is not None:
        if given is not None:
            raise TypeError(f"cond(): '{name}' and '{old_name}' may not be set simultaneously.")
        given = old
    if given is None:
        raise TypeError(f"cond(): '{name}' argument required")
    if not callable(given):
        raise TypeError(f"'{name}' must be callable.")
    return given


def _built(
    side: cond_context.CondContext, function: _Function, name: str, strict: bool
) -> tuple[Any, list[graphs.Tensor]]:
    """Build one branch. Return the result of `function`, and a tensor for each of its leaves."""
    with side.entered():
        result = function()
        if result is None:
            raise ValueError(f"'{name}' must have a return value.")
        if not strict and isinstance(result, list | tuple) and len(result) == 1:
            (result,) = result
        tensors = [_out_of(side, leaf) for leaf in nest.flatten(result, composites=True)]
        side.left(tensors)
        return result, tensors


def _out_of(side: cond_context.CondContext, leaf: Any) -> graphs.Tensor:
    if isinstance(leaf, graphs.Operation):
        pivot_after: graphs.Tensor = control_flow_ops.with_dependencies([leaf], side.pivot)
        return pivot_after
    return side.admit(convert.convert_to_tensor(array_flows.flow_of(leaf)))


def _widen_indices(
    on_true: tuple[cond_context.CondContext, list[graphs.Tensor]],
    on_false: tuple[cond_context.CondContext, list[graphs.Tensor]],
    result: Any,
) -> None:
    """Cast indices of IndexedSlices to int64 if the branches have indices of different types."""
    place = 0
    for leaf in nest.flatten(result):
        parts = nest.flatten(leaf, composites=True)
        if isinstance(leaf, indexed_slices.IndexedSlices):
            at = place + next(n for n, part in enumerate(parts) if part is leaf.indices)
            if on_true[1][at].dtype is not on_false[1][at].dtype:
                for side, tensors in (on_true, on_false):
                    with side.entered():
                        tensors[at] = raw.Cast(tensors[at], DstT=dtypes.int64)
                        side.left([tensors[at]])
        place += len(parts)


def _check_types(
    true_tensors: Sequence[graphs.Tensor], false_tensors: Sequence[graphs.Tensor]
) -> None:
    for on_true, on_false in zip(true_tensors, false_tensors, strict=True):
        if on_true.dtype.base_dtype is not on_false.dtype.base_dtype:
            raise ValueError(
                "Outputs of 'true_fn' and 'false_fn' must have the same type(s). Received "
                f"{on_true.dtype.name} from 'true_fn' and {on_false.dtype.name} from 'false_fn'."
            )


def case(
    pred_fn_pairs: Any,
    default: _Function | None = None,
    exclusive: bool = False,
    strict: bool = False,
    name: str = "case",
) -> Any:
    """Return the result of the first function whose predicate holds.

    If no predicate holds, return the result of `default`. `pred_fn_pairs` is a list of pairs or a
    dictionary. With `exclusive`, the step fails if more than one predicate holds. Without
    `default`, the step fails if no predicate holds.

    Raises:
        TypeError: `pred_fn_pairs` does not hold pairs, a predicate is not a boolean tensor, or a
            function is not callable.
        ValueError: `pred_fn_pairs` is empty.
    """
    pairs = _pairs(pred_fn_pairs)
    if default is not None and not callable(default):
        raise TypeError("default must be callable.")
    with scoped(name, "case", [pred for pred, _ in pairs]):
        checks = [_at_most_one([pred for pred, _ in pairs])] if exclusive else []
        if default is None:
            *pairs, (last, function) = pairs
            default = _checked(last, [pred for pred, _ in pairs], function)
        chosen = default
        for pred, function in reversed(pairs):
            chosen = _either(pred, function, chosen, strict)
        with graphs.get_default_graph().control_dependencies(checks):
            return chosen()


def _pairs(given: Any) -> list[tuple[Any, _Function]]:
    if not isinstance(given, list | tuple | Mapping):
        raise TypeError(f"'pred_fn_pairs' must be a list, tuple, or dict. Received: {type(given)}")
    pairs = list(given.items() if isinstance(given, Mapping) else given)
    if not pairs:
        raise ValueError("'pred_fn_pairs' must not be empty.")
    for pair in pairs:
        if not isinstance(pair, tuple) or len(pair) != 2:
            raise TypeError(f"Each entry in 'pred_fn_pairs' must be a 2-tuple. Received {pair}.")
        pred, function = pair
        if not isinstance(pred, graphs.Tensor):
            raise TypeError(f"pred must be a Tensor, got: {pred}")
        if pred.dtype is not dtypes.bool_:
            raise TypeError(f"pred must be of type bool: {pred.name}")
        if not callable(function):
            raise TypeError(f"fn for pred {pred.name} must be callable.")
    return pairs


def _either(pred: Any, function: _Function, other: _Function, strict: bool) -> _Function:
    return lambda: cond(pred, true_fn=function, false_fn=other, strict=strict)


def _checked(pred: Any, earlier: Sequence[Any], function: _Function) -> _Function:
    """Return a function that asserts `pred` and then calls `function`.

    In a `case` without default, the returned function is the branch that runs if no predicate in
    `earlier` holds.
    """

    def last() -> Any:
        message = (
            "None of the conditions evaluated as True. Conditions: "
            f"({', '.join(tensor.name for tensor in (*earlier, pred))}), Values:"
        )
        values = raw.Pack([*earlier, pred], name="preds_c")
        check = control_flow_ops.Assert(pred, [message, values], summarize=len(earlier) + 1)
        result = function()
        with check.graph.control_dependencies([check]):
            return nest.mapped(_after, result, composites=True)

    return last


def _after(leaf: Any) -> Any:
    """Return a copy of `leaf` that waits for the current control dependencies."""
    return (
        control_flow_ops.group(leaf) if isinstance(leaf, graphs.Operation) else raw.Identity(leaf)
    )


def _at_most_one(preds: Sequence[Any]) -> graphs.Operation:
    values = raw.Pack(list(preds), name="preds_c")
    count = reduce_ops.reduce_sum(raw.Cast(values, DstT=dtypes.int32), name="num_true_conds")
    message = (
        "More than one condition evaluated as True but exclusive=True. Conditions: "
        f"({', '.join(pred.name for pred in preds)}), Values:"
    )
    return control_flow_ops.Assert(raw.LessEqual(count, 1), [message, values], summarize=len(preds))
