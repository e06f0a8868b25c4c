"""Parameters and values of distributions, with their checks (python/ops/distributions/util.py).

A check that can be made while the graph is built raises its error there. Any other check ends the
step with an InvalidArgumentError.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from capstan.api import check_ops, check_ranks, check_types, control_flow_ops, nn, reduce_ops
from capstan.api.scoped import scoped
from capstan.core import dtypes
from capstan.framework import convert
from capstan.framework.raw import raw


def floats(checks: Sequence[Any], **values: Any) -> list[Any]:
    """Return copies of the values, which are available once the checks have run.

    The keywords name the operations.

    Raises:
        ValueError: the values do not have one floating-point dtype.
    """
    tensors = []
    for name, value in values.items():
        tensor = convert.convert_to_tensor(value, name=name)
        with tensor.graph.control_dependencies(checks):
            tensors.append(raw.Identity(tensor, name=name))
    check_types.assert_same_float_dtype(tensors)
    return tensors


def positive(value: Any, name: str, message: str, *, validate_args: bool) -> Any:
    """Return the value as a tensor. With `validate_args`, a check requires positive numbers."""
    tensor = convert.convert_to_tensor(value, name=name)
    if not validate_args:
        return tensor
    check = check_ops.assert_positive(tensor, message=message)
    return control_flow_ops.with_dependencies([check], tensor)


def above_one(value: Any, limits: Sequence[tuple[Any, str]], *, allow_nan_stats: bool) -> Any:
    """Return a statistic that is defined only where the tensors of `limits` are above 1.

    It is NaN elsewhere. Without `allow_nan_stats`, a check with the message of a limit requires
    that the tensor of the limit is above 1.
    """
    if not allow_nan_stats:
        one = value.dtype.as_numpy_dtype(1)
        asserted = [check_ops.assert_less(one, each, message=text) for each, text in limits]
        return control_flow_ops.with_dependencies(asserted, value)
    nan = value.dtype.as_numpy_dtype(np.nan)
    for each, _ in limits:
        value = raw.SelectV2(raw.Greater(each, 1.0), value, nan)
    return value


def whole(value: Any, target: dtypes.DType) -> Any:
    """Return a value with checks that its elements are non-negative integers of dtype `target`."""
    asserted = [check_ops.assert_non_negative(value, message="Elements must be non-negative.")]
    if value.dtype.is_floating:
        message = f"Elements must be {target.name}-equivalent."
        asserted.append(_unchanged_as(value, target, message))
    else:
        largest = 1 if target is dtypes.bool_ else target.max
        if value.dtype.max > largest:
            message = f"Elements cannot exceed {largest}."
            asserted.append(check_ops.assert_less_equal(value, largest, message=message))
    return control_flow_ops.with_dependencies(asserted, value)


def counts(value: Any) -> Any:
    """Return a value with checks that its elements are non-negative whole numbers."""
    name = value.name
    asserted = [check_ops.assert_non_negative(value, message=f"'{name}' must be non-negative.")]
    if not value.dtype.is_integer:
        wide = value.dtype.base_dtype is dtypes.float64
        message = f"'{name}' cannot contain fractional components."
        asserted.append(_unchanged_as(value, dtypes.int64 if wide else dtypes.int32, message))
    return control_flow_ops.with_dependencies(asserted, value)


def _unchanged_as(value: Any, target: dtypes.DType, message: str) -> Any:
    there = raw.Cast(value, DstT=target)
    back = raw.Cast(there, DstT=value.dtype.base_dtype)
    return check_ops.assert_equal(value, back, message=message)


def classes(parameter: Any) -> Any:
    """Return a parameter of shape [..., classes], with checks that it has at least 2 classes.

    Raises:
        ValueError: the static shape has no axis, fewer than 2 classes, or more classes than its
            floating-point dtype can count.
    """
    kind = parameter.dtype.base_dtype
    most = 2 ** (np.finfo(kind.as_numpy_dtype).nmant + 1)
    if parameter.shape.ndims == 0:
        raise ValueError("A categorical-distribution parameter must have at least 1 dimension.")
    known = None if parameter.shape.ndims is None else parameter.shape.as_list()[-1]
    too_few = "A categorical-distribution parameter must have at least 2 events."
    if known is not None:
        if known < 2:
            raise ValueError(too_few)
        if known > most:
            raise ValueError(
                f"Number of classes exceeds `dtype` precision, i.e., {kind.name} implies shape "
                f"({known}) cannot exceed {most}."
            )
        return parameter
    count = raw.Shape(parameter)[-1]
    too_many = f"Number of classes exceeds `dtype` precision: {kind.name} cannot exceed {most}."
    asserted = [
        check_ranks.assert_rank_at_least(parameter, 1),
        check_ops.assert_greater_equal(count, 2, message=too_few),
        check_ops.assert_less_equal(count, most, message=too_many),
    ]
    return control_flow_ops.with_dependencies(asserted, parameter)


def logits_and_probs(
    logits: Any, probs: Any, *, of_classes: bool, validate_args: bool
) -> tuple[Any, Any]:
    """Return log-odds and probabilities, of which a program gives one.

    With `of_classes`, the last axis has the classes of one variable. Else each element is the
    probability of an event of its own.

    Raises:
        ValueError: both are given, or none.
        TypeError: the value that is given is not of a floating-point dtype.
    """
    if (probs is None) == (logits is None):
        raise ValueError("Must pass probs or logits, but not both.")
    if probs is None:
        logits = _floating(logits, "logits")
        if of_classes:
            logits = classes(logits) if validate_args else logits
            return logits, nn.softmax(logits, name="probs")
        return logits, raw.Sigmoid(logits, name="probs")
    probs = _floating(probs, "probs")
    if validate_args:
        probs = _probabilities(probs, of_classes=of_classes)
    with scoped(None, "logits"):
        logits = raw.Log(probs)
        return (logits if of_classes else logits - raw.Log1p(-probs)), probs


def _floating(value: Any, name: str) -> Any:
    tensor = convert.convert_to_tensor(value, name=name)
    if not tensor.dtype.is_floating:
        raise TypeError(f"{name} must having floating type.")
    return tensor


def _probabilities(probs: Any, *, of_classes: bool) -> Any:
    with scoped(None, "validate_probs"):
        asserted = [check_ops.assert_non_negative(probs)]
        if of_classes:
            probs = classes(probs)
            total = reduce_ops.reduce_sum(probs, -1)
            message = "probs does not sum to 1."
            asserted.append(check_types.assert_near(total, 1.0, message=message))
        else:
            message = "probs has components greater than 1."
            asserted.append(check_ops.assert_less_equal(probs, 1.0, message=message))
        return control_flow_ops.with_dependencies(asserted, probs)
