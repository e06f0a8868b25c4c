"""The settings of a session: the fields of ConfigProto that Capstan honours, as a plain value.

All other fields of ConfigProto are accepted and have no effect.
"""

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class GpuOptions:
    """Which GPUs a task takes, and how much of their memory. `tf.GPUOptions` has these fields.

    `memory_fraction` is a part of the whole memory of each GPU. 0 stands for nearly all memory that
    is free.
    """

    visible_device_list: str = ""
    memory_fraction: float = 0.0
    allow_growth: bool = False


@dataclass(frozen=True, slots=True)
class SessionConfig:
    """The settings of one session. `tf.ConfigProto` documents each field.

    `operation_timeout_ms` limits every blocking call of the session. 0 means no limit. A thread
    count of 0 leaves the choice to the runtime. `device_count` limits the number of devices of a
    type in an in-process session. If `build_cost_model` is n, it asks for the costs of every n-th
    step that returns metadata, after the first `build_cost_model_after` steps. 0 asks for none.
    `collective_group_leader` names the task that knows the groups of collective operations. It
    counts in the settings of a server. `inter_op_thread_pools` are the numbers of threads of the
    pools of the session. Only in-process sessions have pools. `has_cluster_def` says that the
    ConfigProto has a ClusterDef. Masters of servers refuse it, and a session without a server
    ignores it.
    """

    allow_soft_placement: bool = False
    log_device_placement: bool = False
    device_filters: tuple[str, ...] = ()
    operation_timeout_ms: int = 0
    inter_op_parallelism_threads: int = 0
    intra_op_parallelism_threads: int = 0
    isolate_session_state: bool = False
    device_count: dict[str, int] = field(default_factory=dict, hash=False)
    build_cost_model: int = 0
    build_cost_model_after: int = 0
    gpu_options: GpuOptions = GpuOptions()
    collective_group_leader: str = ""
    inter_op_thread_pools: tuple[int, ...] = ()
    use_per_session_threads: bool = False
    has_cluster_def: bool = False

    @classmethod
    def from_proto(cls, proto: Any) -> "SessionConfig":
        """Return the settings in a ConfigProto. None stands for the defaults.

        Raises:
            ValueError: the operation timeout is negative.
        """
        if proto is None:
            return cls()
        config = cls(
            allow_soft_placement=proto.allow_soft_placement,
            log_device_placement=proto.log_device_placement,
            device_filters=tuple(proto.device_filters),
            operation_timeout_ms=proto.operation_timeout_in_ms,
            inter_op_parallelism_threads=proto.inter_op_parallelism_threads,
            intra_op_parallelism_threads=proto.intra_op_parallelism_threads,
            isolate_session_state=proto.isolate_session_state,
            device_count=dict(proto.device_count),
            build_cost_model=proto.graph_options.build_cost_model,
            build_cost_model_after=proto.graph_options.build_cost_model_after,
            collective_group_leader=proto.experimental.collective_group_leader,
            inter_op_thread_pools=tuple(
                pool.num_threads for pool in proto.session_inter_op_thread_pool
            ),
            use_per_session_threads=proto.use_per_session_threads,
            has_cluster_def=proto.HasField("cluster_def"),
            gpu_options=GpuOptions(
                visible_device_list=proto.gpu_options.visible_device_list,
                memory_fraction=proto.gpu_options.per_process_gpu_memory_fraction,
                allow_growth=proto.gpu_options.allow_growth,
            ),
        )
        if config.operation_timeout_ms < 0:
            raise ValueError(
                "ConfigProto.operation_timeout_in_ms must not be negative, but is "
                f"{config.operation_timeout_ms}: leave it at 0 for no limit"
            )
        return config

    @property
    def inter_op_threads(self) -> int:
        """The number of threads of an in-process session. 0 leaves the choice to the runtime.

        All pools share the threads, so a step in one of them may use more threads than the pool has
        in TensorFlow, but never fewer.
        """
        usual = self.inter_op_parallelism_threads
        counts = [count or usual for count in self.inter_op_thread_pools]
        return sum(counts) if counts and min(counts) > 0 else usual

    def to_proto(self) -> Any:
        """Return the settings as a ConfigProto, to be sent to a master."""
        from tensorboard.compat.proto import config_pb2

        proto = config_pb2.ConfigProto(
            allow_soft_placement=self.allow_soft_placement,
            log_device_placement=self.log_device_placement,
            device_filters=self.device_filters,
            operation_timeout_in_ms=self.operation_timeout_ms,
            inter_op_parallelism_threads=self.inter_op_parallelism_threads,
            intra_op_parallelism_threads=self.intra_op_parallelism_threads,
            isolate_session_state=self.isolate_session_state,
            device_count=self.device_count,
            use_per_session_threads=self.use_per_session_threads,
        )
        for count in self.inter_op_thread_pools:
            proto.session_inter_op_thread_pool.add(num_threads=count)
        if self.build_cost_model:
            proto.graph_options.build_cost_model = self.build_cost_model
            proto.graph_options.build_cost_model_after = self.build_cost_model_after
        if self.gpu_options != GpuOptions():
            proto.gpu_options.visible_device_list = self.gpu_options.visible_device_list
            proto.gpu_options.per_process_gpu_memory_fraction = self.gpu_options.memory_fraction
            proto.gpu_options.allow_growth = self.gpu_options.allow_growth
        if self.collective_group_leader:
            proto.experimental.collective_group_leader = self.collective_group_leader
        if self.has_cluster_def:
            proto.cluster_def.SetInParent()
        return proto
