"""Moving means and variances of the values of steps (contrib's ops/moving_stats.py)."""

from collections.abc import Iterable
from typing import Any

from capstan.api import (
    array_ops,
    context,
    creation_ops,
    init_ops,
    reduce_ops,
    scope_block,
    state_ops,
    variable_scope,
)
from capstan.api.scoped import scoped
from capstan.framework import convert
from capstan.framework.raw import raw


def assign_moving_mean_variance(
    mean_var: Any, variance_var: Any, value: Any, decay: Any, name: str | None = None
) -> tuple[Any, Any]:
    """Move two variables toward the mean and the variance of the values of steps.

    The variance becomes `decay * (variance + (1 - decay) * (value - mean)**2)`, with the mean
    before this step, and the mean `decay * mean + (1 - decay) * value`. Returns the new mean and
    the new variance.

    Raises:
        TypeError: the types are different, or no floats.
    """
    with scoped(name, "assign_moving_mean_variance", [variance_var, mean_var, value, decay]):
        kind = _float_type("mean_var", mean_var)
        if variance_var.dtype.base_dtype != kind:
            raise TypeError(
                f"mean_var.base_dtype({kind.name}) != "
                f"variance_var.base_dtype({variance_var.dtype.base_dtype.name})"
            )
        value, decay = (
            convert.convert_to_tensor(each, kind, label)
            for each, label in ((value, "value"), (decay, "decay"))
        )
        apart = value - mean_var
        old = array_ops.identity(variance_var)
        with context.control_dependencies([apart, old]), context.colocate_with(mean_var):
            mean = state_ops.assign_add(mean_var, (1.0 - decay) * apart)
            change = (1.0 - decay) * (old - decay * raw.Square(apart))
            return mean, state_ops.assign_sub(variance_var, change)


def moving_mean_variance(
    value: Any, decay: Any, collections: Iterable[str] | None = None, name: str | None = None
) -> tuple[Any, Any]:
    """Return the moving mean and variance of the values of steps, as `assign_moving_mean_variance`.

    The variables `moving_mean` and `moving_variance` begin with 0.

    Raises:
        TypeError: the types are different, or no floats.
    """
    with scope_block.variable_scope(name, "moving_mean_variance", [value, decay]):
        value = convert.convert_to_tensor(value, name="value")
        kind = _float_type("value", value)
        variance, mean = (
            variable_scope.get_variable(
                label, value.shape, kind, init_ops.Zeros(), trainable=False,
                collections=None if collections is None else list(collections),
            )
            for label in ("moving_variance", "moving_mean")
        )  # fmt: skip
        return assign_moving_mean_variance(mean, variance, value, decay)


def assign_log_moving_mean_exp(
    log_mean_exp_var: Any, log_value: Any, decay: Any, name: str | None = None
) -> Any:
    """Move a variable toward the logarithm of the mean of the exponentials of values.

    It becomes `log(decay * exp(variable) + (1 - decay) * exp(log_value))`. Returns the new value.

    Raises:
        TypeError: the types are different, or no floats.
    """
    with scoped(name, "assign_log_moving_mean_exp", [log_mean_exp_var, log_value, decay]):
        kind = _float_type("log_mean_exp_var", log_mean_exp_var)
        log_value, decay = (
            convert.convert_to_tensor(each, kind, label)
            for each, label in ((log_value, "log_value"), (decay, "decay"))
        )
        with context.colocate_with(log_mean_exp_var):
            apart = log_value - log_mean_exp_var
            parts = [
                raw.Log(decay) * creation_ops.ones_like(apart),
                apart + raw.Log1p(-decay),
            ]
            change = reduce_ops.reduce_logsumexp(array_ops.stack(parts), axis=0)
            return state_ops.assign_add(log_mean_exp_var, change)


def _float_type(name: str, value: Any) -> Any:
    kind = value.dtype.base_dtype
    if not kind.is_floating:
        raise TypeError(f"{name}.base_dtype({kind.name}) does not have float type `dtype`.")
    return kind
