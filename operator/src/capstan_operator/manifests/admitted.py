"""What admission has changed in a pod that the operator asked for. Pure.

Webhooks and policies may add to a pod whatever they want: labels, containers, tolerations. But
tasks and the controller rely on a few fields of the pod. Without them, a job would wait for ever
without a cause, or would never learn how its tasks end.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from capstan_operator.api.names import TaskName
from capstan_operator.manifests import labels

Pod = Mapping[str, Any]

CHANGES = "admission changes"
"""The beginning of each fault."""
_SPEC = ("restartPolicy", "hostname", "subdomain")
_HOW_TO_MEND = (
    "the operator relies on it: exempt pods with the label capstan.dev/job-name from the webhook or"
    " policy that changes it"
)


def fault(asked: Pod, admitted: Pod) -> str:
    """Return what is wrong with an admitted pod, in a sentence, or "" if it can be used."""
    return _sentence(next(_changed(asked, admitted), ""))


def fault_of_task(found: Pod, task: TaskName, job_name: str) -> str:
    """Return the same about the pod of a task that runs. Only three fields of its spec are checked.

    The dry run of its template may be older than the webhook.
    """
    wanted = ("Never", str(task), job_name)
    given = tuple(map(found["spec"].get, _SPEC))
    if given == wanted:
        return ""
    names = zip(_SPEC, given, wanted, strict=True)
    return _sentence(next(f"spec.{name}" for name, value, right in names if value != right))


def _sentence(changed: str) -> str:
    return f"{CHANGES} {changed} of the pod; {_HOW_TO_MEND}" if changed else ""


def _changed(asked: Pod, admitted: Pod) -> Iterator[str]:
    """Yield the paths of the fields that are needed and are not as they were asked for."""
    given = admitted["metadata"].get("labels") or {}
    for label, value in asked["metadata"]["labels"].items():
        if labels.is_ours(label) and given.get(label) != value:
            yield f"metadata.labels[{label}]"
    owners = [owner.get("uid") for owner in admitted["metadata"].get("ownerReferences") or ()]
    if any(owner["uid"] not in owners for owner in asked["metadata"]["ownerReferences"]):
        yield "metadata.ownerReferences"
    for field in _SPEC:
        if admitted["spec"].get(field) != asked["spec"][field]:
            yield f"spec.{field}"
    containers = {each["name"]: each for each in admitted["spec"].get("containers") or ()}
    for container in asked["spec"]["containers"]:
        env = {each["name"] for each in containers.get(container["name"], {}).get("env") or ()}
        if missing := [each["name"] for each in container["env"] if each["name"] not in env]:
            yield f"spec.containers[{container['name']}].env[{missing[0]}]"
