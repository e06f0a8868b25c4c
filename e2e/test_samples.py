"""A real API server with the CustomResourceDefinition accepts valid jobs and refuses invalid ones.

Each invalid sample names its invalid fields. If a rule refuses the sample, the API server's words
are those of `capstanctl run`. If the schema refuses it, the API server names the same field.
operator/tests/api/test_samples.py compares `capstanctl` with the samples.
"""

import json
import pathlib
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest
import yaml

from capstan_operator.api import names, parse, status, status_json
from capstan_operator.api.status import Condition, Phase, Progress, ReplicaStatus, Status, Summary
from conftest import ROOT
from testbed import wait
from testbed.api import ApiError
from testbed.control import Cluster
from testbed.story import JOBS

pytestmark = pytest.mark.e2e

SAMPLES = ROOT / "crds" / "samples"
REFUSED = re.compile(
    r"^# refused(?P<schema> by the schema)?: (?P<path>\S+): (?P<words>.*)$", re.MULTILINE
)
NAMED = re.compile(r"^\* ([^.\s]\S*): ", re.MULTILINE)
"""A field in a refusal of the API server. The scale subresource names an invalid number of workers
a second time, with a dot in front.
"""
RULES_SKIPPED = "<nil>"
"""The field that the API server names when it did not check the rules."""


def samples(*folders: str) -> Any:
    """Run a test with every sample of these folders."""
    files_by_folder = [sorted((SAMPLES / folder).glob("*.yaml")) for folder in folders]
    assert all(files_by_folder)
    files = [file for files in files_by_folder for file in files]
    return pytest.mark.parametrize("sample", files, ids=lambda file: file.stem)


@samples("valid", "invalid-later")
def test_the_api_server_accepts_valid_jobs_and_jobs_that_only_the_operator_refuses(
    sample: pathlib.Path, cluster: Cluster
) -> None:
    try_to_create(cluster, sample)


@samples("invalid")
def test_the_api_server_refuses_the_same_fields_of_an_invalid_job_as_capstanctl(
    sample: pathlib.Path, cluster: Cluster
) -> None:
    with pytest.raises(ApiError) as refusal:
        try_to_create(cluster, sample)
    causes = refusal.value.answer.get("details", {}).get("causes", [])
    lines = [f"* {cause['field']}: {cause['message']}" for cause in causes]
    text = "\n".join([refusal.value.message, *lines])
    expected = list(REFUSED.finditer(sample.read_text()))
    for fault in expected:
        if fault["schema"]:
            assert fault["path"] in text
        else:
            words = f"{fault['path']}: Invalid value: {fault['words']}"
            assert words in re.sub(r"(Invalid value: )(\S+|\{.*\}): ", r"\1", text)
    more = set(NAMED.findall(text)) - {RULES_SKIPPED} - {fault["path"] for fault in expected}
    assert not more


def try_to_create(cluster: Cluster, sample: pathlib.Path) -> None:
    """Create the sample in a dry run. Raises ApiError if the API server refuses it."""
    jobs = JOBS.format("default")
    manifest = yaml.safe_load(sample.read_text())
    cluster.api.post(jobs, manifest, dryRun="All", fieldValidation="Strict")


def job(**spec: object) -> str:
    containers = [{"name": "trainer", "image": "hello:dev"}]
    worker = {"template": {"spec": {"containers": containers}}}
    return json.dumps(
        {
            "apiVersion": f"{names.GROUP}/{names.VERSION}",
            "kind": names.KIND,
            "metadata": {"name": "digits"},
            "spec": {"replicaSpecs": {"worker": worker}, **spec},
        }
    )


def create(cluster: Cluster, namespace: str, manifest: str) -> None:
    cluster.kubectl("create", "-n", namespace, "-f", "-", input=manifest)


def stored(cluster: Cluster, namespace: str) -> Any:
    """Return the job as the API server stores it."""
    words = ("get", "tjob", "digits", "-n", namespace, "-o", "json")
    return json.loads(cluster.kubectl(*words).stdout)


def patched(cluster: Cluster, namespace: str, patch: object, *flags: str) -> str:
    """Patch the job. Return the refusal, or "" if the API server accepts the patch."""
    words = ("patch", "tjob", "digits", "-n", namespace, "--type=merge", "-p", json.dumps(patch))
    return cluster.kubectl(*words, *flags, check=False).stderr


@pytest.fixture(scope="module")
def home(cluster: Cluster) -> Iterator[str]:
    """The namespace of a job that stays unchanged."""
    namespace = cluster.namespace()
    create(cluster, namespace, job())
    yield namespace
    cluster.api.delete(f"/api/v1/namespaces/{namespace}")


@pytest.mark.parametrize(
    "path, value",
    [
        ("spec.replicaSpecs.ps", {"template": {"spec": {"containers": [{"name": "trainer"}]}}}),
        ("spec.replicaSpecs.worker.maxReplicas", 7),
        ("spec.replicaSpecs.worker.onFailure", "FailJob"),
        ("spec.replicaSpecs.worker.template", {"metadata": {"labels": {"a": "b"}}}),
        ("spec.replicaSpecs.worker.template", {"spec": {"fieldOfTomorrow": {"a": [1]}}}),
        ("spec.cluster", {"port": 2223}),
        ("spec.checkpoint", {"path": "/checkpoints", "existingClaim": "shared"}),
        ("spec.successPolicy", "AllWorkers"),
        ("spec.managedBy", "example.com/other"),
        ("spec.runPolicy.cleanPodPolicy", "All"),
        ("spec.runPolicy.backoffLimit", 7),
        ("spec.runPolicy.infrastructureBackoffLimit", 7),
        ("spec.runPolicy.restartBackoff", {"factor": 3}),
        ("spec.runPolicy.psGracePeriodSeconds", 7),
    ],
)
def test_a_field_of_an_existing_job_cannot_be_changed(
    path: str, value: object, cluster: Cluster, home: str
) -> None:
    patch = value
    for name in reversed(path.split(".")):
        patch = {name: patch}
    refusal = patched(cluster, home, patch)
    assert f"{path}: Invalid value: " in refusal
    assert "cannot be changed once the job exists; delete the job and create it again" in refusal


def test_the_times_and_the_suspension_of_a_job_can_be_changed(
    cluster: Cluster, namespace: str
) -> None:
    create(cluster, namespace, job())
    fields = (
        *("activeDeadlineSeconds", "pendingDeadlineSeconds", "progressDeadlineSeconds"),
        "ttlSecondsAfterFinished",
    )
    for seconds in (60, 30, None):
        times = {"spec": {"runPolicy": dict.fromkeys(fields, seconds), "suspend": seconds == 60}}
        assert patched(cluster, namespace, times) == ""


def test_the_workers_of_a_job_can_be_scaled_within_their_range(
    cluster: Cluster, namespace: str
) -> None:
    manifest = json.loads(job())
    manifest["spec"]["replicaSpecs"]["worker"] |= {"minReplicas": 1, "maxReplicas": 5}
    create(cluster, namespace, json.dumps(manifest))
    scale = ("scale", "tjob/digits", "-n", namespace)
    cluster.kubectl(*scale, "--replicas=5")
    assert stored(cluster, namespace)["spec"]["replicaSpecs"]["worker"]["replicas"] == 5
    refused = cluster.kubectl(*scale, "--replicas=6", check=False).stderr
    assert "must be at least minReplicas and at most maxReplicas" in refused


def test_the_operator_reads_the_job_that_the_api_server_stores(
    cluster: Cluster, namespace: str
) -> None:
    create(cluster, namespace, job())
    local = parse.parse(job())
    admitted = parse.admitted(stored(cluster, namespace))
    assert admitted.spec == local.spec
    assert admitted.metadata.generation == 1
    assert admitted.metadata.uid


UNKNOWN_FIELDS = """
apiVersion: capstan.dev/v1alpha1
kind: TrainingJob
metadata: {name: digits}
spec:
  replicaSpecs:
    worker:
      template:
        inTemplate: {deep: [1, {er: x}]}
        metadata: {inMetadata: 1, labels: {a: b}, annotations: {c: d}}
        spec:
          inPod: [{a: 1}]
          terminationGracePeriodSeconds: 5
          initContainers:
          - {name: init, inInit: 1}
          containers:
          - name: trainer
            image: hello:dev
            command: [a]
            args: [b]
            inContainer: {a: {b: 1}}
            env: [{name: A, inVariable: 1, valueFrom: {inSource: 1}}]
            resources: {inResources: 1, claims: [{name: a}], limits: {cpu: 1, memory: 1Gi}}
            ports: [{containerPort: 1, inPort: 1}]
"""


def test_a_template_keeps_fields_that_this_version_does_not_know(
    cluster: Cluster, namespace: str
) -> None:
    apply_strictly = ("apply", "--validate=strict", "-n", namespace)
    cluster.kubectl(*apply_strictly, "-f", "-", input=UNKNOWN_FIELDS)
    kept = stored(cluster, namespace)
    written = yaml.safe_load(UNKNOWN_FIELDS)["spec"]["replicaSpecs"]["worker"]["template"]
    assert kept["spec"]["replicaSpecs"]["worker"]["template"] == written
    worker = parse.admitted(kept).replica(names.ReplicaType.WORKER)
    assert worker.template.manifest() == written


REASON = "worker-0: exit code 1"
NOW = datetime(2026, 11, 2, 10, 0, tzinfo=UTC)
FULL_STATUS = Status(
    observed_generation=1,
    phase=Phase.FAILED,
    conditions=(Condition(type="Failed", status="True", reason="R", last_transition_time=NOW),),
    epoch=3,
    start_time=NOW,
    replica_statuses={names.ReplicaType.WORKER: ReplicaStatus(desired=1, failed=1)},
    tasks=(status.TaskStatus(name=names.TaskName.parse("worker-0"), exit_code=1, pod="p"),),
    progress=Progress(step=1200, steps_per_second=8.5, metrics={"loss": float("nan"), "a": 0.5}),
    failure="worker-0 attempt 7: exit code 1",
    summary=Summary(ps="1/1", workers="0/1", restarts=6, reason=REASON),
)


def test_a_status_is_stored_completely_and_shown_in_columns(
    cluster: Cluster, namespace: str
) -> None:
    create(cluster, namespace, job())
    patch = {"status": status_json.render(FULL_STATUS)}
    assert patched(cluster, namespace, patch, "--subresource=status") == ""
    kept = stored(cluster, namespace)
    assert kept["status"] == patch["status"]
    by_phase = ("get", "tjob", "-n", namespace, "--field-selector", "status.phase=Failed")
    table = cluster.kubectl(*by_phase, "-o", "wide").stdout.splitlines()
    assert " ".join(table[0].split()) == (
        "NAME PHASE PS WORKERS RESTARTS STEP AGE EPOCH STEPS/S LOSS REASON"
    )
    row = re.split(r"\s{2,}", table[1].strip())
    age = row.pop(6)
    assert row == ["digits", "Failed", "1/1", "0/1", "6", "1200", "3", "8.5", REASON]
    assert re.fullmatch(r"\d+[ms](?:\d+s)?", age)


def test_the_api_server_refuses_a_status_with_numbers_that_no_job_has(
    cluster: Cluster, namespace: str
) -> None:
    create(cluster, namespace, job())
    row = {"name": "worker-0", "attempt": 0, "refused": -1}
    restarts = {"application": -3, "infrastructure": -1}
    wrong = {"epoch": -5, "restarts": restarts, "tasks": [row]}
    errors = patched(cluster, namespace, {"status": wrong}, "--subresource=status")
    assert set(re.findall(r"status\.(\S+): Invalid value", errors)) == {
        "epoch",
        "restarts.application",
        "restarts.infrastructure",
        "tasks[0].attempt",
        "tasks[0].refused",
    }
    assert "epoch in body should be greater than or equal to 1" in errors
    assert "status" not in stored(cluster, namespace)


def test_the_api_server_drops_a_status_in_a_users_manifest(
    cluster: Cluster, namespace: str
) -> None:
    forged = json.loads(job()) | {"status": {"phase": "Succeeded"}}
    create(cluster, namespace, json.dumps(forged))
    kept = stored(cluster, namespace)
    assert "status" not in kept


@pytest.mark.parametrize(
    "field, words",
    [
        (
            "spec",
            "spec.replicaSpecs.worker.replicas, spec.runPolicy.activeDeadlineSeconds,",
        ),
        ("spec.replicaSpecs", "Parameter servers, which hold the variables."),
        ("spec.replicaSpecs.worker.restartPolicy", "ENUM: Always OnFailure Never ExitCode"),
        (
            "spec.replicaSpecs.worker.template.spec.containers",
            "The task is the container named trainer",
        ),
        ("spec.runPolicy.restartBackoff", "Each further wait is longer by this factor."),
        ("status.tasks", "The attempt that runs or comes next, counted from 1."),
    ],
)
def test_kubectl_explain_describes_a_field(field: str, words: str, cluster: Cluster) -> None:
    def explained() -> bool:
        ran = cluster.kubectl("explain", f"tjob.{field}", check=False)
        return words in " ".join(ran.stdout.split())

    # The API server publishes a schema only a while after it has begun to use it.
    wait.until(explained)
