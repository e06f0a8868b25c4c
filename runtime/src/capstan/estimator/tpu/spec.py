"""The result of a `model_fn` of a TPUEstimator.

Source: tensorflow_estimator/python/estimator/tpu/tpu_estimator.py.
"""

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple, Self

from capstan.estimator import calls, estimator_spec
from capstan.train import hook as hooks


class _Fields(NamedTuple):
    mode: str
    predictions: Any
    loss: Any
    train_op: Any
    eval_metrics: Any
    export_outputs: Any
    scaffold_fn: Callable[[], Any] | None
    host_call: Any
    training_hooks: list[Any]
    evaluation_hooks: list[Any]
    prediction_hooks: list[Any]


class TPUEstimatorSpec(_Fields):
    """The operations and hooks of a model in one mode.

    `eval_metrics` and `host_call` are pairs of a function and its arguments, a list or dictionary
    of tensors. The function of `eval_metrics` returns metrics by name, as `eval_metric_ops` of
    EstimatorSpec holds them. Each step computes the tensors that the function of `host_call`
    returns. `scaffold_fn()` returns the Scaffold. The other fields are those of EstimatorSpec.

    Raises:
        TypeError: a hook is not a SessionRunHook.
        ValueError: `eval_metrics` or `host_call` is not such a pair.
    """

    __slots__ = ()

    def __new__(
        cls,
        mode: str,
        predictions: Any = None,
        loss: Any = None,
        train_op: Any = None,
        eval_metrics: Any = None,
        export_outputs: Any = None,
        scaffold_fn: Callable[[], Any] | None = None,
        host_call: Any = None,
        training_hooks: Iterable[Any] | None = None,
        evaluation_hooks: Iterable[Any] | None = None,
        prediction_hooks: Iterable[Any] | None = None,
    ) -> Self:
        _check_call("eval_metrics", eval_metrics)
        _check_call("host_call", host_call)
        return super().__new__(
            cls, mode, predictions, loss, train_op, eval_metrics, export_outputs, scaffold_fn,
            host_call, calls.checked_hooks(training_hooks), calls.checked_hooks(evaluation_hooks),
            calls.checked_hooks(prediction_hooks),
        )  # fmt: skip

    def as_estimator_spec(self) -> estimator_spec.EstimatorSpec:
        """Return the EstimatorSpec of the same model. Call the functions of the fields."""
        metrics = None if self.eval_metrics is None else _result(self.eval_metrics)
        more = [] if self.host_call is None else [_HostCallHook(_result(self.host_call))]
        return estimator_spec.EstimatorSpec(
            mode=self.mode,
            predictions=self.predictions,
            loss=self.loss,
            train_op=self.train_op,
            eval_metric_ops=metrics,
            export_outputs=self.export_outputs,
            scaffold=self.scaffold_fn() if self.scaffold_fn else None,
            training_hooks=[*self.training_hooks, *more],
            evaluation_hooks=[*self.evaluation_hooks, *more],
            prediction_hooks=[*self.prediction_hooks, *more],
        )


class _HostCallHook(hooks.SessionRunHook):
    def __init__(self, fetches: Any) -> None:
        self._fetches = fetches

    def before_run(self, run_context: Any) -> hooks.SessionRunArgs:
        return hooks.SessionRunArgs(self._fetches)


def _check_call(name: str, call: Any) -> None:
    if call is None:
        return
    is_pair = isinstance(call, tuple | list) and len(call) == 2
    if not is_pair or not callable(call[0]) or not isinstance(call[1], tuple | list | dict):
        raise ValueError(
            f"{name} should be a tuple of a function and a list or dictionary of tensors, but is "
            f"{call}"
        )


def _result(call: Any) -> Any:
    function, tensors = call
    return function(**tensors) if isinstance(tensors, dict) else function(*tensors)
