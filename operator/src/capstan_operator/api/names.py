"""The names that the operator shares with tasks, users and clusters, each written once."""

import enum
import re
from dataclasses import dataclass
from typing import NewType, Self

GROUP = "capstan.dev"
VERSION = "v1alpha1"
PLURAL = "trainingjobs"
KIND = "TrainingJob"
MANAGER = f"{GROUP}/operator"
"""This operator's name in `spec.managedBy`."""
FIELD_MANAGER = "capstan-operator"
"""The operator's name in server-side apply."""

OPERATOR_SELECTOR = "app.kubernetes.io/part-of=capstan,app.kubernetes.io/component=operator"
"""Selects the Deployments and pods of operators, whatever the names of their releases are."""

LABEL_JOB_NAME = f"{GROUP}/job-name"
LABEL_JOB_UID = f"{GROUP}/job-uid"
LABEL_REPLICA_TYPE = f"{GROUP}/replica-type"
LABEL_REPLICA_INDEX = f"{GROUP}/replica-index"
LABEL_ATTEMPT = f"{GROUP}/attempt"
LABEL_EPOCH = f"{GROUP}/epoch"

KUEUE = "kueue.x-k8s.io"
"""The domain of Kueue's labels and annotations."""

Uid = NewType("Uid", str)
"""The identity of one instance of a task: the UID of a pod, or of a process. Opaque."""

DEFAULT_PORT = 2222
"""The port of every task on a cluster, as in TensorFlow's examples."""

TRAINER = "trainer"
"""The name of the container that is the task, if the pod has several containers."""

DNS_LABEL = r"^[a-z]([-a-z0-9]*[a-z0-9])?$"
NAMESPACE = r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?"
"""The name of a namespace: a label of RFC 1123, which may begin with a digit."""
MAX_NAME = 63

DNS_SUBDOMAIN = r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$"
MAX_SUBDOMAIN = 253

DOMAIN_PREFIXED = r"^[a-z0-9]([-a-z0-9.]*[a-z0-9])?/[-A-Za-z0-9._~/]+$"
MAX_MANAGER = 63
"""The most characters of `spec.managedBy`, as in Kubernetes' Job."""

QUANTITY = r"^[0-9]{1,18}(\.[0-9]{1,9})?(k|M|G|T|P|E|Ki|Mi|Gi|Ti|Pi|Ei)?$"
"""A size of storage, as Kubernetes writes it."""
MAX_QUANTITY = 30
ABSOLUTE_PATH = r"^/[^:]*$"
MAX_PATH = 1024
"""The most characters of a mount path. Kubernetes allows no colon in a mount path."""


class ReplicaType(enum.StrEnum):
    """The replica types, which are TensorFlow's job names, in the order of the table."""

    CHIEF = "chief"
    PS = "ps"
    WORKER = "worker"
    EVALUATOR = "evaluator"


_TYPES = frozenset(ReplicaType)


@dataclass(frozen=True, slots=True)
class TaskName:
    """One task of a job, named the same over all restarts.

    >>> str(TaskName(ReplicaType.WORKER, 1))
    'worker-1'
    """

    type: ReplicaType
    index: int

    def __str__(self) -> str:
        return f"{self.type}-{self.index}"

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read a task name that `str` wrote.

        Raises ValueError for anything else.

        >>> TaskName.parse("ps-0") == TaskName(ReplicaType.PS, 0)
        True
        """
        found = re.fullmatch(r"([a-z]+)-(0|[1-9][0-9]*)", text, re.ASCII)
        if found is None or found[1] not in _TYPES:
            raise ValueError(
                f"{text!r} is not a task name: write <type>-<index>, where <type> is one of "
                + ", ".join(ReplicaType)
            )
        return cls(ReplicaType(found[1]), int(found[2]))
