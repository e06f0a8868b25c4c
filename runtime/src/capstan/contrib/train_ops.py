"""`create_train_op` and `train` (contrib/training/python/training/training.py)."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from capstan.api import (
    check_ops,
    clip_ops,
    control_flow_ops,
    logging,
    variable_collections,
)
from capstan.framework import collections, convert
from capstan.framework import graph as graphs
from capstan.framework.indexed_slices import IndexedSlices
from capstan.train import optimizer as optimizers
from capstan.train import scaffold as scaffolds
from capstan.train import steps, summary, training_session

Pairs = Sequence[tuple[Any, Any]]
"""Gradients and their variables."""

_USE_GLOBAL_STEP: Any = 0
_KEYS = collections.GraphKeys


def _changed(gradient: Any, change: Callable[[Any], Any]) -> Any:
    """Return a gradient with changed values. A sparse gradient keeps its indices."""
    if isinstance(gradient, IndexedSlices):
        return IndexedSlices(change(gradient.values), gradient.indices, gradient.dense_shape)
    return change(gradient)


def clip_gradient_norms(gradients_to_variables: Pairs, max_norm: float) -> list[tuple[Any, Any]]:
    """Scale down each gradient whose norm is above a bound."""
    return [
        (
            None
            if gradient is None
            else _changed(gradient, lambda values: clip_ops.clip_by_norm(values, max_norm)),
            variable,
        )
        for gradient, variable in gradients_to_variables
    ]


def clip_gradient_norms_fn(max_norm: float) -> Callable[[Pairs], Pairs]:
    """Return a function that scales down the gradients of pairs, for `transform_grads_fn`."""
    return lambda pairs: clip_gradient_norms(pairs, max_norm)


def multiply_gradients(
    grads_and_vars: Pairs, gradient_multipliers: Mapping[Any, Any]
) -> list[tuple[Any, Any]]:
    """Multiply gradients by the factors for their variables, or for the names of the variables.

    Raises:
        ValueError: an argument is empty or has the wrong type, or there is no gradient to multiply.
    """
    if not isinstance(grads_and_vars, list):
        raise ValueError("`grads_and_vars` must be a list.")  # noqa: TRY004 - as TensorFlow
    if not gradient_multipliers:
        raise ValueError("`gradient_multipliers` is empty.")
    if not isinstance(gradient_multipliers, dict):
        raise ValueError("`gradient_multipliers` must be a dict.")  # noqa: TRY004 - as TensorFlow
    pairs = []
    for gradient, variable in grads_and_vars:
        factor = gradient_multipliers.get(variable, gradient_multipliers.get(variable.op.name))
        if factor is None:
            pairs.append((gradient, variable))
            continue
        if gradient is None:
            raise ValueError("Requested multiple of `None` gradient.")
        factor = convert.convert_to_tensor(factor, gradient.dtype.base_dtype)
        pairs.append((_changed(gradient, factor.__rmul__), variable))
    return pairs


def add_gradients_summaries(grads_and_vars: Pairs) -> list[Any]:
    """Add a histogram and the norm of each gradient, and return the summaries."""
    summaries = []
    for gradient, variable in grads_and_vars:
        if gradient is None:
            logging.info("Var %s has no gradient", variable.op.name)
            continue
        values = gradient.values if isinstance(gradient, IndexedSlices) else gradient
        norm = clip_ops.global_norm([values])
        summaries.append(summary.histogram(f"{variable.op.name}_gradient", values))
        summaries.append(summary.scalar(f"{variable.op.name}_gradient_norm", norm))
    return summaries


def create_train_op(
    total_loss: Any,
    optimizer: Any,
    global_step: Any = _USE_GLOBAL_STEP,
    update_ops: Sequence[Any] | None = None,
    variables_to_train: Sequence[Any] | None = None,
    transform_grads_fn: Callable[[Pairs], Pairs] | None = None,
    summarize_gradients: bool = False,
    gate_gradients: int = optimizers.Optimizer.GATE_OP,
    aggregation_method: Any = None,
    colocate_gradients_with_ops: bool = False,
    check_numerics: bool = True,
) -> Any:
    """Return a tensor that trains the variables by one step and gives the loss.

    The step waits for `update_ops`, whose default is the collection UPDATE_OPS. The global step is
    counted, unless `global_step` is None.

    Raises:
        ValueError: there are no variables to train.
    """
    graph = graphs.get_default_graph()
    if global_step is _USE_GLOBAL_STEP:
        global_step = steps.get_or_create_global_step()
    collected = graph.get_collection(_KEYS.UPDATE_OPS)
    updates = list(collected if update_ops is None else update_ops)
    if not {id(each) for each in collected} <= {id(each) for each in updates}:
        logging.warning("create_train_op: update_ops lacks operations of UPDATE_OPS")
    if updates:
        with graph.control_dependencies(updates):
            barrier = control_flow_ops.no_op(name="update_barrier")
        total_loss = control_flow_ops.with_dependencies([barrier], total_loss)
    trained = variables_to_train or variable_collections.trainable_variables()
    if not trained:
        raise ValueError("create_train_op: the graph has no trainable variables")
    pairs = optimizer.compute_gradients(
        total_loss, trained, gate_gradients=gate_gradients, aggregation_method=aggregation_method,
        colocate_gradients_with_ops=colocate_gradients_with_ops,
    )  # fmt: skip
    if transform_grads_fn is not None:
        pairs = transform_grads_fn(pairs)
    if summarize_gradients:
        with graph.name_scope("summarize_grads"):
            add_gradients_summaries(pairs)
    update = optimizer.apply_gradients(pairs, global_step=global_step)
    with graph.name_scope("train_op"):
        if check_numerics:
            total_loss = check_ops.check_numerics(total_loss, "LossTensor is inf or nan")
        train_op = control_flow_ops.with_dependencies([update], total_loss)
    graph.add_to_collection(_KEYS.TRAIN_OP, train_op)
    return train_op


def train(
    train_op: Any,
    logdir: str | None,
    master: str = "",
    is_chief: bool = True,
    scaffold: scaffolds.Scaffold | None = None,
    hooks: Any = None,
    chief_only_hooks: Any = None,
    save_checkpoint_secs: float | None = 600,
    save_summaries_steps: int | None = 100,
    config: Any = None,
    max_wait_secs: float = 7200,
    run_metadata: Any = None,
) -> Any:
    """Run `train_op` in a MonitoredTrainingSession until it stops, and return the last value.

    The value is None if there was no step. The other arguments are those of the session; `logdir`
    is its folder for checkpoints and summaries. Blocks.

    Raises:
        ValueError: the chief has no `logdir`, but is to write checkpoints or summaries.
    """
    if logdir is None and is_chief:
        for name, interval in (
            ("save_summaries_steps", save_summaries_steps),
            ("save_checkpoint_secs", save_checkpoint_secs),
        ):
            if interval:
                raise ValueError(f"logdir cannot be None when {name} is not None")
    loss = None
    with training_session.MonitoredTrainingSession(
        master=master, is_chief=is_chief, checkpoint_dir=logdir, scaffold=scaffold, hooks=hooks,
        chief_only_hooks=chief_only_hooks, save_checkpoint_secs=save_checkpoint_secs,
        save_summaries_steps=save_summaries_steps, config=config, max_wait_secs=max_wait_secs,
    ) as session:  # fmt: skip
        while not session.should_stop():
            loss = session.run(train_op, run_metadata=run_metadata)
    return loss
