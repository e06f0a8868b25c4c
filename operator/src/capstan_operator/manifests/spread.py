"""The preference of parameter servers for different nodes.

Each parameter server sends and receives about the same amount of data in each step, so two of them
on one node share its network. The preference never keeps a pod from starting. A template's own
affinity stays, and the scheduler adds up both preferences.
"""

from collections.abc import Mapping
from typing import Any

from capstan_operator.api import names
from capstan_operator.api.names import ReplicaType
from capstan_operator.api.spec import TrainingJob

_WEIGHT = 100
"""The largest weight that Kubernetes knows."""
_ANTI_AFFINITY = "podAntiAffinity"
_PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"


def with_preference(job: TrainingJob, kind: ReplicaType, spec: dict[str, Any]) -> dict[str, Any]:
    """Return the spec of a pod of this type, with the preference if the job asks for it.

    A malformed affinity is returned unchanged, so that the API server can refuse it.
    """
    wanted = job.spec.scheduling.spread_parameter_servers and kind is ReplicaType.PS
    if not wanted or job.replica(kind).replicas < 2:
        return spec
    affinity = _mapping(spec.get("affinity"))
    others = None if affinity is None else _mapping(affinity.get(_ANTI_AFFINITY))
    if affinity is None or others is None:
        return spec
    preferred = others.get(_PREFERRED) or []
    if not isinstance(preferred, list):
        return spec
    others = {**others, _PREFERRED: [*preferred, _term(job)]}
    return {**spec, "affinity": {**affinity, _ANTI_AFFINITY: others}}


def _mapping(value: object) -> Mapping[str, Any] | None:
    """Return a field of a template as a mapping. Return None if the field is malformed."""
    if value is None:
        return {}
    return value if isinstance(value, Mapping) else None


def _term(job: TrainingJob) -> dict[str, Any]:
    """Prefer nodes without another parameter server of this job."""
    servers = {
        names.LABEL_JOB_UID: job.metadata.uid,
        names.LABEL_REPLICA_TYPE: ReplicaType.PS.value,
    }
    term = {
        "labelSelector": {"matchLabels": servers},
        "topologyKey": "kubernetes.io/hostname",
    }
    return {"weight": _WEIGHT, "podAffinityTerm": term}
