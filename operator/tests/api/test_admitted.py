"""Objects of an API server: which fields are read, ignored or refused."""

import copy
import json
from typing import Any

import pytest

from capstan_operator.api import addresses, parse
from capstan_operator.api.names import ReplicaType
from capstan_operator.errors import Invalid

TEMPLATE: dict[str, Any] = {
    "metadata": {"labels": {"a": "b"}, "finalizers": ["x"]},
    "fieldOfTomorrow": 1,
    "spec": {
        "terminationGracePeriodSeconds": 5,
        "containers": [
            {
                "name": "trainer",
                "image": "hello:dev",
                "command": ["a"],
                "args": ["b"],
                "env": [{"name": "A", "valueFrom": {"fieldRef": {"fieldPath": "x"}}}],
                "resources": {"limits": {"cpu": "500m", "nvidia.com/gpu": 1}, "claims": []},
                "ports": [{"containerPort": 1, "name": "web"}],
                "volumeMounts": [{"name": "v", "mountPath": "/v"}],
                "inContainer": {"deep": [1, None, {"er": 2.5}]},
            }
        ],
        "initContainers": [{"name": "init"}],
        "volumes": [{"name": "v", "emptyDir": {}}],
        "nodeSelector": {},
    },
}
OBJECT: dict[str, Any] = {
    "apiVersion": "capstan.dev/v1alpha1",
    "kind": "TrainingJob",
    "metadata": {
        "name": "digits",
        "namespace": "team",
        "uid": "0d145940",
        "generation": 4,
        "resourceVersion": "317",
        "creationTimestamp": "2026-11-21T15:03:06Z",
        "managedFields": [{"manager": "kubectl"}],
        "annotations": {"kubectl.kubernetes.io/last-applied-configuration": "{}"},
    },
    "spec": {
        "replicaSpecs": {"worker": {"replicas": 2, "template": TEMPLATE}},
        "cluster": {"domain": "cluster.local"},
    },
    "status": {"phase": "Running"},
}


def changed(*path: str | int, to: object) -> dict[str, Any]:
    document = copy.deepcopy(OBJECT)
    place: Any = document
    for part in path[:-1]:
        place = place[part] if isinstance(part, int) else place.setdefault(part, {})
    place[path[-1]] = to
    return document


def faults(raw: dict[str, Any]) -> list[str]:
    with pytest.raises(Invalid) as caught:
        parse.admitted(raw)
    return [str(fault) for fault in caught.value.faults]


def test_an_object_keeps_its_uid_and_generation() -> None:
    job = parse.admitted(OBJECT)
    assert (job.metadata.name, job.metadata.namespace) == ("digits", "team")
    assert (job.metadata.uid, job.metadata.generation) == ("0d145940", 4)
    assert [str(task) for task in job.tasks()] == ["worker-0", "worker-1"]
    assert job.spec.run_policy.backoff_limit == 6


@pytest.mark.parametrize(
    "path",
    [
        ("spec", "paused"),
        ("spec", "cluster", "future"),
        ("spec", "replicaSpecs", "worker", "priority"),
        ("spec", "replicaSpecs", "driver"),
        ("spec", "runPolicy", "restartBackoff", "jitter"),
        ("metadata", "fieldOfTomorrow"),
        ("fieldOfTomorrow",),
    ],
)
@pytest.mark.parametrize("value", [{"a": 1}, [1], "x", None])
def test_fields_of_a_newer_definition_are_ignored(path: tuple[str, ...], value: object) -> None:
    assert parse.admitted(changed(*path, to=value)) == parse.admitted(
        changed("spec", "runPolicy", to={"restartBackoff": {}}) if "runPolicy" in path else OBJECT
    )


def test_a_template_stays_as_its_user_wrote_it() -> None:
    template = parse.admitted(OBJECT).replica(ReplicaType.WORKER).template
    assert template.manifest() == TEMPLATE


def test_nothing_is_added_to_a_template() -> None:
    least = {"spec": {"containers": [{"name": "a", "env": [{"name": "B"}], "resources": {}}]}}
    job = parse.admitted(changed("spec", "replicaSpecs", "worker", "template", to=least))
    assert job.replica(ReplicaType.WORKER).template.manifest() == least


def test_a_null_field_counts_as_absent() -> None:
    null = {"spec": {"containers": [{"name": "a", "image": None, "args": None}]}, "metadata": None}
    job = parse.admitted(changed("spec", "replicaSpecs", "worker", "template", to=null))
    manifest = job.replica(ReplicaType.WORKER).template.manifest()
    assert manifest == {"spec": {"containers": [{"name": "a"}]}}


def test_all_faults_of_a_job_that_this_version_cannot_run_are_reported() -> None:
    raw = changed("spec", "replicaSpecs", "worker", "restartPolicy", to="Sometimes")
    raw["spec"]["runPolicy"] = {"backoffLimit": -1, "restartBackoff": {"initialSeconds": 900}}
    assert [fault.split(": ")[0] for fault in faults(raw)] == [
        "spec.replicaSpecs.worker.restartPolicy",
        "spec.runPolicy.backoffLimit",
        "spec.runPolicy.restartBackoff",
    ]


def many(workers: int, **metadata: str) -> dict[str, Any]:
    raw = changed("spec", "replicaSpecs", "worker", "replicas", to=workers)
    raw["spec"]["replicaSpecs"]["ps"] = {**raw["spec"]["replicaSpecs"]["worker"], "replicas": 1000}
    return raw | {"metadata": {**raw["metadata"], **metadata}}


@pytest.mark.e2e
def test_a_job_is_refused_by_the_first_task_whose_address_does_not_fit() -> None:
    called = {"name": "x" * 40, "namespace": "y" * 20}
    fits = next(n for n in range(1000, 0, -1) if longest(n, called) <= addresses.MAX_BYTES)
    assert 100 < fits < 1000
    parse.admitted(many(fits, **called))
    (fault,) = faults(many(fits + 1, **called))
    assert fault.startswith("spec.replicaSpecs: TF_CONFIG, which has the addresses of all tasks")
    parse.admitted(many(fits + 1, name="x", namespace="y"))


@pytest.mark.e2e
def test_a_job_is_refused_if_its_addresses_would_not_fit_when_it_is_scaled() -> None:
    called = {"name": "x" * 40, "namespace": "y" * 20}
    fits = next(n for n in range(1000, 0, -1) if longest(n, called) <= addresses.MAX_BYTES)
    elastic = many(2, **called)
    elastic["spec"]["replicaSpecs"]["worker"] |= {"maxReplicas": fits}
    parse.admitted(elastic)
    elastic["spec"]["replicaSpecs"]["worker"] |= {"maxReplicas": fits + 1}
    (fault,) = faults(elastic)
    assert fault.startswith("spec.replicaSpecs: TF_CONFIG, which has the addresses of all tasks")


def longest(workers: int, called: dict[str, str]) -> int:
    """Return the size of the longest TF_CONFIG of a job without an evaluator, in bytes."""
    kinds = {"ps": 1000, "worker": workers}
    where = f"{called['name']}.{called['namespace']}.svc.cluster.local:2222"
    addresses = {kind: [f"{kind}-{n}.{where}" for n in range(kinds[kind])] for kind in kinds}
    task = {"type": "worker", "index": workers - 1}
    return len(json.dumps({"cluster": addresses, "task": task, "environment": "cloud"}))


@pytest.mark.parametrize("wrong", [None, 7, "x", [], [{}]])
@pytest.mark.parametrize(
    "path",
    [
        ("spec",),
        ("metadata",),
        ("spec", "replicaSpecs"),
        ("spec", "replicaSpecs", "worker", "template"),
        ("spec", "replicaSpecs", "worker", "template", "spec", "containers"),
    ],
)
def test_any_object_is_a_job_or_raises_invalid(path: tuple[str, ...], wrong: object) -> None:
    assert faults(changed(*path, to=wrong))
