"""The nodes that a pod prefers.

A preference never keeps a pod from starting. A template's own affinity stays, and the scheduler
adds up all preferences. A malformed affinity is left unchanged, so that the API server can refuse
it.
"""

from collections.abc import Mapping
from typing import Any

from capstan_operator.api import names
from capstan_operator.api.names import ReplicaType
from capstan_operator.api.spec import TrainingJob

_WEIGHT = 100
"""The largest weight that Kubernetes knows."""
_PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"


def spread(job: TrainingJob, kind: ReplicaType, spec: dict[str, Any]) -> dict[str, Any]:
    """Return the spec of a pod of this type. If the job asks for it, its parameter servers prefer
    nodes without another one.

    Each parameter server sends and receives about the same amount of data in each step, so two of
    them on one node share its network.
    """
    wanted = job.spec.scheduling.spread_parameter_servers and kind is ReplicaType.PS
    if not wanted or job.replica(kind).replicas < 2:
        return spec
    servers = {
        names.LABEL_JOB_UID: job.metadata.uid,
        names.LABEL_REPLICA_TYPE: ReplicaType.PS.value,
    }
    term = {
        "labelSelector": {"matchLabels": servers},
        "topologyKey": "kubernetes.io/hostname",
    }
    return _preferring(spec, "podAntiAffinity", {"weight": _WEIGHT, "podAffinityTerm": term})


def away_from(node: str, spec: dict[str, Any]) -> dict[str, Any]:
    """Return the spec of a pod that prefers all other nodes."""
    others = {"key": "metadata.name", "operator": "NotIn", "values": [node]}
    preference = {"matchFields": [others]}
    return _preferring(spec, "nodeAffinity", {"weight": _WEIGHT, "preference": preference})


def _preferring(spec: dict[str, Any], kind: str, term: dict[str, Any]) -> dict[str, Any]:
    """Return the spec with one more preference of this kind."""
    affinity = _mapping(spec.get("affinity"))
    given = None if affinity is None else _mapping(affinity.get(kind))
    if affinity is None or given is None:
        return spec
    preferred = given.get(_PREFERRED) or []
    if not isinstance(preferred, list):
        return spec
    return {**spec, "affinity": {**affinity, kind: {**given, _PREFERRED: [*preferred, term]}}}


def _mapping(value: object) -> Mapping[str, Any] | None:
    """Return a field of a template as a mapping. Return None if the field is malformed."""
    if value is None:
        return {}
    return value if isinstance(value, Mapping) else None
