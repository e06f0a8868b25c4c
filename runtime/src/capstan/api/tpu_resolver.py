"""The resolver of clusters of TPUs, for programs that also run without TPUs."""

from typing import Any

from capstan.api.task_resolver import ClusterResolver
from capstan.core import cluster


class TPUClusterResolver(ClusterResolver):
    """Stands for the TPUs of this machine, of which Capstan knows none.

    Programs make it with the TPU "" before they train on CPUs and GPUs. The other arguments, such
    as `zone` and `project`, have no effect.

    Raises:
        ValueError: `tpu` is missing, or the name or the address of a TPU.
    """

    def __init__(
        self,
        tpu: Any = None,
        zone: str | None = None,
        project: str | None = None,
        job_name: str = "worker",
        coordinator_name: str | None = None,
        coordinator_address: str | None = None,
        credentials: Any = "default",
        service: Any = None,
        discovery_url: str | None = None,
    ) -> None:
        name = tpu[0] if isinstance(tpu, list) and len(tpu) == 1 else tpu
        if name not in ("", "local"):
            raise ValueError(
                f"TPUClusterResolver cannot resolve {tpu!r}, because Capstan knows no TPUs. Pass "
                "tpu='' to train on CPUs and GPUs, or make no resolver"
            )
        self.task_type, self.task_id, self.rpc_layer = job_name, 0, None

    def cluster_spec(self) -> cluster.ClusterSpec:
        """Return a cluster without tasks."""
        return cluster.ClusterSpec({})

    def master(
        self,
        task_type: str | None = None,
        task_id: int | None = None,
        rpc_layer: str | None = None,
    ) -> str:
        """Return "", the target of sessions in this process."""
        return ""

    def get_master(self) -> str:
        """Return "", the target of sessions in this process."""
        return self.master()

    def get_job_name(self) -> None:
        """Return None: there are no tasks of TPUs."""
