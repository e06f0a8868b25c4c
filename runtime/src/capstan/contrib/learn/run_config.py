"""`tf.contrib.learn.RunConfig` (contrib/learn/python/learn/estimators/run_config.py)."""

import dataclasses
from collections.abc import Mapping
from typing import Any, Final

from tensorboard.compat.proto import config_pb2

from capstan.estimator import run_config, tf_config

TaskType = run_config.TaskType
_USE_DEFAULT: Final = 0
_DEFAULT_UID_WHITE_LIST: Final = (
    "tf_random_seed",
    "save_summary_steps",
    "save_checkpoints_steps",
    "save_checkpoints_secs",
    "session_config",
    "keep_checkpoint_max",
    "keep_checkpoint_every_n_hours",
    "log_step_count_steps",
)
"""The settings that `uid` leaves out, because an experiment function may change them."""


class Environment:
    """The names of environments in TF_CONFIG. None of them changes what Capstan does."""

    CLOUD = "cloud"
    GOOGLE = "google"
    LOCAL = "local"


class RunConfig(run_config.RunConfig):
    """The settings of an estimator's runs, with the arguments of TensorFlow 1's contrib.

    The cluster of TF_CONFIG needs no chief: without a master or chief, worker 0 is the chief.
    `master` takes the place of the address of TF_CONFIG. `num_cores`, `log_device_placement` and
    `gpu_memory_fraction` make the ConfigProto `tf_config`. It is the configuration of sessions if
    there is no `session_config`. The other arguments are those of `tf.estimator.RunConfig`.

    Raises: as `tf.estimator.RunConfig`.
    """

    def __init__(
        self,
        master: str | None = None,
        num_cores: int = 0,
        log_device_placement: bool = False,
        gpu_memory_fraction: float = 1,
        tf_random_seed: int | None = None,
        save_summary_steps: int | None = 100,
        save_checkpoints_secs: float | None = _USE_DEFAULT,
        save_checkpoints_steps: int | None = None,
        keep_checkpoint_max: int | None = 5,
        keep_checkpoint_every_n_hours: float = 10000,
        log_step_count_steps: int | None = 100,
        protocol: str | None = None,
        evaluation_master: str = "",
        model_dir: Any = None,
        session_config: Any = None,
    ) -> None:
        if save_checkpoints_secs == _USE_DEFAULT:
            save_checkpoints_secs = 600 if save_checkpoints_steps is None else None
        self._environment = Environment.LOCAL
        self._tf_config = config_pb2.ConfigProto(
            log_device_placement=log_device_placement,
            inter_op_parallelism_threads=num_cores,
            intra_op_parallelism_threads=num_cores,
            gpu_options=config_pb2.GPUOptions(per_process_gpu_memory_fraction=gpu_memory_fraction),
        )
        is_configured = num_cores or log_device_placement or gpu_memory_fraction != 1
        super().__init__(
            model_dir,
            tf_random_seed,
            save_summary_steps,
            save_checkpoints_steps,
            save_checkpoints_secs,
            self._tf_config if session_config is None and is_configured else session_config,
            keep_checkpoint_max,
            keep_checkpoint_every_n_hours,
            log_step_count_steps,
            protocol=protocol,
        )
        if master is not None:
            self._place = dataclasses.replace(self._place, master=master)
        if evaluation_master:
            self._place = dataclasses.replace(self._place, evaluation_master=evaluation_master)

    def _read_place(self, environment: Mapping[str, Any], train_distribute: Any) -> tf_config.Place:
        self._environment = environment.get("environment", Environment.LOCAL)
        if not environment.get("cluster"):
            # TensorFlow ignores the type of a task that is alone.
            environment = {key: value for key, value in environment.items() if key != "task"}
        return tf_config.place(environment, has_equal_workers=True)

    @property
    def environment(self) -> str:
        """The environment that TF_CONFIG names."""
        return self._environment

    @property
    def tf_config(self) -> Any:
        """The ConfigProto of the old arguments."""
        return self._tf_config

    @staticmethod
    def get_task_id() -> int:
        """Return the index of the task in TF_CONFIG, or 0."""
        return int(RunConfig().task_id)

    def uid(self, whitelist: Any = None) -> str:
        """Return a text that is equal for equal settings, without those of `whitelist`."""
        left_out = {
            f"_{name}" for name in (_DEFAULT_UID_WHITE_LIST if whitelist is None else whitelist)
        }
        kept = {name: value for name, value in vars(self).items() if name not in left_out}
        return ", ".join(f"{name}={value!r}" for name, value in sorted(kept.items()))
