"""One evaluation of a checkpoint: update ops for each batch, and values of metrics at the end.

Source: tensorflow/python/estimator/estimator.py.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from capstan.api import control_flow_ops, metrics
from capstan.estimator import estimator_spec, mode_keys
from capstan.framework import collections
from capstan.train import evaluation, hook
from capstan.train import scaffold as scaffolds

_KEYS = collections.GraphKeys


def with_loss(spec: estimator_spec.EstimatorSpec) -> dict[str, Any]:
    """Return the metrics of a model by name, with the mean of the loss.

    Raises:
        ValueError: the model has a metric of a reserved name.
    """
    check_names(spec.eval_metric_ops)
    return {**spec.eval_metric_ops, mode_keys.LOSS_METRIC_KEY: metrics.mean(spec.loss)}


def check_names(given: Iterable[str]) -> None:
    """Check that the metrics of a model have names of their own.

    Raises:
        ValueError: one is named `loss` or `global_step`.
    """
    for name in (mode_keys.LOSS_METRIC_KEY, _KEYS.GLOBAL_STEP):
        if name in given:
            raise ValueError(
                f"Metric with name `{name}` is not allowed, because Estimator already defines a "
                "default metric with the same name."
            )


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
        evaluations = evaluation.evaluations(
            [checkpoint_path],
            master=master,
            scaffold=scaffold,
            fetches=self.update,
            feed_dict=None,
            final_ops=dict(self.values),
            final_ops_feed_dict=None,
            hooks=self.hooks,
            config=config,
        )
        return dict(next(evaluations))


def build(
    scaffold: scaffolds.Scaffold,
    metric_ops: Mapping[str, Any],
    global_step: Any,
    hooks: Sequence[hook.SessionRunHook],
) -> Evaluation:
    """Add the operations of an evaluation to the default graph.

    `metric_ops` has the value and the update of each metric by name. The global step is added to
    the values.
    """
    # Sorted, so that the graph does not depend on the order of the dictionary.
    names = sorted(metric_ops)
    update = control_flow_ops.group(*(metric_ops[name][1] for name in names))
    values = {name: metric_ops[name][0] for name in names} | {_KEYS.GLOBAL_STEP: global_step}
    fetches = evaluation.counted(update, hooks)
    if scaffold.local_init_op is not None:
        # The program's operation does not initialise the variables of the metrics and the counter.
        both = control_flow_ops.group(
            scaffold.local_init_op, scaffolds.Scaffold.default_local_init_op()
        )
        scaffold = scaffolds.Scaffold(local_init_op=both, copy_from_scaffold=scaffold)
    return Evaluation(scaffold, fetches, values, hooks)
