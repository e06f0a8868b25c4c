"""A webhook may add to a pod, but must leave the fields on which the operator relies."""

import copy
from collections.abc import Callable
from typing import Any

import pytest
from reconcile.world import make_job, task

from capstan_operator.manifests import admitted, pod

Json = dict[str, Any]
JOB = make_job()
ASKED = pod.pod(JOB, task("worker-1"), pod.environment(JOB), attempt=1, epoch=1)


def add(found: Json) -> None:
    """Change a pod as the webhook of a service mesh does."""
    found["metadata"]["labels"]["mesh"] = "yes"
    found["metadata"]["annotations"] = {"mesh": "yes"}
    found["spec"]["containers"].insert(0, {"name": "mesh", "image": "mesh"})
    found["spec"]["tolerations"] = [{"operator": "Exists"}]
    found["spec"]["containers"][1]["env"].append({"name": "MESH", "value": "yes"})
    found["spec"]["containers"][1]["image"] = "mirror.example.com/trainer"


CHANGES: dict[str, Callable[[Json], object]] = {
    "": add,
    "metadata.labels[capstan.dev/attempt]": lambda found: found["metadata"]["labels"].update(
        {"capstan.dev/attempt": "9"}
    ),
    "metadata.labels[capstan.dev/job-name]": lambda found: found["metadata"]["labels"].pop(
        "capstan.dev/job-name"
    ),
    "metadata.ownerReferences": lambda found: found["metadata"].pop("ownerReferences"),
    "spec.restartPolicy": lambda found: found["spec"].update({"restartPolicy": "Always"}),
    "spec.hostname": lambda found: found["spec"].update({"hostname": "other"}),
    "spec.subdomain": lambda found: found["spec"].pop("subdomain"),
    "spec.containers[trainer].env[TF_CONFIG]": lambda found: found["spec"]["containers"][0].pop(
        "env"
    ),
}


@pytest.mark.parametrize("path", CHANGES)
def test_only_a_change_of_a_field_that_is_needed_is_a_fault(path: str) -> None:
    found = copy.deepcopy(ASKED)
    CHANGES[path](found)
    fault = admitted.fault(ASKED, found)
    assert fault.startswith(
        f"admission changes {path} of the pod; the operator relies" if path else ""
    )
    assert bool(fault) == bool(path)
