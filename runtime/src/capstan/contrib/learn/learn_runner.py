"""Run an experiment as the task of TF_CONFIG does (contrib/learn/python/learn/learn_runner.py)."""

from collections.abc import Callable
from typing import Any, Final

from capstan.contrib.learn import experiment as experiments
from capstan.contrib.learn import run_config as run_configs

_TASK: Final = run_configs.TaskType
_SCHEDULES: Final = {
    _TASK.MASTER: "train_and_evaluate",
    _TASK.CHIEF: "train",
    _TASK.WORKER: "train",
    _TASK.PS: "run_std_server",
    _TASK.EVALUATOR: "continuous_eval",
}


def run(
    experiment_fn: Callable[..., Any],
    output_dir: str | None = None,
    schedule: str | None = None,
    run_config: Any = None,
    hparams: Any = None,
) -> Any:
    """Make an experiment, call its method `schedule`, and return the result.

    `experiment_fn(run_config, hparams)` returns the experiment, whose estimator must have this
    configuration. An old function takes `output_dir`. Without a cluster, the default schedule is
    `train_and_evaluate`. In a cluster, it is `train` for the chief and the workers,
    `train_and_evaluate` for a master, `run_std_server` for a ps and `continuous_eval` for an
    evaluator.

    Raises:
        ValueError: not exactly one of `output_dir` and `run_config` is given, the configuration
            has no `model_dir`, or the experiment has no such method.
        TypeError: `experiment_fn` returns no experiment.
        RuntimeError: the estimator has another configuration.
    """
    if (output_dir is None) == (run_config is None):
        raise ValueError("Must set value for `output_dir` or `run_config`, and not for both")
    if not callable(experiment_fn):
        raise TypeError(f'Experiment builder "{experiment_fn}" is not callable.')
    if run_config is not None:
        experiment = _made(experiment_fn, run_config, hparams)
    elif hparams is not None:
        raise ValueError("Must set `hparams` as None for `experiment_fn` with `output_dir`.")
    elif not output_dir:
        raise ValueError("Must specify an output directory")
    else:
        experiment = _checked(experiment_fn(output_dir=output_dir))
    name = schedule or _default_schedule(run_config or experiment.estimator.config)
    if name.startswith("_") or not callable(getattr(experiment, name, None)):
        raise ValueError(f"Schedule references non-existent task {name}")
    return getattr(experiment, name)()


def tune(experiment_fn: Callable[..., Any], tuner: Any) -> None:
    """Run the experiments that a tuner asks for.

    `tuner.next_trial()` returns whether there is one more. `tuner.run_experiment(function)` calls
    `function(run_config, hparams)`, which returns the experiment.
    """
    while tuner.next_trial():
        tuner.run_experiment(lambda run_config, hparams: _made(experiment_fn, run_config, hparams))


def _made(experiment_fn: Callable[..., Any], run_config: Any, hparams: Any) -> Any:
    if not isinstance(run_config, run_configs.RunConfig):
        raise ValueError("`run_config` must be tf.contrib.learn.RunConfig")  # noqa: TRY004
    if not run_config.model_dir:
        raise ValueError("Must specify a model directory `model_dir` in `run_config`.")
    experiment = _checked(experiment_fn(run_config, hparams))
    config = experiment.estimator.config
    if not hasattr(config, "uid") or config.uid() != run_config.uid():
        raise RuntimeError(
            "`RunConfig` instance is expected to be used by the `Estimator` inside the "
            "`Experiment`. Pass the `run_config` of `experiment_fn` to the Estimator"
        )
    return experiment


def _checked(experiment: Any) -> experiments.Experiment:
    if not isinstance(experiment, experiments.Experiment):
        raise TypeError(
            f"Experiment builder did not return an Experiment instance, got {type(experiment)} "
            "instead."
        )
    return experiment


def _default_schedule(config: Any) -> str:
    is_alone = sum(config.cluster_spec.num_tasks(job) for job in config.cluster_spec.jobs) <= 1
    if is_alone and config.task_type != _TASK.EVALUATOR:
        return "train_and_evaluate"
    if config.task_type not in _SCHEDULES:
        raise ValueError(f"No default schedule for task type: {config.task_type}")
    return _SCHEDULES[config.task_type]
