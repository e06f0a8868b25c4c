"""The pod of one attempt of a task: the user's template, and the fields that Capstan adds.

Rule 1: a template belongs to its user. All its fields are passed on, even unknown fields. The API
server checks them. Rule 2: Capstan overrides the fields that tasks and the controller rely on:
name, hostname, subdomain, owner, `restartPolicy`, the `capstan.dev` labels and the variables of the
environment contract. Rule 3: a pod requests no resources that its template does not request.
"""

import re
from collections.abc import Mapping
from typing import Any

from capstan_operator.api.names import ReplicaType, TaskName
from capstan_operator.api.spec import TrainingJob
from capstan_operator.manifests import (
    affinity,
    certificates,
    cluster,
    cluster_file,
    host_network,
    labels,
    volume_claim,
)
from capstan_operator.manifests.cluster import Address, Environment

CHECKPOINT_VOLUME = "capstan-checkpoints"

_PROBE = {"periodSeconds": 5, "timeoutSeconds": 5, "failureThreshold": 12}
"""A task that computes on all its cores may take long to answer, so a task that was ready counts as
unready only after a minute without an answer."""

_MADE_UP = "[b-df-hj-np-tv-xz24-9]{5}"
_MAX_GENERATED = 58
"""How an API server makes a name from `generateName`: five characters after at most so many."""

NOT_OF_A_TEMPLATE = frozenset(
    {
        "creationTimestamp",
        "deletionGracePeriodSeconds",
        "deletionTimestamp",
        "generateName",
        "generation",
        "managedFields",
        "name",
        "namespace",
        "ownerReferences",
        "resourceVersion",
        "selfLink",
        "uid",
    }
)
"""Metadata that only an object can have. A template that was copied from a pod has such
metadata, too. Capstan drops it, as Kubernetes' own controllers do."""


def pod_name(job: TrainingJob, task: TaskName) -> str:
    """Return `<job>-<type>-<index>`: at most 63 characters for a valid job.

    All attempts have the same name, so that a start that is tried twice cannot make two pods.
    """
    return f"{job.metadata.name}-{task}"


def address(job: TrainingJob) -> Address:
    """Return the addresses of a job's tasks: the DNS names that its Service gives them."""
    service = f"{job.metadata.name}.{job.metadata.namespace}.svc.{job.spec.cluster.domain}"
    port = cluster.port(job)

    def of(task: TaskName) -> str:
        return f"{task}.{service}:{port}"

    return of


def environment(job: TrainingJob) -> Environment:
    """Return the environment of a job's tasks. Make it once for all pods of a pass."""
    checkpoint = job.spec.checkpoint
    folder = None if checkpoint is None else checkpoint.path
    tls = certificates.FOLDER if certificates.is_mutual(job) else None
    return cluster.environment(job, address(job), folder, cluster_file.PATH, tls)


def pod(
    job: TrainingJob,
    task: TaskName,
    environment: Environment,
    *,
    attempt: int,
    epoch: int,
    probed: bool = False,
    avoided_node: str = "",
) -> dict[str, Any]:
    """Return the manifest of the pod of one attempt of a task.

    `environment` is the result of the function `environment` for this job. If `probed`, a trainer
    without a readiness probe gets one, which asks the task's server whether it serves. The pod
    prefers other nodes than `avoided_node`, if it is given.
    """
    replica = job.replica(task.type)
    template = replica.template.manifest()
    if probed:
        template["spec"] = _probed(template["spec"], replica.template.trainer_index, job)
    variables = _variables(environment.of(task, attempt=attempt, epoch=epoch))
    spec = _spec(job, task, template["spec"], variables)
    return {
        **template,
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": _metadata(job, task, template, labels.of_task(job, task, attempt, epoch)),
        "spec": affinity.away_from(avoided_node, spec) if avoided_node else spec,
    }


def probe(job: TrainingJob, kind: ReplicaType) -> dict[str, Any]:
    """Return a pod of this type for a dry run. It does not have the name of a task."""
    manifest = pod(job, TaskName(kind, 0), environment(job), attempt=1, epoch=1)
    del manifest["metadata"]["name"]
    manifest["metadata"]["generateName"] = f"{job.metadata.name}-{kind}-"
    return manifest


def of_first_pod(message: str, job: TrainingJob, kind: ReplicaType) -> str:
    """Return what the API server said about `probe`, with the name of the type's first pod in place
    of the name that the server made up.
    """
    begin = re.escape(f"{job.metadata.name}-{kind}-"[:_MAX_GENERATED])
    return re.sub(f"{begin}{_MADE_UP}\\b", pod_name(job, TaskName(kind, 0)), message)


def _probed(spec: Mapping[str, Any], trainer: int, job: TrainingJob) -> dict[str, Any]:
    """Return the spec of a pod with a readiness probe for its trainer.

    A kubelet cannot encrypt its questions. It only connects to a task with certificates.
    """
    containers = list(spec["containers"])
    kind = "tcpSocket" if certificates.is_mutual(job) else "grpc"
    probe = {kind: {"port": cluster.port(job)}, **_PROBE}
    containers[trainer] = {"readinessProbe": probe, **containers[trainer]}
    return {**spec, "containers": containers}


def _metadata(
    job: TrainingJob, task: TaskName, template: Mapping[str, Any], ours: Mapping[str, str]
) -> dict[str, Any]:
    given: Mapping[str, Any] = template.get("metadata") or {}
    wanted = given.get("labels") or {}
    return {
        **{field: value for field, value in given.items() if field not in NOT_OF_A_TEMPLATE},
        "name": pod_name(job, task),
        "namespace": job.metadata.namespace,
        "labels": {**ours, **{key: wanted[key] for key in wanted if not labels.is_ours(key)}},
        "ownerReferences": [labels.owner(job)],
    }


def _spec(
    job: TrainingJob, task: TaskName, given: Mapping[str, Any], variables: list[dict[str, str]]
) -> dict[str, Any]:
    checkpoint = job.spec.checkpoint
    spec = {
        **given,
        "restartPolicy": "Never",
        "hostname": str(task),
        "subdomain": job.metadata.name,
    }
    # No container starts with a host name of more than 64 bytes, and a task's FQDN may be longer.
    spec.pop("setHostnameAsFQDN", None)
    for kind in ("initContainers", "containers"):
        if given.get(kind):
            spec[kind] = [_container(container, variables, job) for container in given[kind]]
    spec["volumes"] = [*(given.get("volumes") or []), cluster_file.volume(job)]
    if certificates.is_mutual(job):
        spec["volumes"].append(certificates.volume(job, task))
    if checkpoint is not None:
        claim = {"claimName": volume_claim.mounted(job, checkpoint)}
        volume = {"name": CHECKPOINT_VOLUME, "persistentVolumeClaim": claim}
        spec["volumes"].append(volume)
    port = None if task.type is ReplicaType.EVALUATOR else cluster.port(job)
    spec = host_network.prepared(spec, job.replica(task.type).template.trainer_index, port)
    return affinity.spread(job, task.type, spec)


def _container(
    given: Mapping[str, Any], variables: list[dict[str, str]], job: TrainingJob
) -> dict[str, Any]:
    names = {variable["name"] for variable in variables}
    own = [variable for variable in given.get("env") or [] if variable.get("name") not in names]
    # The contract comes first, because a variable may refer only to variables before it.
    container = {
        "terminationMessagePolicy": "FallbackToLogsOnError",
        **given,
        "env": [*variables, *own],
    }
    container["volumeMounts"] = [*(given.get("volumeMounts") or []), cluster_file.mount()]
    if certificates.is_mutual(job):
        container["volumeMounts"].append(certificates.mount())
    checkpoint = job.spec.checkpoint
    if checkpoint is not None:
        mount = {"name": CHECKPOINT_VOLUME, "mountPath": checkpoint.path}
        container["volumeMounts"].append(mount)
    return container


def _variables(values: Mapping[str, str]) -> list[dict[str, str]]:
    # Kubernetes expands $(NAME) in values, and reads $$ as a literal dollar sign.
    return [{"name": name, "value": value.replace("$", "$$")} for name, value in values.items()]
