"""A real API server with the CustomResourceDefinition accepts or refuses jobs.

Each invalid sample names the fields for which it is refused. For a rule, the API server uses the
words of `capstanctl run`; for anything else, it names the same field.
operator/tests/api/test_samples.py holds `capstanctl` to the samples.
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
NAMED = re.compile(r"^\* (\S+): ", re.MULTILINE)
"""A field that the API server names."""
FOUND_LATER = "<nil>"
"""The field that the API server names when it did not come to the rules."""


def of(*folders: str) -> Any:
    found = [sorted((SAMPLES / folder).glob("*.yaml")) for folder in folders]
    assert all(found)
    files = [file for files in found for file in files]
    return pytest.mark.parametrize("sample", files, ids=lambda file: file.stem)


@of("valid", "invalid-later")
def test_a_valid_job_is_accepted_and_so_is_one_that_only_the_operator_refuses(
    sample: pathlib.Path, cluster: Cluster
) -> None:
    try_to_create(cluster, sample)


@of("invalid")
def test_an_invalid_job_is_refused_for_the_same_fields_as_by_capstanctl(
    sample: pathlib.Path, cluster: Cluster
) -> None:
    with pytest.raises(ApiError) as refusal:
        try_to_create(cluster, sample)
    causes = refusal.value.answer.get("details", {}).get("causes", [])
    lines = [f"* {cause['field']}: {cause['message']}" for cause in causes]
    said = "\n".join([refusal.value.message, *lines])
    refused = list(REFUSED.finditer(sample.read_text()))
    for one in refused:
        if one["schema"]:
            assert one["path"] in said
        else:
            words = f"{one['path']}: Invalid value: {one['words']}"
            assert words in re.sub(r"(Invalid value: )(\S+|\{.*\}): ", r"\1", said)
    more = set(NAMED.findall(said)) - {FOUND_LATER} - {one["path"] for one in refused}
    assert not more


def try_to_create(cluster: Cluster, sample: pathlib.Path) -> None:
    """Ask the API server whether it would accept the sample. Raises ApiError if not."""
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
    """Return the job as the API server has it."""
    words = ("get", "tjob", "digits", "-n", namespace, "-o", "json")
    return json.loads(cluster.kubectl(*words).stdout)


def patched(cluster: Cluster, namespace: str, patch: object, *flags: str) -> str:
    """Patch the job; return the refusal, empty if there is none."""
    words = ("patch", "tjob", "digits", "-n", namespace, "--type=merge", "-p", json.dumps(patch))
    return cluster.kubectl(*words, *flags, check=False).stderr


@pytest.fixture(scope="module")
def home(cluster: Cluster) -> Iterator[str]:
    """The namespace of a job that nothing changes."""
    namespace = cluster.namespace()
    create(cluster, namespace, job())
    yield namespace
    cluster.api.delete(f"/api/v1/namespaces/{namespace}")


@pytest.mark.parametrize(
    "path, value",
    [
        ("spec.replicaSpecs", {"worker": {"replicas": 2}}),
        ("spec.replicaSpecs", {"worker": {"template": {"metadata": {"labels": {"a": "b"}}}}}),
        ("spec.replicaSpecs", {"worker": {"template": {"spec": {"fieldOfTomorrow": {"a": [1]}}}}}),
        ("spec.cluster", {"port": 2223}),
        ("spec.checkpoint", {"path": "/checkpoints", "existingClaim": "shared"}),
        ("spec.successPolicy", "AllWorkers"),
        ("spec.runPolicy.backoffLimit", 7),
        ("spec.runPolicy.infrastructureBackoffLimit", 7),
        ("spec.runPolicy.restartBackoff", {"factor": 3}),
        ("spec.runPolicy.psGracePeriodSeconds", 7),
    ],
)
def test_a_field_of_a_job_that_exists_cannot_be_changed(
    path: str, value: object, cluster: Cluster, home: str
) -> None:
    patch = value
    for name in reversed(path.split(".")):
        patch = {name: patch}
    said = patched(cluster, home, patch)
    assert f"{path}: Invalid value: " in said
    assert "cannot be changed once the job exists; delete the job and create it anew" in said


def test_the_deadline_can_be_set_moved_and_dropped(cluster: Cluster, namespace: str) -> None:
    create(cluster, namespace, job())
    for seconds in (60, 30, None):
        deadline = {"spec": {"runPolicy": {"activeDeadlineSeconds": seconds}}}
        assert patched(cluster, namespace, deadline) == ""


def test_the_operator_can_read_the_job_that_the_api_server_keeps(
    cluster: Cluster, namespace: str
) -> None:
    create(cluster, namespace, job())
    kept = stored(cluster, namespace)
    here = parse.parse(job())
    there = parse.admitted(kept)
    assert there.spec == here.spec
    assert there.metadata.generation == 1
    assert there.metadata.uid


OF_TOMORROW = """
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


def test_a_template_keeps_the_fields_of_tomorrow(cluster: Cluster, namespace: str) -> None:
    strictly = ("apply", "--validate=strict", "-n", namespace)
    cluster.kubectl(*strictly, "-f", "-", input=OF_TOMORROW)
    kept = stored(cluster, namespace)
    written = yaml.safe_load(OF_TOMORROW)["spec"]["replicaSpecs"]["worker"]["template"]
    assert kept["spec"]["replicaSpecs"]["worker"]["template"] == written
    worker = parse.admitted(kept).replica(names.ReplicaType.WORKER)
    assert worker.template.manifest() == written


REASON = "worker-0: exit code 1"
NOW = datetime(2026, 11, 2, 10, 0, tzinfo=UTC)
TOLD_STATUS = Status(
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


def test_a_status_is_kept_whole_and_shown_in_columns(cluster: Cluster, namespace: str) -> None:
    create(cluster, namespace, job())
    told = {"status": status_json.render(TOLD_STATUS)}
    assert patched(cluster, namespace, told, "--subresource=status") == ""
    kept = stored(cluster, namespace)
    assert kept["status"] == told["status"]
    by_phase = ("get", "tjob", "-n", namespace, "--field-selector", "status.phase=Failed")
    table = cluster.kubectl(*by_phase, "-o", "wide").stdout.splitlines()
    assert " ".join(table[0].split()) == (
        "NAME PHASE PS WORKERS RESTARTS STEP AGE EPOCH STEPS/S REASON"
    )
    row = re.split(r"\s{2,}", table[1].strip())
    age = row.pop(6)
    assert row == ["digits", "Failed", "1/1", "0/1", "6", "1200", "3", "8.5", REASON]
    assert re.fullmatch(r"\d+[ms](?:\d+s)?", age)


def test_a_status_that_comes_with_the_job_is_not_the_jobs(cluster: Cluster, namespace: str) -> None:
    forged = json.loads(job()) | {"status": {"phase": "Succeeded"}}
    create(cluster, namespace, json.dumps(forged))
    kept = stored(cluster, namespace)
    assert "status" not in kept


@pytest.mark.parametrize(
    "field, words",
    [
        ("spec", "only spec.runPolicy.activeDeadlineSeconds can be changed"),
        ("spec.replicaSpecs", "Parameter servers: they hold the variables."),
        ("spec.replicaSpecs.worker.restartPolicy", "ENUM: Always OnFailure Never ExitCode"),
        (
            "spec.replicaSpecs.worker.template.spec.containers",
            "The task is the container named trainer",
        ),
        ("spec.runPolicy.restartBackoff", "Each further wait is longer by this factor."),
        ("status.tasks", "The attempt that runs or comes next, counted from 1."),
    ],
)
def test_kubectl_explains_what_a_field_means(field: str, words: str, cluster: Cluster) -> None:
    def explained() -> bool:
        ran = cluster.kubectl("explain", f"tjob.{field}", check=False)
        return words in " ".join(ran.stdout.split())

    # The API server publishes its schemas a while after it has begun to use them.
    wait.until(explained)
