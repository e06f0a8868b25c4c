"""The Secrets with the certificates of a job, and the files that its tasks read.

One Secret has the key of the job's authority, and no pod mounts it. Each task has a Secret of its
own, which the kubelet shows as files in every container of the task. The names of the Secrets
contain the UID of the job, so that a task never reads a Secret of a deleted job of the same name.
"""

from collections.abc import Mapping
from typing import Any, Final

from capstan_operator.api.names import TaskName
from capstan_operator.api.spec import TlsMode, TrainingJob
from capstan_operator.manifests import labels

FOLDER: Final = "/etc/capstan/tls"
"""The value of CAPSTAN_TLS_DIR."""
VOLUME: Final = "capstan-tls"
AUTHORITY: Final = "ca.crt"
CHAIN: Final = "tls.crt"
KEY: Final = "tls.key"

_UID_LENGTH = 8


def is_mutual(job: TrainingJob) -> bool:
    """Return whether the tasks of a job have certificates that the operator makes."""
    return job.spec.cluster.tls.mode is TlsMode.MUTUAL


def authority_name(job: TrainingJob) -> str:
    """Return the name of the Secret with the key of a job's authority."""
    return f"{job.metadata.name}-tls-{job.metadata.uid[:_UID_LENGTH]}"


def task_secret_name(job: TrainingJob, task: TaskName) -> str:
    """Return the name of the Secret that a task mounts. All attempts of the task share it."""
    return f"{job.metadata.name}-{task}-tls-{job.metadata.uid[:_UID_LENGTH]}"


def hosts(job: TrainingJob, task: TaskName) -> tuple[str, ...]:
    """Return the names of a task's server: its DNS name, and `localhost` for its own sessions."""
    metadata = job.metadata
    domain = job.spec.cluster.domain
    return f"{task}.{metadata.name}.{metadata.namespace}.svc.{domain}", "localhost"


def volume(job: TrainingJob, task: TaskName) -> dict[str, Any]:
    """Return the volume with a task's files. A pod waits in the kubelet until its Secret exists."""
    return {"name": VOLUME, "secret": {"secretName": task_secret_name(job, task)}}


def mount() -> dict[str, Any]:
    # A mount of the files alone (`subPath`) would never be updated.
    return {"name": VOLUME, "mountPath": FOLDER, "readOnly": True}


def secret(job: TrainingJob, name: str, data: Mapping[str, str]) -> dict[str, Any]:
    """Return a Secret of the job. `data` has the contents of the files in base64."""
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "type": "kubernetes.io/tls",
        "metadata": labels.metadata(job, name, applied=True),
        "data": dict(data),
    }
