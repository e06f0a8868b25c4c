"""Turn a Kubeflow TFJob into a TrainingJob.

Source: pkg/apis/kubeflow.org/v1/tensorflow_types.go, common_types.go and tensorflow_defaults.go of
kubeflow/training-operator v1.9.

Rule 1: a pod template belongs to its user, so it is passed on, except for the names of the task.
Rule 2: where the defaults differ, the default of TFJob is written. Rule 3: each field that loses or
changes its effect is reported once.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from capstan_operator.api import names, parse
from capstan_operator.api.names import ReplicaType
from capstan_operator.convert import templates
from capstan_operator.errors import Fault, Invalid

API_VERSION = "kubeflow.org/v1"
KIND = "TFJob"
THEIR_OPERATOR = "kubeflow.org/training-operator"
QUEUE_LABEL = "kueue.x-k8s.io/queue-name"

_TYPES = {
    "chief": ReplicaType.CHIEF,
    "master": ReplicaType.CHIEF,
    "ps": ReplicaType.PS,
    "worker": ReplicaType.WORKER,
    "evaluator": ReplicaType.EVALUATOR,
}
"""Replica types by their names in lowercase: TFJob does not distinguish case."""

_KEPT_METADATA = ("name", "namespace", "labels", "annotations")
_SET_BY_SERVERS = frozenset(
    {"creationTimestamp", "generation", "managedFields", "resourceVersion", "selfLink", "uid"}
)
_KEPT_POLICY = (
    "activeDeadlineSeconds",
    "backoffLimit",
    "cleanPodPolicy",
    "ttlSecondsAfterFinished",
)
_LOST_POLICY = {
    "schedulingPolicy.minAvailable": "a gang always has all tasks of the job",
    "schedulingPolicy.minResources": "a gang asks for the resources of its pods",
    "schedulingPolicy.scheduleTimeoutSeconds": "pods wait for a node without a time limit",
    "schedulingPolicy.queue": "name a queue of Kueue in scheduling.queueName",
    "schedulingPolicy.priorityClass": "set priorityClassName in the pod templates",
    "managedBy": "the operator of Capstan runs the job; spec.managedBy can name another controller",
}
"""Fields of runPolicy that a TrainingJob lacks, each with its replacement in words."""


@dataclass(frozen=True, slots=True)
class Converted:
    """A TrainingJob, and the fields of the TFJob that it does not keep."""

    manifest: dict[str, Any]
    lost: tuple[Fault, ...]
    """The lost fields of the TFJob. Each message says what happens instead."""


def is_tfjob(document: object) -> bool:
    """Say whether a document is a TFJob of any version."""
    return isinstance(document, Mapping) and document.get("kind") == KIND


def convert(document: Mapping[str, Any]) -> Converted:
    """Turn a TFJob into a TrainingJob that `kubectl apply` accepts.

    Raises errors.Invalid if the document is not a TFJob of kubeflow.org/v1, or if the result would
    not be a valid TrainingJob. No document makes this function raise another error.
    """
    _check_identity(document)
    spec = templates.mapping(document.get("spec"), "spec")
    replicas = _replicas(templates.mapping(spec.get("tfReplicaSpecs"), "spec.tfReplicaSpecs"))
    lost: list[Fault] = []
    manifest = _json(
        {
            **parse.IDENTITY,
            "metadata": _metadata(templates.mapping(document.get("metadata"), "metadata"), lost),
            "spec": _spec(spec, replicas, lost),
        }
    )
    faults = parse.draft(json.dumps(manifest)).faults
    if faults:
        raise Invalid(faults)
    return Converted(manifest, tuple(lost))


def _json(manifest: dict[str, Any]) -> dict[str, Any]:
    """Return the JSON values of a manifest. Dates become text, as kubectl sends them.

    Raises errors.Invalid if YAML has read values that JSON cannot hold.
    """
    try:
        values: dict[str, Any] = json.loads(json.dumps(manifest, default=str))
    except (TypeError, ValueError) as error:
        raise Invalid(tuple(_not_json(manifest, "", ()))) from error
    return values


def _not_json(value: object, path: str, outer: tuple[object, ...]) -> Iterator[Fault]:
    """Yield a fault for each value that contains itself, and for each key that is not text."""
    if any(value is each for each in outer):
        yield Fault(path, "contains itself; write the value without its anchor")
        return
    inside = (*outer, value)
    if isinstance(value, Mapping):
        for key, member in value.items():
            if not isinstance(key, str | int | float | None):
                yield Fault(
                    path, f"{key} is not a field: names of fields are text; put it in quotes"
                )
            yield from _not_json(member, f"{path}.{key}" if path else str(key), inside)
    elif isinstance(value, list | tuple):
        for index, member in enumerate(value):
            yield from _not_json(member, f"{path}[{index}]", inside)


def _check_identity(document: Mapping[str, Any]) -> None:
    version, kind = document.get("apiVersion"), document.get("kind")
    if kind != KIND:
        raise Invalid((Fault("kind", f"must be {KIND}, not {kind!r}"),))
    if version != API_VERSION:
        message = f"must be {API_VERSION}, not {version!r}; older versions have other fields"
        raise Invalid((Fault("apiVersion", message),))


def _replicas(given: Mapping[str, Any]) -> dict[ReplicaType, tuple[str, Mapping[str, Any]]]:
    """Return the replica specs by type, in table order, each with its path in the TFJob."""
    found: dict[ReplicaType, tuple[str, Mapping[str, Any]]] = {}
    faults = []
    for name, value in given.items():
        path = f"spec.tfReplicaSpecs.{name}"
        kind = _TYPES.get(str(name).lower())
        if kind is None:
            types = "Chief, Master, PS, Worker or Evaluator"
            faults.append(Fault(path, f"is not a replica type of TFJob: use {types}"))
        elif kind in found:
            faults.append(Fault(path, f"is the same as {found[kind][0]}; keep one"))
        else:
            found[kind] = (path, templates.mapping(value, path))
    if faults:
        raise Invalid(tuple(faults))
    return {kind: found[kind] for kind in ReplicaType if kind in found}


def _metadata(given: Mapping[str, Any], lost: list[Fault]) -> dict[str, Any]:
    lost += [
        Fault(f"metadata.{field}", "is left out")
        for field in given
        if field not in (*_KEPT_METADATA, *_SET_BY_SERVERS)
    ]
    labels = templates.mapping(given.get("labels"), "metadata.labels")
    if QUEUE_LABEL in labels:
        lost.append(Fault(f"metadata.labels.{QUEUE_LABEL}", "the job does not enter a queue"))
    return {field: given[field] for field in _KEPT_METADATA if given.get(field) is not None}


def _spec(
    given: Mapping[str, Any],
    replicas: Mapping[ReplicaType, tuple[str, Mapping[str, Any]]],
    lost: list[Fault],
) -> dict[str, Any]:
    known = ("tfReplicaSpecs", "runPolicy", "successPolicy", "enableDynamicWorker")
    lost += [
        Fault(f"spec.{field}", "is not a field of TFJob v1: it is left out")
        for field in given
        if field not in known
    ]
    if given.get("enableDynamicWorker"):
        instead = "the number of workers is fixed, and TF_CONFIG lists all tasks"
        lost.append(Fault("spec.enableDynamicWorker", instead))
    spec: dict[str, Any] = {
        "replicaSpecs": {
            str(kind): _replica(path, value, lost) for kind, (path, value) in replicas.items()
        }
    }
    port = templates.port(dict(replicas.values()), lost)
    if port not in (None, names.DEFAULT_PORT):
        spec["cluster"] = {"port": port}
    if given.get("successPolicy"):
        spec["successPolicy"] = given["successPolicy"]
    policy = templates.mapping(given.get("runPolicy"), "spec.runPolicy")
    if policy.get("suspend"):
        spec["suspend"] = policy["suspend"]
    if kept := {field: policy[field] for field in _KEPT_POLICY if policy.get(field) is not None}:
        spec["runPolicy"] = kept
    lost += _lost_of_policy(policy)
    restarts = [replica["restartPolicy"] for replica in spec["replicaSpecs"].values()]
    if "backoffLimit" not in kept and any(each != "Never" for each in restarts):
        instead = "is not set: a TFJob then restarts without a limit, a TrainingJob 6 times"
        lost.append(Fault("spec.runPolicy.backoffLimit", instead))
    return spec


def _replica(path: str, given: Mapping[str, Any], lost: list[Fault]) -> dict[str, Any]:
    lost += [
        Fault(f"{path}.{field}", "is not a field of TFJob v1: it is left out")
        for field in given
        if field not in ("replicas", "restartPolicy", "template")
    ]
    # The default of a TFJob is Never. The default of a TrainingJob is OnFailure.
    policy = given.get("restartPolicy") or "Never"
    if policy == "ExitCode":
        instead = "only exit codes 130, 137, 138 and 143 are tried again, not all codes from 128 on"
        lost.append(Fault(f"{path}.restartPolicy", instead))
    return {
        "replicas": 1 if given.get("replicas") is None else given["replicas"],
        "restartPolicy": policy,
        "template": templates.template(given.get("template"), f"{path}.template", lost),
    }


def _lost_of_policy(policy: Mapping[str, Any]) -> Iterator[Fault]:
    path = "spec.runPolicy"
    scheduling = templates.mapping(policy.get("schedulingPolicy"), f"{path}.schedulingPolicy")
    fields = {
        **{field: value for field, value in policy.items() if field != "schedulingPolicy"},
        **{f"schedulingPolicy.{field}": value for field, value in scheduling.items()},
    }
    for field, value in fields.items():
        if field in _KEPT_POLICY or value in (None, False, ""):
            continue
        if field != "suspend" and (field != "managedBy" or value != THEIR_OPERATOR):
            instead = _LOST_POLICY.get(field, "is not a field of TFJob v1: it is left out")
            yield Fault(f"{path}.{field}", instead)
