"""Batches of a random choice of elements (contrib/training/python/training/sampling_ops.py)."""

from collections.abc import Callable, Sequence
from typing import Any

from capstan.api import (
    array_ops,
    check_ops,
    check_types,
    cond_ops,
    control_flow_ops,
    creation_ops,
    gather_ops,
    logic_ops,
    math_ops,
    random_ops,
    reduce_ops,
    scope_block,
    variables,
)
from capstan.api.scoped import scoped
from capstan.core import dtypes, tensor_shape
from capstan.framework import convert
from capstan.framework import graph as graphs
from capstan.train import input_batches

__all__ = ["rejection_sample", "stratified_sample"]

_TOLERANCE = 1e-6
_FIRST_COUNT = 10
"""The number of examples of each class that an estimate begins with."""


def rejection_sample(
    tensors: Sequence[Any],
    accept_prob_fn: Callable[[list[Any]], Any],
    batch_size: Any,
    queue_threads: int = 1,
    enqueue_many: bool = False,
    prebatch_capacity: int = 16,
    prebatch_threads: int = 1,
    runtime_checks: bool = False,
    name: str | None = None,
) -> list[Any]:
    """Return batches of the elements that are accepted.

    `tensors` is a list of the components of an element, or of batches if `enqueue_many` is set. A
    queue with `prebatch_capacity` elements then splits the batches. `accept_prob_fn` gets the
    components of one element, and returns the probability that the element is accepted. With
    `runtime_checks`, a step fails with InvalidArgumentError if it is not between 0 and 1.

    The result is a list with a batch of `batch_size` for each component.

    Raises:
        ValueError: `enqueue_many` is set, and the tensors are not batches of the same size.
    """
    with scope_block.variable_scope(name, "rejection_sample", tensors):
        element = [convert.convert_to_tensor(tensor) for tensor in tensors]
        if enqueue_many:
            for tensor in element:
                _check_batch(tensor, element[0])
            element = _one_by_one(element, prebatch_capacity, prebatch_threads)
        accepted = accept_prob_fn(element)
        if runtime_checks:
            checks = [
                check_ops.assert_less_equal(0.0, accepted),
                check_ops.assert_less_equal(accepted, 1.0),
            ]
            accepted = array_ops.identity(
                control_flow_ops.with_dependencies(checks, accepted), name="prob_with_checks"
            )
        batch = _accepted(element, accepted, batch_size, queue_threads)
        return [batch] if isinstance(batch, graphs.Tensor) else list(batch)


def stratified_sample(
    tensors: Sequence[Any],
    labels: Any,
    target_probs: Any,
    batch_size: Any,
    init_probs: Any = None,
    enqueue_many: bool = False,
    queue_capacity: int = 16,
    threads_per_queue: int = 1,
    name: str | None = None,
) -> tuple[list[Any], Any]:
    """Return batches in which the classes have the probabilities `target_probs`, and their labels.

    `tensors` is a list of the components of an element and `labels` its class, an integer. If
    `enqueue_many` is set, they are batches. The first result is a list with a batch of `batch_size`
    for each component. Elements of classes that are too frequent are dropped. The first steps print
    a line if half of all elements or more are.

    `init_probs` are the probabilities of the classes in the data. By default, a variable
    `class_count` counts the labels to estimate them. It counts whenever an element may be accepted,
    and computes `labels` again for this: if they come from a queue, their elements are lost.

    A step fails with InvalidArgumentError if a label is not a class, the probabilities are negative
    or their sum is not 1, or a class that the data lack has a target probability.

    Raises:
        TypeError: `tensors` is a tensor, or the labels are not integers.
        ValueError: the labels are not a scalar, or not a vector with `enqueue_many`; the tensors
            are not batches of the same size; or the probabilities are not vectors of the same known
            size.
    """
    with scoped(name, "stratified_sample", [*tensors, labels]):
        components = [convert.convert_to_tensor(tensor) for tensor in tensors]
        labels = convert.convert_to_tensor(labels)
        if not enqueue_many:
            components = [array_ops.expand_dims(tensor, 0) for tensor in components]
            labels = array_ops.expand_dims(labels, 0)
        target = convert.convert_to_tensor(target_probs, dtypes.float32)
        if init_probs is None:
            target.shape.assert_is_fully_defined()
            initial = _estimate_data_distribution(labels, target.shape.num_elements())
        else:
            initial = convert.convert_to_tensor(init_probs, dtypes.float32)
        components, labels, (initial, target) = _verify_input(components, labels, [initial, target])
        rates = _acceptance_rates(initial, target)
        *element, label = _one_by_one([*components, labels], queue_capacity, threads_per_queue)
        accepted = gather_ops.gather(rates, label)
        *batch, classes = _accepted([*element, label], accepted, batch_size, threads_per_queue)
        return batch, classes


def _one_by_one(tensors: list[Any], capacity: int, threads: int) -> list[Any]:
    """Return the components of one element of the batches, by way of a queue."""
    batch = input_batches.batch(
        tensors, batch_size=1, num_threads=threads, capacity=capacity, enqueue_many=True
    )
    rows = [batch] if isinstance(batch, graphs.Tensor) else batch
    return [array_ops.squeeze(row, [0]) for row in rows]


def _accepted(element: list[Any], probability: Any, batch_size: Any, threads: int) -> Any:
    """Return batches of the elements that a random number below their probability accepts."""
    is_kept = logic_ops.less(random_ops.random_uniform([]), probability)
    return input_batches.maybe_batch(element, is_kept, batch_size, num_threads=threads)


def _acceptance_rates(initial: Any, target: Any) -> Any:
    """Return the part of each class to accept: none is above 1, and the classes get their target.

    Accepting the part a of a class with the probability p makes its share proportional to p * a, so
    a is target / p, scaled to have the maximum 1.
    """
    is_possible = logic_ops.logical_or(logic_ops.not_equal(initial, 0), logic_ops.equal(target, 0))
    message = "All classes with zero initial probability must also have zero target probability: "
    check = control_flow_ops.Assert(reduce_ops.reduce_all(is_possible), [message, initial, target])
    initial = control_flow_ops.with_dependencies([check], initial)
    ratios = target / initial
    ratios = gather_ops.where_v2(logic_ops.is_nan(ratios), creation_ops.zeros_like(ratios), ratios)
    rates = ratios / reduce_ops.reduce_max(ratios)
    rejected = reduce_ops.reduce_sum((1 - rates) * initial)
    return cond_ops.cond(
        logic_ops.less(rejected, 0.5),
        lambda: rates,
        lambda: control_flow_ops.Print(
            rates,
            [rates],
            message="Proportion of examples rejected by sampler is high.",
            first_n=10,
        ),
    )


def _estimate_data_distribution(labels: Any, num_classes: Any) -> Any:
    """Return the probabilities of the classes among the labels of all steps until now."""
    counts: Any = variables.Variable(
        [_FIRST_COUNT] * num_classes, trainable=False, name="class_count", dtype=dtypes.int64
    )
    seen = creation_ops.one_hot(labels, num_classes, dtype=dtypes.int64)
    # The copy keeps the counts of one moment while other threads change the variable.
    counted = counts.assign_add(reduce_ops.reduce_sum(seen, 0)) + 0
    estimate = math_ops.truediv(counted, reduce_ops.reduce_sum(counted))
    return math_ops.cast(estimate, dtypes.float32)


def _check_batch(tensor: Any, like: Any) -> None:
    """Raise ValueError unless the tensor is a batch of the same size as another one."""
    shape = tensor.shape.with_rank_at_least(1)
    size = tensor_shape.dimension_at_index(shape, 0)
    size.assert_is_compatible_with(tensor_shape.dimension_at_index(like.shape, 0))


def _verify_input(
    tensors: Sequence[Any], labels: Any, probabilities: Sequence[Any]
) -> tuple[list[Any], Any, list[Any]]:
    """Return batches, labels and vectors of probabilities that check their values in each step."""
    probabilities = [_checked_probabilities(each) for each in probabilities]
    count, *others = [each.shape.num_elements() for each in probabilities]
    if any(other != count for other in others):
        raise ValueError("Probability parameters must have the same length.")
    labels.shape.assert_has_rank(1)
    for tensor in tensors:
        _check_batch(tensor, labels)
    size = array_ops.shape(labels)[0]
    is_filled = check_ops.assert_positive(size)
    tensors = [
        control_flow_ops.with_dependencies(
            [is_filled, check_ops.assert_equal(array_ops.shape(tensor)[0], size)], tensor
        )
        for tensor in tensors
    ]
    checks = [
        is_filled,
        check_types.assert_integer(labels),
        check_ops.assert_non_negative(labels),
        check_ops.assert_less(labels, math_ops.cast(count, labels.dtype)),
    ]
    return tensors, control_flow_ops.with_dependencies(checks, labels), probabilities


def _checked_probabilities(probabilities: Any) -> Any:
    probabilities.shape.assert_is_fully_defined()
    probabilities.shape.assert_has_rank(1)
    total = reduce_ops.reduce_sum(probabilities)
    checks = [
        check_ops.assert_non_negative(probabilities),
        check_ops.assert_less(total, 1.0 + _TOLERANCE),
        check_ops.assert_less(1.0 - _TOLERANCE, total),
    ]
    return control_flow_ops.with_dependencies(checks, probabilities)
