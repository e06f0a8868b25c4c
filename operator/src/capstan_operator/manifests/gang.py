"""The PodGroup by which a scheduler starts the pods of a job together or not at all.

The schedulers differ in the fields of the PodGroup, and in how a pod names its group:

    scheduler       apiVersion                       size                            a pod
    Kubernetes'     scheduling.k8s.io/v1beta1        schedulingPolicy.gang.minCount  spec
    Kubernetes'     scheduling.k8s.io/v1alpha2       schedulingPolicy.gang.minCount  spec
    coscheduling    scheduling.x-k8s.io/v1alpha1     minMember                       a label
    Volcano         scheduling.volcano.sh/v1beta1    minMember                       an annotation

Coscheduling and Volcano run beside the default scheduler, so pods name them, unless their template
names another scheduler.
"""

from dataclasses import dataclass
from typing import Any

from capstan_operator.api.names import TaskName
from capstan_operator.api.spec import Gang, TrainingJob
from capstan_operator.manifests import labels


@dataclass(frozen=True, slots=True)
class BackEnd:
    """A scheduler of pod groups, with one version of its API."""

    kind: Gang
    version: str
    scheduler: str | None = None
    """The name under which the scheduler is installed by default. None for the default one."""
    resizable: bool = True
    """Whether the size of a PodGroup can be changed."""


BACK_ENDS = (
    BackEnd(Gang.NATIVE, "scheduling.k8s.io/v1beta1"),
    # Kubernetes 1.36.
    BackEnd(Gang.NATIVE, "scheduling.k8s.io/v1alpha2", resizable=False),
    BackEnd(Gang.COSCHEDULING, "scheduling.x-k8s.io/v1alpha1", "scheduler-plugins-scheduler"),
    BackEnd(Gang.VOLCANO, "scheduling.volcano.sh/v1beta1", "volcano"),
)
"""All back ends. `Auto` takes the first that the API server serves."""


@dataclass(frozen=True, slots=True)
class PodGroup:
    """A PodGroup of this size."""

    back_end: BackEnd
    name: str
    size: int

    def joined(self, pod: dict[str, Any], task: TaskName) -> dict[str, Any]:
        """Return the manifest of a pod as a member of the group."""
        metadata, spec = pod["metadata"], pod["spec"]
        match self.back_end.kind:
            case Gang.COSCHEDULING:
                marks = {**metadata["labels"], "scheduling.x-k8s.io/pod-group": self.name}
                metadata = {**metadata, "labels": marks}
            case Gang.VOLCANO:
                given = metadata.get("annotations") or {}
                marks = {**given, "scheduling.k8s.io/group-name": self.name}
                metadata = {**metadata, "annotations": marks}
            case _:
                spec = {**spec, "schedulingGroup": {"podGroupName": self.name}}
        if self.back_end.scheduler is not None:
            spec = {**spec, "schedulerName": spec.get("schedulerName") or self.back_end.scheduler}
        return {**pod, "metadata": metadata, "spec": spec}

    def manifest(self, job: TrainingJob) -> dict[str, Any]:
        """Return the PodGroup of a job."""
        native = {"schedulingPolicy": {"gang": {"minCount": self.size}}}
        return {
            "apiVersion": self.back_end.version,
            "kind": "PodGroup",
            "metadata": labels.metadata(job, self.name, applied=True),
            "spec": native if self.back_end.kind is Gang.NATIVE else {"minMember": self.size},
        }


def group(job: TrainingJob, back_end: BackEnd, size: int) -> PodGroup:
    """Return the PodGroup of a gang of this size."""
    name = job.metadata.name if back_end.resizable else f"{job.metadata.name}-{size}"
    return PodGroup(back_end, name, size)
