"""`tf.estimator.RunConfig`: how an estimator runs, and where its task is in the cluster.

Source: tensorflow/python/estimator/run_config.py.
"""

import copy
import os
from collections.abc import Callable, Mapping
from typing import Any, Final, Self

from tensorboard.compat.proto import config_pb2, rewriter_config_pb2

from capstan.api import logging
from capstan.core import cluster as clusters
from capstan.estimator import distribute_config, run_config_checks, tf_config

TaskType = tf_config.TaskType

_USE_DEFAULT: Final = object()
_REPLACEABLE: Final = (
    "model_dir",
    "tf_random_seed",
    "save_summary_steps",
    "save_checkpoints_steps",
    "save_checkpoints_secs",
    "session_config",
    "keep_checkpoint_max",
    "keep_checkpoint_every_n_hours",
    "log_step_count_steps",
    "train_distribute",
    "device_fn",
    "protocol",
    "eval_distribute",
    "experimental_distribute",
    "experimental_max_worker_delay_secs",
    "session_creation_timeout_secs",
)
_BOTH_INTERVALS: Final = "`save_checkpoints_steps` and `save_checkpoints_secs` cannot be both set."
_SAVE_SECS: Final = 600


def _setting(name: str) -> Any:
    return property(lambda config: getattr(config, f"_{name}"))


def _field(name: str) -> Any:
    """Return a property that is a field of the place in the cluster."""
    return property(lambda config: getattr(config._place, name))


class RunConfig:
    """The settings of an estimator's runs. The environment variable TF_CONFIG gives the cluster.

    A program may change a setting with `replace`, and cannot change the place in the cluster.
    Summaries are saved every `save_summary_steps` steps. Checkpoints are saved every
    `save_checkpoints_steps` steps or every `save_checkpoints_secs` seconds, by default every 600
    seconds. If both are None, no checkpoint is saved. The newest `keep_checkpoint_max` checkpoints
    are kept, and one in every `keep_checkpoint_every_n_hours`. The loss and the step rate are
    logged every `log_step_count_steps` steps. `device_fn(op)` returns the device of an operation.
    The default spreads variables over the ps tasks. `protocol` is the protocol of the server. A
    worker starts at most `experimental_max_worker_delay_secs` seconds after the chief, and waits
    at most `session_creation_timeout_secs` seconds for a session.

    `train_distribute` and `eval_distribute` may be a strategy of `tf.distribute`, such as a
    MirroredStrategy. The model is then called in each replica, and `input_fn` must return a dataset
    with the batches of one replica. Such a strategy trains in one process, so TF_CONFIG may
    describe one worker and no ps. A ParameterServerStrategy changes nothing: training is between
    graphs and without synchronization, and an evaluation runs in one process. A
    `tf.contrib.distribute.DistributeConfig` as `experimental_distribute` may give both.

    In a cluster, the default `session_config` lets a task talk to itself and to the ps tasks only.

    Raises:
        ValueError: a setting is out of range, both intervals of checkpoints are given, TF_CONFIG
            does not describe a task, or it describes several workers or a ps for a strategy that
            trains in one process.
    """

    def __init__(
        self,
        model_dir: Any = None,
        tf_random_seed: int | None = None,
        save_summary_steps: int | None = 100,
        save_checkpoints_steps: Any = _USE_DEFAULT,
        save_checkpoints_secs: Any = _USE_DEFAULT,
        session_config: Any = None,
        keep_checkpoint_max: int | None = 5,
        keep_checkpoint_every_n_hours: float = 10000,
        log_step_count_steps: int | None = 100,
        train_distribute: Any = None,
        device_fn: Callable[[Any], str] | None = None,
        protocol: str | None = None,
        eval_distribute: Any = None,
        experimental_distribute: Any = None,
        experimental_max_worker_delay_secs: float | None = None,
        session_creation_timeout_secs: float = 7200,
    ) -> None:
        steps, secs = _intervals(save_checkpoints_steps, save_checkpoints_secs)
        environment = clusters.tf_config_object(os.environ.get("TF_CONFIG", ""))
        if environment:
            logging.info("TF_CONFIG environment variable: %s", environment)
        strategies = distribute_config.strategies(
            experimental_distribute,
            train_distribute=train_distribute,
            eval_distribute=eval_distribute,
        )
        self._place = self._read_place(environment, strategies["train_distribute"])
        self._set(
            model_dir=_model_dir(environment, model_dir),
            tf_random_seed=tf_random_seed,
            save_summary_steps=save_summary_steps,
            save_checkpoints_steps=steps,
            save_checkpoints_secs=secs,
            session_config=(
                self._default_session_config() if session_config is None else session_config
            ),
            keep_checkpoint_max=keep_checkpoint_max,
            keep_checkpoint_every_n_hours=keep_checkpoint_every_n_hours,
            log_step_count_steps=log_step_count_steps,
            device_fn=device_fn,
            protocol=protocol,
            **strategies,
            experimental_distribute=experimental_distribute,
            experimental_max_worker_delay_secs=experimental_max_worker_delay_secs,
            session_creation_timeout_secs=session_creation_timeout_secs,
        )

    def _read_place(self, environment: Mapping[str, Any], train_distribute: Any) -> tf_config.Place:
        """Return the place of the task that TF_CONFIG describes."""
        return tf_config.place(
            environment, has_equal_workers=run_config_checks.has_equal_workers(train_distribute)
        )

    def replace(self, **kwargs: Any) -> Self:
        """Return a copy with other values of some settings.

        One interval of checkpoints takes the place of the other interval.

        Raises:
            ValueError: a name is not a setting, or a value is out of range.
        """
        changed = copy.deepcopy(self)
        changed._set(**kwargs)
        return changed

    def _set(self, **kwargs: Any) -> None:
        for name, value in kwargs.items():
            if name not in _REPLACEABLE:
                raise ValueError(
                    f"Replacing {name} is not supported. Allowed properties are "
                    f"{list(_REPLACEABLE)}."
                )
            setattr(self, f"_{name}", value)
        steps, secs = (
            kwargs.get(f"save_checkpoints_{unit}") is not None for unit in ("steps", "secs")
        )
        if steps and secs:
            raise ValueError(_BOTH_INTERVALS)
        if steps:
            self._save_checkpoints_secs = None
        elif secs:
            self._save_checkpoints_steps = None
        run_config_checks.check(self)

    def _default_session_config(self) -> Any:
        """Return the default for sessions in a cluster, or None."""
        place = self._place
        if not place.cluster_spec:
            return None
        own = {
            TaskType.MASTER: ["/job:master"],
            TaskType.CHIEF: ["/job:chief"],
            TaskType.WORKER: [f"/job:worker/task:{place.task_id}"],
            TaskType.PS: ["/job:worker", "/job:chief", "/job:master"],
        }
        if place.task_type not in own:
            return None
        config = default_session_config()
        config.device_filters.extend(["/job:ps", *own[place.task_type]])
        return config

    model_dir = _setting("model_dir")
    tf_random_seed = _setting("tf_random_seed")
    save_summary_steps = _setting("save_summary_steps")
    save_checkpoints_steps = _setting("save_checkpoints_steps")
    save_checkpoints_secs = _setting("save_checkpoints_secs")
    session_config = _setting("session_config")
    keep_checkpoint_max = _setting("keep_checkpoint_max")
    keep_checkpoint_every_n_hours = _setting("keep_checkpoint_every_n_hours")
    log_step_count_steps = _setting("log_step_count_steps")
    train_distribute = _setting("train_distribute")
    device_fn = _setting("device_fn")
    protocol = _setting("protocol")
    eval_distribute = _setting("eval_distribute")
    experimental_distribute = _setting("experimental_distribute")
    experimental_max_worker_delay_secs = _setting("experimental_max_worker_delay_secs")
    session_creation_timeout_secs = _setting("session_creation_timeout_secs")

    cluster_spec = _field("cluster_spec")
    task_type = _field("task_type")
    task_id = _field("task_id")
    global_id_in_cluster = _field("global_id_in_cluster")
    master = _field("master")
    evaluation_master = _field("evaluation_master")
    num_ps_replicas = _field("num_ps_replicas")
    num_worker_replicas = _field("num_worker_replicas")
    is_chief = _field("is_chief")
    service = _field("service")


def default_session_config() -> Any:
    """Return the ConfigProto of a session that has no other configuration."""
    options = rewriter_config_pb2.RewriterConfig(
        meta_optimizer_iterations=rewriter_config_pb2.RewriterConfig.ONE
    )
    return config_pb2.ConfigProto(
        allow_soft_placement=True,
        graph_options=config_pb2.GraphOptions(rewrite_options=options),
    )


def _intervals(steps: Any, secs: Any) -> tuple[int | None, float | None]:
    """Return the interval between checkpoints in steps and in seconds."""
    if steps is _USE_DEFAULT and secs is _USE_DEFAULT:
        return None, _SAVE_SECS
    return None if steps is _USE_DEFAULT else steps, None if secs is _USE_DEFAULT else secs


def _model_dir(environment: Mapping[str, Any], given: Any) -> str | None:
    """Return the folder of the model, which the program, TF_CONFIG or neither names."""
    folder = None if given is None else os.fspath(given)
    if folder == "":
        raise ValueError("model_dir should be non-empty.")
    other = environment.get("model_dir")
    if other == "":
        raise ValueError("model_dir in TF_CONFIG should be non-empty.")
    if folder and other and folder != other:
        raise ValueError(
            "`model_dir` provided in RunConfig construct, if set, must have the same value as the "
            f'model_dir in TF_CONFIG. model_dir: {folder}\nTF_CONFIG["model_dir"]: {other}.\n'
        )
    return folder or other
