"""The training of an estimator: hooks, saver and session around the train op.

Source: tensorflow/python/estimator/estimator.py.
"""

from collections.abc import Sequence
from typing import Any

from capstan.api import logging, summary_ops
from capstan.estimator import estimator_spec, run_config, run_config_checks
from capstan.framework import collections
from capstan.framework import graph as graphs
from capstan.train import (
    checkpointing,
    device_setter,
    hook,
    preemption,
    reporting,
    saver,
    stopping,
    summary_hooks,
    training_session,
)

_KEYS = collections.GraphKeys
_TASK = run_config.TaskType


def device_function(config: run_config.RunConfig) -> Any:
    """Return the function that chooses the devices of a training graph, or None."""
    if config.device_fn is not None or config.num_ps_replicas == 0:
        return config.device_fn
    return device_setter.replica_device_setter(
        ps_tasks=config.num_ps_replicas,
        worker_device=f"/job:{config.task_type}/task:{config.task_id}",
        cluster=config.cluster_spec,
    )


def train(
    spec: estimator_spec.EstimatorSpec,
    config: run_config.RunConfig,
    global_step: Any,
    hooks: Sequence[hook.SessionRunHook],
    listeners: Sequence[checkpointing.CheckpointSaverListener],
) -> Any:
    """Run the train op until a hook asks for a stop or the input ends. Return the last loss.

    Blocks. Finalizes the default graph.

    Raises:
        ValueError: there are listeners, and no hook saves checkpoints.
    """
    graph = graphs.get_default_graph()
    if not any(each.op.name == "loss" for each in graph.get_collection(_KEYS.SUMMARIES)):
        summary_ops.scalar("loss", spec.loss)
    graph.add_to_collection(_KEYS.LOSSES, spec.loss)
    worker_hooks = [*hooks, stopping.NanTensorHook(spec.loss)]
    if config.log_step_count_steps is not None:
        logged = {"loss": spec.loss, "step": global_step}
        worker_hooks.append(reporting.LoggingTensorHook(logged, config.log_step_count_steps))
    worker_hooks += spec.training_hooks
    if not (spec.scaffold.saver or graph.get_collection(_KEYS.SAVERS)):
        graph.add_to_collection(_KEYS.SAVERS, _saver(config))
    given = (*worker_hooks, *spec.training_chief_hooks)
    found = [each for each in given if isinstance(each, checkpointing.CheckpointSaverHook)]
    own = [] if found else _checkpoint_hooks(spec, config)
    savers = found or own
    if listeners:
        _add_listeners(savers, listeners)
    # A master evaluates in its training loop, so a worker reports the progress in its place.
    has_master = _TASK.MASTER in config.cluster_spec.jobs
    if has_master:
        worker_hooks += _reports_of_first_worker(spec, config)
    if savers and config.is_chief:
        worker_hooks.append(preemption.SaveOnSigtermHook(savers[0]))
    is_equal = run_config_checks.has_equal_workers(config.train_distribute) and not config.is_chief
    session = training_session.MonitoredTrainingSession(
        master=config.master,
        # Each of several equal workers restores or initialises its own variables.
        is_chief=config.is_chief or is_equal,
        checkpoint_dir=config.model_dir,
        scaffold=spec.scaffold,
        hooks=worker_hooks,
        chief_only_hooks=[] if is_equal else [*own, *spec.training_chief_hooks],
        save_checkpoint_secs=0,
        save_summaries_steps=0 if has_master or is_equal else config.save_summary_steps,
        config=config.session_config,
        log_step_count_steps=None if has_master or is_equal else config.log_step_count_steps,
        max_wait_secs=config.session_creation_timeout_secs,
    )
    return _run(session, spec)


def _run(session: Any, spec: estimator_spec.EstimatorSpec) -> Any:
    loss = None
    with session:
        while not session.should_stop():
            _, loss = session.run([spec.train_op, spec.loss])
    if loss is None:
        logging.warning(
            "Training with estimator made no steps. Perhaps input is empty or misspecified."
        )
    return loss


def _saver(config: run_config.RunConfig) -> saver.Saver:
    return saver.Saver(
        sharded=True,
        max_to_keep=config.keep_checkpoint_max,
        keep_checkpoint_every_n_hours=config.keep_checkpoint_every_n_hours,
        defer_build=True,
        save_relative_paths=True,
    )


def _checkpoint_hooks(
    spec: estimator_spec.EstimatorSpec, config: run_config.RunConfig
) -> list[checkpointing.CheckpointSaverHook]:
    """Return the hook that saves checkpoints at the intervals of the configuration."""
    if not (config.save_checkpoints_secs or config.save_checkpoints_steps):
        return []
    return [
        checkpointing.CheckpointSaverHook(
            config.model_dir,
            save_secs=config.save_checkpoints_secs,
            save_steps=config.save_checkpoints_steps,
            scaffold=spec.scaffold,
        )
    ]


def _add_listeners(
    savers: Sequence[checkpointing.CheckpointSaverHook],
    listeners: Sequence[checkpointing.CheckpointSaverListener],
) -> None:
    if not savers:
        raise ValueError(
            "There should be a CheckpointSaverHook to use saving_listeners. Please set one of the "
            "RunConfig.save_checkpoints_steps or RunConfig.save_checkpoints_secs."
        )
    savers[0]._listeners.extend(listeners)


def _reports_of_first_worker(
    spec: estimator_spec.EstimatorSpec, config: run_config.RunConfig
) -> list[hook.SessionRunHook]:
    """Return the hooks by which the first worker of a cluster with a master writes summaries."""
    reports: list[hook.SessionRunHook] = []
    if config.task_type != _TASK.WORKER or config.task_id != 0:
        return reports
    if config.save_summary_steps:
        reports.append(
            summary_hooks.SummarySaverHook(
                config.save_summary_steps, output_dir=config.model_dir, scaffold=spec.scaffold
            )
        )
    if config.log_step_count_steps:
        reports.append(
            reporting.StepCounterHook(config.log_step_count_steps, output_dir=config.model_dir)
        )
    return reports
