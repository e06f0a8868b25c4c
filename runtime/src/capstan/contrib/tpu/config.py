"""The settings of TPUEstimator (contrib/tpu/python/tpu/tpu_config.py)."""

from typing import Any, Final, NamedTuple, Self

from capstan.estimator import run_config


class InputPipelineConfig:
    """The values of `per_host_input_for_training` of TPUConfig."""

    PER_SHARD_V1: Final = 1
    PER_HOST_V1: Final = 2
    PER_HOST_V2: Final = 3
    BROADCAST: Final = 4


class _Fields(NamedTuple):
    iterations_per_loop: int
    num_shards: int | None
    num_cores_per_replica: int | None
    per_host_input_for_training: int
    tpu_job_name: str | None
    initial_infeed_sleep_secs: int | None
    input_partition_dims: Any


class TPUConfig(_Fields):
    """The settings of TPUs, which have no effect without TPUs.

    Raises:
        ValueError: a number is not positive, or `num_cores_per_replica` is not 1, 2, 4, 8 or 16.
    """

    __slots__ = ()

    def __new__(
        cls,
        iterations_per_loop: int = 2,
        num_shards: int | None = None,
        num_cores_per_replica: int | None = None,
        per_host_input_for_training: bool | int = True,
        tpu_job_name: str | None = None,
        initial_infeed_sleep_secs: int | None = None,
        input_partition_dims: Any = None,
    ) -> Self:
        for name, value in (
            ("iterations_per_loop", iterations_per_loop),
            ("num_shards", num_shards),
            ("initial_infeed_sleep_secs", initial_infeed_sleep_secs or None),
        ):
            if value is not None and value <= 0:
                raise ValueError(f"TPUConfig {name} must be positive, but is {value}")
        if num_cores_per_replica not in (None, 1, 2, 4, 8, 16):
            raise ValueError(
                f"num_cores_per_replica must be 1, 2, 4, 8, or 16; got {num_cores_per_replica}"
            )
        per_host = per_host_input_for_training
        if isinstance(per_host, bool):
            kind = InputPipelineConfig
            per_host = kind.PER_HOST_V1 if per_host else kind.PER_SHARD_V1
        return super().__new__(
            cls, iterations_per_loop, num_shards, num_cores_per_replica, per_host, tpu_job_name,
            initial_infeed_sleep_secs, input_partition_dims,
        )  # fmt: skip


class RunConfig(run_config.RunConfig):
    """The settings of `tf.estimator.RunConfig`, and those of TPUs.

    Raises:
        ValueError: a setting is out of range, or names a cluster. TF_CONFIG gives the cluster.
    """

    def __init__(
        self, tpu_config: TPUConfig | None = None, evaluation_master: str | None = None,
        master: str | None = None, cluster: Any = None, **kwargs: Any,
    ) -> None:  # fmt: skip
        if cluster is not None:
            raise ValueError("Capstan knows no TPUs. Leave out `cluster` of RunConfig")
        for name, value in (("master", master), ("evaluation_master", evaluation_master)):
            if value:
                raise ValueError(
                    f"RunConfig takes no {name}, but got {value}. Describe the cluster in the "
                    "environment variable TF_CONFIG"
                )
        super().__init__(**kwargs)
        self._tpu_config = tpu_config or TPUConfig()

    @property
    def tpu_config(self) -> TPUConfig:
        return self._tpu_config

    @property
    def cluster(self) -> None:
        """None: Capstan knows no clusters of TPUs."""

    def replace(self, **kwargs: Any) -> Self:
        """Return a copy with other values of some settings, among them `tpu_config`.

        Raises:
            ValueError: a name is no setting, or a value is out of range.
        """
        tpu_config = kwargs.pop("tpu_config", self._tpu_config)
        changed = super().replace(**kwargs)
        changed._tpu_config = tpu_config
        return changed
