"""`tf.train.ExponentialMovingAverage`: averages of variables and tensors over steps.

An average is a variable of its own, called `<variable>/ExponentialMovingAverage`, on the device of
the variable. Source: tensorflow/python/training/moving_averages.py.
"""

from collections.abc import Iterable, Sequence
from typing import Any

from capstan.api import (
    control_flow_ops,
    distribution_modes,
    init_ops,
    math_ops,
    scope_block,
    state_ops,
    variable_collections,
    variable_scope,
    variables,
)
from capstan.core import dtypes
from capstan.framework import collections, convert, facts, opdef
from capstan.framework import graph as graphs
from capstan.framework.raw import raw
from capstan.train import slot_creator

_FLOATING = (dtypes.float16, dtypes.bfloat16, dtypes.float32, dtypes.float64)


class ExponentialMovingAverage:
    """Keeps average = decay * average + (1 - decay) * value for variables and tensors.

    With `num_updates`, a number or a tensor such as the global step, the decay is at most
    (1 + num_updates) / (10 + num_updates), so that the first averages move faster. The average of a
    variable starts at the variable's initial value. The average of another tensor starts at zero;
    with `zero_debias`, it is scaled so that the zero has no weight.
    """

    def __init__(
        self,
        decay: Any,
        num_updates: Any = None,
        zero_debias: bool = False,
        name: str = "ExponentialMovingAverage",
    ) -> None:
        self._decay = decay
        self._num_updates = num_updates
        self._zero_debias = zero_debias
        self._name = name
        self._averages: dict[Any, Any] = {}

    @property
    def name(self) -> str:
        """The last part of the names of the averages."""
        return self._name

    def apply(self, var_list: Iterable[Any] | None = None) -> graphs.Operation:
        """Return an operation that updates the averages of `var_list`. Make missing averages.

        Without `var_list`, use the trainable variables.

        Raises:
            TypeError: a variable or tensor is not of a floating type.
        """
        graph = graphs.get_default_graph()
        averaged = list(
            variable_collections.trainable_variables() if var_list is None else var_list
        )
        debiased = [var for var in averaged if self._make_average(var)]
        with graph.name_scope(self._name) as scope:
            decay = convert.convert_to_tensor(self._decay, name="decay")
            if self._num_updates is not None:
                count = math_ops.cast(self._num_updates, dtypes.float32, name="num_updates")
                decay = raw.Minimum(decay, (1.0 + count) / (10.0 + count))
            updates = [
                assign_moving_average(
                    self._averages[var],
                    var,
                    decay,
                    zero_debias=any(var is other for other in debiased),
                )
                for var in averaged
            ]
            group: graphs.Operation = control_flow_ops.group(*updates, name=scope)
            return group

    def _make_average(self, var: Any) -> bool:
        """Make the average of `var` if it is missing. Return whether its zero must be corrected."""
        if var.dtype.base_dtype not in _FLOATING:
            raise TypeError(f"The variables must be half, float, or double: {var.name}")
        if var in self._averages:
            return False
        graph = graphs.get_default_graph()
        if isinstance(var, variables.Variable):
            self._averages[var] = slot_creator.create_slot(
                var, var.initialized_value(), self._name, colocate_with_primary=True
            )
            graph.add_to_collection(collections.GraphKeys.MOVING_AVERAGE_VARIABLES, var)
            return False
        is_variable = opdef.role(var.op.type) is facts.Role.VARIABLE
        self._averages[var] = slot_creator.create_zeros_slot(
            var, self._name, colocate_with_primary=is_variable
        )
        return self._zero_debias

    def average(self, var: Any) -> Any:
        """Return the variable that holds the average of `var`, or None if `var` has no average."""
        return self._averages.get(var)

    def average_name(self, var: Any) -> str:
        """Return the name of the average of `var`, also if `apply` has not made the average yet."""
        if var in self._averages:
            name: str = self._averages[var].op.name
            return name
        graph = graphs.get_default_graph()
        return graph.unique_name(f"{var.op.name}/{self._name}", mark_as_used=False)

    def variables_to_restore(
        self, moving_avg_variables: Sequence[Any] | None = None
    ) -> dict[str, Any]:
        """Return a mapping for a Saver that restores averages into the variables themselves.

        The variables in `moving_avg_variables` (by default, the trainable variables and those that
        have averages) get their averages. All other global variables get their own values.
        """
        if moving_avg_variables is None:
            moving_avg_variables = [
                *variable_collections.trainable_variables(),
                *variable_collections.moving_average_variables(),
            ]
        names = {self.average_name(var): var for var in dict.fromkeys(moving_avg_variables)}
        averaged = {var.name for var in moving_avg_variables}
        for var in dict.fromkeys(variable_collections.global_variables()):
            if var.name not in averaged and var.op.name not in names:
                names[var.op.name] = var
        return names


def assign_moving_average(
    variable: Any, value: Any, decay: Any, zero_debias: bool = True, name: str | None = None
) -> Any:
    """Set `variable` to its moving average with `value`. Return the new value.

    With `zero_debias`, the variable holds the average divided by 1 - decay^updates, which corrects
    for the initial value 0. Two new variables are made for this: `biased` holds the average without
    the correction, and `local_step` the number of updates. In a replica of a strategy, the value is
    the mean of the values of all replicas.
    """

    def move(copy: Any, new: Any) -> Any:
        return _moved(copy, new, decay, zero_debias, name)

    mode = distribution_modes.current()
    if mode is None or mode.update_device is not None:
        return move(variable, value)
    if mode.replica is None:
        return mode.strategy.extended.update(variable, move, (value,))

    def merged(strategy: Any, averaged: Any, new: Any) -> Any:
        mean = strategy.extended.reduce_to("MEAN", new, averaged)
        return strategy.extended.update(averaged, move, (mean,))

    return mode.replica.merge_call(merged, (variable, value))


def _moved(variable: Any, value: Any, decay: Any, zero_debias: bool, name: str | None) -> Any:
    graph = graphs.get_default_graph()
    with graph.name_scope(name or "AssignMovingAvg") as scope:
        rate = convert.convert_to_tensor(1.0 - decay, name="decay")
        if rate.dtype != variable.dtype.base_dtype:
            rate = math_ops.cast(rate, variable.dtype.base_dtype)
        if zero_debias:
            return _assign_debiased(variable, value, rate)
        # TensorFlow 1.15 subtracts on the current device. If that is another task, the value of a
        # reference variable is sent there before an update that the average waits for, so the
        # average lags behind, for example in a SyncReplicasOptimizer.
        with graph.colocate_with(variable.op):
            return state_ops.assign_sub(variable, (variable - value) * rate, name=scope)


def weighted_moving_average(
    value: Any,
    decay: Any,
    weight: Any,
    truediv: bool = True,
    collections: Sequence[str] | None = None,
    name: str | None = None,
) -> Any:
    """Return the moving average of `value * weight` over that of `weight`, after updating both.

    The averages are variables in `collections`, by default the global variables. Without
    `truediv`, integers are divided as Python 2 does.
    """
    with scope_block.variable_scope(name, "WeightedMovingAvg", [value, weight, decay]) as scope:
        averages = [
            variable_scope.get_variable(
                own_name,
                shape=like.get_shape(),
                dtype=like.dtype,
                initializer=init_ops.Zeros(),
                trainable=False,
                collections=collections,
            )
            for own_name, like in (("value_x_weight", value), ("weight", weight))
        ]
        samples = (value * weight, weight)
        numerator, denominator = (
            assign_moving_average(average, sample, decay, zero_debias=False)
            for average, sample in zip(averages, samples, strict=True)
        )
        divide = math_ops.truediv if truediv else math_ops.div
        return divide(numerator, denominator, name=scope.name)


def _assign_debiased(variable: Any, value: Any, rate: Any) -> Any:
    """Update the average in `biased`, and set `variable` to it, corrected for the initial value 0.

    Return the new value of `variable`.
    """
    graph = graphs.get_default_graph()
    with scope_block.variable_scope(variable.op.name), graph.colocate_with(variable.op):
        zeros = init_ops.Zeros()
        biased = variable_scope.get_variable(
            _unused("biased"),
            initializer=zeros,
            shape=variable.get_shape(),
            dtype=variable.dtype.base_dtype,
            trainable=False,
        )
        local_step = variable_scope.get_variable(
            _unused("local_step"),
            initializer=zeros,
            shape=[],
            dtype=variable.dtype.base_dtype,
            trainable=False,
        )
    with graph.colocate_with(variable.op):
        updated = state_ops.assign_sub(biased, (biased - value) * rate)
        count = local_step.assign_add(1)
        divisor = 1 - raw.Pow(1.0 - rate, count)
        return state_ops.assign(variable, updated / divisor, name=graph.get_name_scope() + "/")


def _unused(name: str) -> str:
    """Return `name`, with a number appended if the variable scope has a variable of that name."""
    scope = variable_scope.get_variable_scope()
    if scope.reuse:
        return name
    used_names = {var.op.name for var in scope.global_variables()}
    candidate, count = name, 0
    while f"{scope.name}/{candidate}" in used_names:
        count += 1
        candidate = f"{name}_{count}"
    return candidate
