"""Convert the pod templates of a TFJob.

A TFJob calls the container of the task `tensorflow`, and its port `tfjob-port`.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from capstan_operator.api.names import DEFAULT_PORT, TRAINER
from capstan_operator.errors import Fault, Invalid

CONTAINER = "tensorflow"
PORT = "tfjob-port"
_OVERRIDDEN = ("hostname", "subdomain", "setHostnameAsFQDN")
"""Fields of a pod that Capstan sets, because the DNS names of the tasks follow from them."""


def mapping(value: object, path: str) -> Mapping[str, Any]:
    """Return a mapping; an empty one for None. Raises errors.Invalid for anything else."""
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise Invalid((Fault(path, "must be a mapping"),))
    return value


def template(given: object, path: str, lost: list[Fault]) -> dict[str, Any]:
    """Return the template of a TrainingJob. Add the fields that it does not keep to `lost`."""
    source = mapping(given, path)
    spec = mapping(source.get("spec"), f"{path}.spec")
    lost += [
        Fault(f"{path}.spec.{field}", "the operator sets it")
        for field in _OVERRIDDEN
        if spec.get(field)
    ]
    if spec.get("restartPolicy"):
        lost.append(
            Fault(
                f"{path}.spec.restartPolicy", "the replica's restartPolicy decides, as in a TFJob"
            )
        )
    containers = _containers(spec, f"{path}.spec")
    if len(containers) > 1:
        containers = [_renamed(container) for container in containers]
    # TFJob overrides the restart policy of the pod, too.
    kept = {field: value for field, value in spec.items() if field != "restartPolicy"}
    converted: dict[str, Any] = {"spec": {**kept, "containers": containers}}
    metadata = mapping(source.get("metadata"), f"{path}.metadata")
    named = {field: value for field, value in metadata.items() if value is not None}
    return {"metadata": named, **converted} if named else converted


def port(replicas: Mapping[str, Mapping[str, Any]], lost: list[Fault]) -> int | None:
    """Return the port of the tasks, or None without any tasks.

    A TrainingJob has one port for all types: the port of the first of `replicas`, which are by
    path. Other ports are added to `lost`.
    """
    found: int | None = None
    for path, replica in replicas.items():
        spec = mapping(mapping(replica.get("template"), path).get("spec"), path)
        own = _port(_containers(spec, f"{path}.template.spec"))
        if found is None:
            found = own
        elif own != found:
            message = f"{PORT} {own} becomes {found}: all tasks of a TrainingJob have one port"
            lost.append(Fault(f"{path}.template", message))
    return found


def _containers(spec: Mapping[str, Any], path: str) -> list[Mapping[str, Any]]:
    """Return the containers. Raises errors.Invalid if none of them is the task."""
    given = spec.get("containers")
    where = f"{path}.containers"
    if not isinstance(given, Sequence) or isinstance(given, str) or not given:
        raise Invalid((Fault(where, "must be a list with at least one container"),))
    containers = [mapping(container, f"{where}[{index}]") for index, container in enumerate(given)]
    names = [container.get("name") for container in containers]
    if CONTAINER not in names:
        raise Invalid((Fault(where, f"no container is called {CONTAINER}, as TFJob requires"),))
    if len(names) > 1 and TRAINER in names:
        message = f"{TRAINER} is the name of the task's container here; rename this container"
        raise Invalid((Fault(f"{where}[{names.index(TRAINER)}].name", message),))
    return containers


def _renamed(container: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a container. The container of the task gets the name that a TrainingJob expects."""
    is_task = container.get("name") == CONTAINER
    return {**container, "name": TRAINER} if is_task else container


def _port(containers: Sequence[Mapping[str, Any]]) -> int:
    for container in containers:
        ports = container.get("ports")
        if container.get("name") != CONTAINER or not isinstance(ports, list):
            continue
        for declared in ports:
            if isinstance(declared, Mapping) and declared.get("name") == PORT:
                number = declared.get("containerPort")
                return number if isinstance(number, int) else DEFAULT_PORT
    return DEFAULT_PORT
