"""The checks of a RunConfig: which settings it refuses (python/estimator/run_config.py)."""

from typing import Any

import numpy as np
from tensorboard.compat.proto import config_pb2

from capstan.api import distribution_strategy, parameter_server_strategy
from capstan.estimator import arguments, distribute_config, tf_config


def has_replicas(strategy: Any) -> bool:
    """Return whether a strategy trains replicas in step. One of parameter servers does not."""
    return isinstance(strategy, distribution_strategy.Strategy) and not _has_servers(strategy)


def has_equal_workers(strategy: Any) -> bool:
    """Return whether a strategy trains replicas on several workers, each of which has the model."""
    return has_replicas(strategy) and strategy.extended.experimental_between_graph


def _has_servers(strategy: Any) -> bool:
    return isinstance(strategy, parameter_server_strategy.ParameterServerStrategy)


def check(config: Any) -> None:
    """Raise ValueError if a setting of a RunConfig is out of range or does not fit the cluster."""
    for name in (
        "save_summary_steps",
        "save_checkpoints_steps",
        "save_checkpoints_secs",
        "keep_checkpoint_max",
    ):
        if (getattr(config, name) or 0) < 0:
            raise ValueError(f"{name} should be >= 0")
    for name in (
        "keep_checkpoint_every_n_hours",
        "log_step_count_steps",
        "session_creation_timeout_secs",
    ):
        value = getattr(config, name)
        if value is not None and value <= 0:
            raise ValueError(f"{name} should be > 0")
    _check_types(config)
    for name in ("train_distribute", "eval_distribute"):
        strategy = getattr(config, name)
        if not isinstance(strategy, distribution_strategy.Strategy | None):
            raise ValueError(
                f"{name} should be None or a strategy of tf.distribute. Got: {strategy!r}"
            )
    distribute_config.check(config.experimental_distribute)
    _check_is_alone(config)


def _check_is_alone(config: Any) -> None:
    """Check that a strategy for one process does not train in a cluster."""
    strategy = config.train_distribute
    counts = {job: config.cluster_spec.num_tasks(job) for job in config.cluster_spec.jobs}
    workers = sum(
        counts.get(job, 0)
        for job in (tf_config.TaskType.CHIEF, tf_config.TaskType.MASTER, tf_config.TaskType.WORKER)
    )
    if _has_servers(strategy):
        _check_is_of_cluster(strategy, config.cluster_spec)
    elif has_equal_workers(strategy):
        if counts.get(tf_config.TaskType.PS):
            raise ValueError(
                f"train_distribute is a {type(strategy).__name__}, which needs no ps, but "
                f"TF_CONFIG describes a cluster of {counts}. Remove the ps from the job."
            )
    elif has_replicas(strategy) and (workers > 1 or counts.get(tf_config.TaskType.PS)):
        raise ValueError(
            f"train_distribute is a {type(strategy).__name__}, which trains in one process, but "
            f"TF_CONFIG describes a cluster of {counts}. Run one worker and no ps, or give "
            "train_distribute=tf.distribute.experimental.ParameterServerStrategy() or "
            "MultiWorkerMirroredStrategy()."
        )


def _check_is_of_cluster(strategy: Any, cluster: Any) -> None:
    """Check that a strategy of parameter servers is for the cluster where the estimator trains."""
    task = strategy.extended.task
    if task is not None and task.cluster != cluster:
        found = f"describes {cluster.as_dict()}" if cluster else "is not set or names no cluster"
        raise ValueError(
            "train_distribute must have the cluster of TF_CONFIG, because estimators find the "
            f"tasks there. It has {task.cluster.as_dict()}, and TF_CONFIG {found}. Set TF_CONFIG "
            "to the cluster of train_distribute."
        )


def _check_types(config: Any) -> None:
    if config.model_dir is not None and not config.model_dir:
        raise ValueError("model_dir should be non-empty")
    session_config, device_fn = config.session_config, config.device_fn
    if session_config is not None and not isinstance(session_config, config_pb2.ConfigProto):
        raise ValueError("session_config must be instance of ConfigProto")
    if not isinstance(config.tf_random_seed, int | np.integer | None):
        raise ValueError("tf_random_seed must be integer.")
    if device_fn is not None and not (
        callable(device_fn) and arguments.names(device_fn) == ("op",)
    ):
        raise ValueError('device_fn must be callable with exactly one argument "op".')
    if config.protocol not in (None, "grpc", "grpc+verbs"):
        raise ValueError("protocol should be grpc or grpc+verbs")
