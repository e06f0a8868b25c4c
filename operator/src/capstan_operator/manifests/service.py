"""The headless Service of a job, which gives its tasks their DNS names.

It is created before any pod and stays as long as its job, so that a task has the same name before
it is ready and after every restart. The names work only while the Service is headless and selects
all pods of the job, ready or not. A user may add ports and choose the families of addresses.
"""

from collections.abc import Mapping
from typing import Any

from capstan_operator.api import names
from capstan_operator.api.spec import TrainingJob
from capstan_operator.manifests import cluster, labels

_HEADLESS = "None"
_KEPT = ("ipFamilies", "ipFamilyPolicy")
"""The fields of a repaired spec that stay as they are, beside the ports that a user has added."""


def service(job: TrainingJob) -> dict[str, Any]:
    """Return the headless Service of a job, which has the job's name."""
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": labels.metadata(job, job.metadata.name),
        "spec": {
            "clusterIP": _HEADLESS,
            # Tasks wait for each other before they are ready, so tasks that are not ready need
            # names too.
            "publishNotReadyAddresses": True,
            "selector": labels.selector(job.metadata.name),
            "ports": [{"name": "grpc", "port": cluster.port(job)}],
        },
    }


def ports(found: Mapping[str, Any]) -> tuple[int, ...]:
    """Return the ports of a Service, or none if the names of its tasks do not work.

    `found` is a Service as the API server shows it. Without the label of its job, no watch reports
    it, so that it counts as broken, too.
    """
    spec = found.get("spec") or {}
    selector = labels.selector(found["metadata"]["name"])
    works = (
        (found["metadata"].get("labels") or {}).items() >= selector.items()
        and spec.get("type", "ClusterIP") == "ClusterIP"
        and spec.get("clusterIP") == _HEADLESS
        and bool(spec.get("publishNotReadyAddresses"))
        and spec.get("selector") == selector
    )
    return tuple(each["port"] for each in spec.get("ports") or ()) if works else ()


def repaired(found: Mapping[str, Any], job: TrainingJob) -> dict[str, Any]:
    """Return the Service of a job with the fields that the names of its tasks need."""
    wanted = service(job)["spec"]
    spec = found.get("spec") or {}
    (own,) = wanted["ports"]
    others = [
        each
        for each in spec.get("ports") or ()
        if each.get("name") not in (None, own["name"]) and each["port"] != own["port"]
    ]
    kept = {field: spec[field] for field in _KEPT if field in spec}
    metadata = found["metadata"]
    marked = {**(metadata.get("labels") or {}), names.LABEL_JOB_NAME: job.metadata.name}
    return {
        **found,
        "metadata": {**metadata, "labels": marked},
        "spec": {**kept, **wanted, "ports": [own, *others]},
    }
