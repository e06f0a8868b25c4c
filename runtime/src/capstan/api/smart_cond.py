"""Conditionals that are decided while the graph is built, if they can be.

The behaviour follows python/framework/smart_cond.py of TensorFlow 1.15. The functions are not names
of `tf`: programs import them from `python.framework.smart_cond` or `tf.contrib.framework`.
"""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from capstan.api import cond_ops
from capstan.core import dtypes
from capstan.core.arrays import Array
from capstan.executor import fold
from capstan.framework import convert, opdef
from capstan.framework import graph as graphs

__all__ = ["smart_case", "smart_cond", "smart_constant_value"]

_Function = Callable[[], Any]


def smart_cond(
    pred: Any,
    true_fn: _Function | None = None,
    false_fn: _Function | None = None,
    name: str | None = None,
) -> Any:
    """Return the result of `true_fn` or `false_fn`, or a `tf.cond` of both.

    `pred` is True, False, 1, 0, or a tensor or variable with one boolean. If its value is not known
    while the graph is built, the result is that of `tf.cond`.

    Raises:
        TypeError: a function cannot be called, or `pred` is something else.
    """
    if true_fn is None or not callable(true_fn):
        raise TypeError("`true_fn` must be callable.")
    if false_fn is None or not callable(false_fn):
        raise TypeError("`false_fn` must be callable.")
    value = smart_constant_value(pred)
    if value is None:
        return cond_ops.cond(pred, true_fn, false_fn, name=name)
    return true_fn() if value else false_fn()


def smart_constant_value(pred: Any) -> bool | None:
    """Return the value of `pred`, or None if it is a tensor whose value is not known.

    The value of a tensor is known if operations without state compute it from constants.

    Raises:
        TypeError: `pred` is not True, False, 1, 0, a tensor or a variable.
    """
    if isinstance(pred, graphs.Tensor) or hasattr(pred, "_as_graph_element"):
        value = evaluated(convert.convert_to_tensor(pred))
        return None if value is None else bool(value)
    if isinstance(pred, bool | int | np.bool_) and pred in (0, 1):
        return bool(pred)
    raise TypeError(f"`pred` must be a Tensor, or a Python bool, or 1 or 0. Found instead: {pred}")


def evaluated(tensor: graphs.Tensor) -> Array | None:
    """Return the value of a tensor if operations without state compute it from constants."""
    return _evaluated(tensor, {})


def _evaluated(tensor: graphs.Tensor, known: dict[graphs.Tensor, Array | None]) -> Array | None:
    """Return the value of a tensor that is computed from constants, or None.

    `known` holds the results for the tensors that were visited before.
    """
    if tensor in known:
        return known[tensor]
    value = known[tensor] = convert.constant_value(tensor)
    op = tensor.op
    if value is not None or not _is_computed(op):
        return value
    inputs = [_evaluated(source, known) for source in op.inputs]
    values = [each for each in inputs if each is not None]
    if len(values) == len(inputs) and (outputs := fold.evaluate(op.node, values)) is not None:
        known.update(zip(op.outputs, outputs, strict=True))
    return known[tensor]


def _is_computed(op: graphs.Operation) -> bool:
    """Return whether the inputs of an operation alone decide its outputs in every step."""
    if not opdef.is_defined(op.type) or op.control_inputs:
        return False
    row = opdef.lookup(op.type)
    return bool(row.is_pure and row.input_arguments)


def smart_case(
    pred_fn_pairs: Any,
    default: _Function | None = None,
    exclusive: bool = False,
    name: str = "smart_case",
) -> Any:
    """Return the result of the function of the first true predicate, or of `default`.

    `pred_fn_pairs` is a dictionary or a list of pairs of a predicate and a function. A predicate is
    one of `smart_cond`. Predicates whose value is known are decided while the graph is built. If
    the others decide, the result is that of `tf.case`.

    Raises:
        TypeError: `pred_fn_pairs` does not hold such pairs.
        ValueError: no predicate can be true, and there is no `default`.
    """
    pairs = list(pred_fn_pairs.items() if isinstance(pred_fn_pairs, Mapping) else pred_fn_pairs)
    possible = []
    for pred, function in pairs:
        value = smart_constant_value(pred)
        if value is not False:
            possible.append((pred, function))
        if value and not exclusive:
            default = possible.pop()[1]
            break
    if possible:
        tensors = [(convert.convert_to_tensor(pred, dtypes.bool_), fn) for pred, fn in possible]
        return cond_ops.case(tensors, default, exclusive, name=name)
    if default is None:
        raise ValueError(f"{name}: no predicate is true, and there is no default function.")
    return default()
