"""The settings of TPUEstimator (tensorflow_estimator/python/estimator/tpu/tpu_config.py)."""

import re
from typing import Any, Final, NamedTuple, Self

from capstan.estimator import run_config

_LOOP: Final = re.compile(r"[1-9]\d*[smh]?")


class InputPipelineConfig:
    """The values of `per_host_input_for_training` of TPUConfig.

    `eval_training_input_configuration` is PER_HOST_V1 or SLICED.
    """

    PER_SHARD_V1: Final = 1
    PER_HOST_V1: Final = 2
    PER_HOST_V2: Final = 3
    BROADCAST: Final = 4
    SLICED: Final = 5


class _Fields(NamedTuple):
    iterations_per_loop: int | str
    num_shards: int | None
    num_cores_per_replica: int | None
    per_host_input_for_training: int
    tpu_job_name: str | None
    initial_infeed_sleep_secs: int | None
    input_partition_dims: Any
    eval_training_input_configuration: int
    experimental_host_call_every_n_steps: int


class TPUConfig(_Fields):
    """The settings of TPUs, which have no effect without TPUs.

    `iterations_per_loop` is a number of steps, or a time such as `60s`, `5m` or `1h`.

    Raises:
        ValueError: a number is not positive, `num_cores_per_replica` is not a power of 2 up to 128,
            `iterations_per_loop` is not a number or time, or `eval_training_input_configuration` is
            another value than PER_HOST_V1 and SLICED.
    """

    __slots__ = ()

    def __new__(
        cls,
        iterations_per_loop: int | str = 2,
        num_shards: int | None = None,
        num_cores_per_replica: int | None = None,
        per_host_input_for_training: bool | int = True,
        tpu_job_name: str | None = None,
        initial_infeed_sleep_secs: int | None = None,
        input_partition_dims: Any = None,
        eval_training_input_configuration: int = InputPipelineConfig.PER_HOST_V1,
        experimental_host_call_every_n_steps: int = 1,
    ) -> Self:
        if not _LOOP.fullmatch(str(iterations_per_loop)):
            raise ValueError(
                "TPUConfig iterations_per_loop must be a positive integer, or a time such as "
                f"'3600s', '60m' or '1h', but is {iterations_per_loop!r}"
            )
        for name, value in (
            ("num_shards", num_shards),
            ("initial_infeed_sleep_secs", initial_infeed_sleep_secs or None),
        ):
            if value is not None and value <= 0:
                raise ValueError(f"TPUConfig {name} must be positive, but is {value}")
        if num_cores_per_replica not in (None, 1, 2, 4, 8, 16, 32, 64, 128):
            raise ValueError(
                "num_cores_per_replica must be 1, 2, 4, 8, 16, 32, 64, 128; "
                f"got {num_cores_per_replica}"
            )
        kinds = InputPipelineConfig
        if eval_training_input_configuration not in (kinds.PER_HOST_V1, kinds.SLICED):
            raise ValueError(
                "eval_training_input_configuration must be PER_HOST_V1 or SLICED; "
                f"got {eval_training_input_configuration}"
            )
        per_host = per_host_input_for_training
        if isinstance(per_host, bool):
            per_host = kinds.PER_HOST_V1 if per_host else kinds.PER_SHARD_V1
        return super().__new__(
            cls, iterations_per_loop, num_shards, num_cores_per_replica, per_host, tpu_job_name,
            initial_infeed_sleep_secs, input_partition_dims, eval_training_input_configuration,
            experimental_host_call_every_n_steps,
        )  # fmt: skip


class RunConfig(run_config.RunConfig):
    """The settings of `tf.estimator.RunConfig`, and those of TPUs.

    Raises:
        ValueError: a setting is out of range, or names a cluster. TF_CONFIG gives the cluster. A
            `cluster` is a TPUClusterResolver of no TPUs.
    """

    def __init__(
        self, tpu_config: TPUConfig | None = None, evaluation_master: str | None = None,
        master: str | None = None, cluster: Any = None, **kwargs: Any,
    ) -> None:  # fmt: skip
        if cluster is not None and cluster.master():
            raise ValueError("Capstan knows no TPUs. Leave out `cluster` of RunConfig")
        for name, value in (("master", master), ("evaluation_master", evaluation_master)):
            if value:
                raise ValueError(
                    f"RunConfig takes no {name}, but got {value}. Describe the cluster in the "
                    "environment variable TF_CONFIG"
                )
        super().__init__(**kwargs)
        self._tpu_config = tpu_config or TPUConfig()
        self._resolver = cluster

    @property
    def tpu_config(self) -> TPUConfig:
        return self._tpu_config

    @property
    def cluster(self) -> Any:
        """The TPUClusterResolver, or None."""
        return self._resolver

    def replace(self, **kwargs: Any) -> Self:
        """Return a copy with other values of some settings, among them `tpu_config`.

        Raises:
            ValueError: a name is not a setting, or a value is out of range.
        """
        tpu_config = kwargs.pop("tpu_config", self._tpu_config)
        changed = super().replace(**kwargs)
        changed._tpu_config = tpu_config
        return changed
