"""`optimize_loss` (contrib/layers/python/layers/optimizers.py)."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from capstan import train
from capstan.api import (
    clip_ops,
    control_flow_ops,
    init_ops,
    math_ops,
    random_ops,
    scope_block,
    variable_collections,
    variable_scope,
)
from capstan.framework import collections, convert
from capstan.framework import graph as graphs
from capstan.framework.indexed_slices import IndexedSlices
from capstan.train import summary

OPTIMIZER_CLS_NAMES: Final[Mapping[str, Callable[..., Any]]] = {
    "Adagrad": train.AdagradOptimizer,
    "Adam": train.AdamOptimizer,
    "Ftrl": train.FtrlOptimizer,
    "Momentum": lambda learning_rate: train.MomentumOptimizer(learning_rate, momentum=0.9),
    "RMSProp": train.RMSPropOptimizer,
    "SGD": train.GradientDescentOptimizer,
}
OPTIMIZER_SUMMARIES: Final = (
    "learning_rate", "loss", "gradients", "gradient_norm", "global_gradient_norm"
)  # fmt: skip

Pairs = Sequence[tuple[Any, Any]]
"""Gradients and their variables."""


def optimize_loss(
    loss: Any,
    global_step: Any,
    learning_rate: Any,
    optimizer: Any,
    gradient_noise_scale: float | None = None,
    gradient_multipliers: Mapping[Any, Any] | None = None,
    clip_gradients: Any = None,
    learning_rate_decay_fn: Callable[[Any, Any], Any] | None = None,
    update_ops: Sequence[Any] | None = None,
    variables: Sequence[Any] | None = None,
    name: str | None = None,
    summaries: Sequence[str] | None = None,
    colocate_gradients_with_ops: bool = False,
    increment_global_step: bool = True,
) -> Any:
    """Return a tensor that trains the variables by one step and gives the loss.

    `optimizer` is the name of a class, a class, an optimizer, or a function of the learning rate.
    `clip_gradients` is a bound for their global norm, or a function of the pairs of gradients and
    variables. The default for `update_ops` is the collection UPDATE_OPS.

    Raises:
        ValueError: an argument has the wrong type or value.
    """
    loss = convert.convert_to_tensor(loss)
    if global_step is None:
        global_step = train.get_global_step()
    else:
        train.assert_global_step(global_step)
    with scope_block.variable_scope(name, "OptimizeLoss", [loss, global_step]):
        graph = graphs.get_default_graph()
        if update_ops is None:
            update_ops = graph.get_collection(collections.GraphKeys.UPDATE_OPS)
        if update_ops:
            loss = control_flow_ops.with_dependencies(list(update_ops), loss)
        shown = _checked_summaries(summaries)
        rate = _rate(learning_rate)
        if rate is not None and learning_rate_decay_fn is not None:
            if global_step is None:
                raise ValueError("global_step is required for learning_rate_decay_fn.")
            rate = learning_rate_decay_fn(rate, global_step)
            if "learning_rate" in shown:
                summary.scalar("learning_rate", rate)
        chosen = _optimizer(optimizer, rate)
        pairs: Pairs = chosen.compute_gradients(
            loss, variables or variable_collections.trainable_variables(),
            colocate_gradients_with_ops=colocate_gradients_with_ops,
        )  # fmt: skip
        if gradient_noise_scale is not None:
            pairs = [(_noisy(gradient, gradient_noise_scale), v) for gradient, v in pairs]
        if gradient_multipliers is not None:
            pairs = [(_multiplied(gradient, v, gradient_multipliers), v) for gradient, v in pairs]
        pairs = _clipped(pairs, clip_gradients, shown)
        if "loss" in shown:
            summary.scalar("loss", loss)
        _summarize(pairs, shown)
        step = global_step if increment_global_step else None
        update = chosen.apply_gradients(pairs, global_step=step, name="train")
        return control_flow_ops.with_dependencies([update], loss)


def _checked_summaries(summaries: Sequence[str] | None) -> Sequence[str]:
    if summaries is None:
        return ("loss", "learning_rate", "global_gradient_norm")
    for each in summaries:
        if each not in OPTIMIZER_SUMMARIES:
            raise ValueError(
                f"Summaries should be one of [{', '.join(OPTIMIZER_SUMMARIES)}], you provided "
                f"{each}."
            )
    return summaries


def _rate(learning_rate: Any) -> Any:
    """Return the learning rate as a tensor or variable, or None."""
    if learning_rate is None:
        return None
    if isinstance(learning_rate, float):
        if learning_rate < 0.0:
            raise ValueError(f"Invalid learning_rate {learning_rate}.")
        return variable_scope.get_variable(
            "learning_rate", [], trainable=False, initializer=init_ops.Constant(learning_rate)
        )
    if isinstance(learning_rate, graphs.Tensor) and learning_rate.shape.ndims == 0:
        return learning_rate
    raise ValueError(
        "Learning rate should be 0d Tensor or float. "
        f"Got {learning_rate} of type {type(learning_rate)}"
    )


def _optimizer(optimizer: Any, rate: Any) -> Any:
    if isinstance(optimizer, train.Optimizer):
        return optimizer
    is_class = isinstance(optimizer, type) and issubclass(optimizer, train.Optimizer)
    if rate is None and (isinstance(optimizer, str) or is_class):
        raise ValueError(f"Learning rate is None, but the optimizer {optimizer} needs one.")
    if isinstance(optimizer, str):
        if optimizer not in OPTIMIZER_CLS_NAMES:
            raise ValueError(
                f"Optimizer name should be one of [{', '.join(OPTIMIZER_CLS_NAMES)}], you provided "
                f"{optimizer}."
            )
        return OPTIMIZER_CLS_NAMES[optimizer](learning_rate=rate)
    if is_class:
        return optimizer(learning_rate=rate)
    made = (optimizer() if rate is None else optimizer(rate)) if callable(optimizer) else optimizer
    if not isinstance(made, train.Optimizer):
        raise ValueError(  # noqa: TRY004 - as TensorFlow
            "Unrecognized optimizer: should be string, subclass of Optimizer, instance of subclass "
            f"of Optimizer or function with one argument. Got {made}."
        )
    return made


def _noisy(gradient: Any, scale: float) -> Any:
    if gradient is None:
        return None
    is_sparse = isinstance(gradient, IndexedSlices)
    shape = gradient.dense_shape if is_sparse else gradient.shape
    return convert.convert_to_tensor(gradient) + random_ops.truncated_normal(shape) * scale


def _multiplied(gradient: Any, variable: Any, multipliers: Mapping[Any, Any]) -> Any:
    """Return a gradient times the factor for its variable, or for the name of the variable."""
    factor = multipliers.get(variable, multipliers.get(variable.name))
    if gradient is None or factor is None:
        return gradient
    factor = math_ops.cast(factor, gradient.dtype.base_dtype)
    if isinstance(gradient, IndexedSlices):
        return IndexedSlices(gradient.values * factor, gradient.indices, gradient.dense_shape)
    return gradient * factor


def _clipped(pairs: Pairs, bound: Any, shown: Sequence[str]) -> Pairs:
    has_norms = "global_gradient_norm" in shown or "gradient_norm" in shown
    if has_norms:
        norm = clip_ops.global_norm([gradient for gradient, _ in pairs])
        summary.scalar("global_norm/gradient_norm", norm)
    if bound is None:
        return pairs
    if isinstance(bound, float):
        gradients, _ = clip_ops.clip_by_global_norm([gradient for gradient, _ in pairs], bound)
        pairs = [(gradient, v) for gradient, (_, v) in zip(gradients, pairs, strict=True)]
    elif callable(bound):
        pairs = bound(pairs)
    else:
        raise ValueError(  # noqa: TRY004 - as TensorFlow
            f"Unknown type {type(bound)} for clip_gradients"
        )
    if has_norms:
        norm = clip_ops.global_norm([gradient for gradient, _ in pairs])
        summary.scalar("global_norm/clipped_gradient_norm", norm)
    return pairs


def _summarize(pairs: Pairs, shown: Sequence[str]) -> None:
    for gradient, variable in pairs:
        values = gradient.values if isinstance(gradient, IndexedSlices) else gradient
        if values is None:
            continue
        name = variable.name.replace(":", "_")
        if "gradients" in shown:
            summary.histogram(f"gradients/{name}", values)
        if "gradient_norm" in shown:
            summary.scalar(f"gradient_norm/{name}", clip_ops.global_norm([values]))
