"""One evaluation of a checkpoint: update ops for each batch, and values of metrics at the end.

Sources: tensorflow/python/estimator/estimator.py, tensorflow/python/training/evaluation.py.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from capstan.api import (
    context,
    control_flow_ops,
    init_ops,
    logging,
    metrics,
    state_ops,
    variable_scope,
)
from capstan.core import dtypes
from capstan.estimator import estimator_spec, mode_keys
from capstan.framework import collections
from capstan.framework import graph as graphs
from capstan.framework.raw import raw
from capstan.train import hook, monitored_session, reporting, session_creator
from capstan.train import scaffold as scaffolds

_KEYS = collections.GraphKeys


class StopAfterNEvalsHook(hook.SessionRunHook):
    """Asks for a stop after `num_evals` batches, and logs the progress."""

    def __init__(self, num_evals: int) -> None:
        self._num_evals = num_evals
        self._every = 1 if num_evals < 20 else num_evals // 10
        self.evals_completed: Any = None

    def before_run(self, run_context: hook.SessionRunContext) -> hook.SessionRunArgs:
        return hook.SessionRunArgs(self.evals_completed)

    def after_run(
        self, run_context: hook.SessionRunContext, run_values: hook.SessionRunValues
    ) -> None:
        completed = int(run_values.results)
        if completed % self._every == 0 or completed == self._num_evals:
            logging.info("Evaluation [%d/%d]", completed, self._num_evals)
        if completed >= self._num_evals:
            run_context.request_stop()


def _metric_ops(spec: estimator_spec.EstimatorSpec, global_step: Any) -> tuple[Any, dict[str, Any]]:
    """Return one operation that updates all metrics, and the values of the metrics by name.

    The mean of the loss and the global step are added to the metrics of the model.

    Raises:
        ValueError: the model has a metric of one of these names.
    """
    for name in (mode_keys.LOSS_METRIC_KEY, _KEYS.GLOBAL_STEP):
        if name in spec.eval_metric_ops:
            raise ValueError(
                f"Metric with name `{name}` is not allowed, because Estimator already defines a "
                "default metric with the same name."
            )
    found = {**spec.eval_metric_ops, mode_keys.LOSS_METRIC_KEY: metrics.mean(spec.loss)}
    # Sorted, so that the graph does not depend on the order of the dictionary.
    update = control_flow_ops.group(*(found[name][1] for name in sorted(found)))
    values = {name: found[name][0] for name in sorted(found)}
    return update, {**values, _KEYS.GLOBAL_STEP: global_step}


@dataclass(frozen=True, slots=True)
class Evaluation:
    """The operations of an evaluation: of one batch, and of the values at the end."""

    scaffold: scaffolds.Scaffold
    update: Any
    values: Mapping[str, Any]
    hooks: Sequence[hook.SessionRunHook]

    def run(
        self,
        checkpoint_path: str | None,
        master: str,
        config: Any,
        init_fn: Callable[[Any, Any], Any] | None = None,
    ) -> dict[str, Any]:
        """Update until a hook asks for a stop or the input ends. Return the final values.

        Without a checkpoint, the variables have their initial values, or those of
        `init_fn(scaffold, session)`. Blocks.
        """
        scaffold = scaffolds.Scaffold(init_fn=init_fn, copy_from_scaffold=self.scaffold)
        final = reporting.FinalOpsHook(dict(self.values))
        creator = session_creator.ChiefSessionCreator(
            scaffold, master, config, checkpoint_filename_with_path=checkpoint_path
        )
        logging.info("Starting evaluation.")
        with monitored_session.MonitoredSession(creator, [*self.hooks, final]) as session:
            while not session.should_stop():
                session.run(self.update)
        logging.info("Finished evaluation.")
        return dict(final.final_ops_values)


def build(
    spec: estimator_spec.EstimatorSpec, global_step: Any, hooks: Sequence[hook.SessionRunHook]
) -> Evaluation:
    """Add the operations of an evaluation to the default graph.

    Raises:
        ValueError: the model has a metric of a reserved name.
    """
    update, values = _metric_ops(spec, global_step)
    step, scaffold = _eval_step(), spec.scaffold
    if scaffold.local_init_op is not None:
        # The program's operation does not initialise the variables of the metrics.
        both = control_flow_ops.group(
            scaffold.local_init_op, scaffolds.Scaffold.default_local_init_op()
        )
        scaffold = scaffolds.Scaffold(local_init_op=both, copy_from_scaffold=scaffold)
    update_step = state_ops.assign_add(step, 1, use_locking=True)
    with context.control_dependencies([update, update_step]):
        completed = raw.Identity(step.read_value())
    for each in hooks:
        if isinstance(each, StopAfterNEvalsHook):
            each.evals_completed = completed
    return Evaluation(scaffold, [update, update_step], values, hooks)


def _eval_step() -> Any:
    """Return the variable that counts the batches of this evaluation."""
    found = graphs.get_default_graph().get_collection(_KEYS.EVAL_STEP)
    if len(found) > 1:
        raise ValueError("Multiple tensors added to tf.GraphKeys.EVAL_STEP")
    if found:
        return found[0]
    return variable_scope.get_variable(
        "eval_step",
        shape=[],
        dtype=dtypes.int64,
        initializer=init_ops.zeros_initializer(),
        trainable=False,
        collections=[_KEYS.LOCAL_VARIABLES, _KEYS.EVAL_STEP],
    )
