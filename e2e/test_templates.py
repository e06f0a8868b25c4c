"""Faults in pod templates. The status names the faulty field, and the operator creates nothing."""

from typing import Any

import pytest

from testbed.story import NAME, TRAINER, Story, condition, job, replica, row

Json = dict[str, Any]


def with_container(**fields: Any) -> Json:
    return replica(1, containers=[{**TRAINER, **fields}])


FAULTS = {
    "a typo in a container": (
        with_container(imagePullPolice="Never"),
        'unknown field "spec.containers[0].imagePullPolice"',
    ),
    "a typo in the pod": (
        replica(1, pod={"nodeSelektor": {}}),
        'unknown field "spec.nodeSelektor"',
    ),
    "a wrong type": (
        with_container(livenessProbe={"periodSeconds": "often"}),
        "periodSeconds",
    ),
    "a wrong value": (
        with_container(imagePullPolicy="Sometimes"),
        'spec.containers[0].imagePullPolicy: Unsupported value: "Sometimes"',
    ),
}


@pytest.mark.parametrize(("worker", "message"), FAULTS.values(), ids=FAULTS)
def test_a_condition_reports_a_fault_in_a_template(
    story: Story, worker: Json, message: str
) -> None:
    story.submit(job(ps=replica(1), worker=worker))
    status = story.until(lambda status: status["phase"] == "Invalid")
    invalid = condition(status, "Invalid")
    assert (invalid["status"], invalid["reason"]) == ("True", "TemplateInvalid")
    assert "spec.replicaSpecs.worker.template: " in invalid["message"]
    assert message in invalid["message"]
    assert story.wait_note("TemplateInvalid") == invalid["message"]
    assert message in story.describe()
    assert "spec.replicaSpecs.worker" in story.kubectl("get", "tjob", "-o", "wide")
    assert (story.pods(), story.find_service()) == ({}, None)
    assert status["observedGeneration"] == 1

    story.delete_job()
    story.started(job(ps=replica(1), worker=replica(1)))


def test_the_faults_of_all_templates_are_reported_together(story: Story) -> None:
    invalid = replica(1, pod={"nodeSelektor": {}, "tolleration": []})
    story.submit(job(ps=invalid, worker=invalid))
    status = story.until(lambda status: status["phase"] == "Invalid")
    message = condition(status, "Invalid")["message"]
    for kind in ("ps", "worker"):
        assert f"spec.replicaSpecs.{kind}.template: " in message
    assert message.count("spec.nodeSelektor") == message.count("spec.tolleration") == 2


def test_a_task_waits_for_a_missing_service_account(story: Story) -> None:
    policy = {"restartBackoff": {"initialSeconds": 0.2, "maxSeconds": 1}}
    worker = replica(1, pod={"serviceAccountName": "reader"})
    story.submit(job(worker=worker, run_policy=policy))
    waiting = story.until_row("worker-0", state="CreateFailed")
    assert 'serviceaccount "reader" not found' in waiting["message"]
    story.kubectl("create", "serviceaccount", "reader")
    status = story.until(lambda status: status["phase"] == "Running")
    assert status["restarts"] == {"application": 0, "infrastructure": 0}
    assert row(status, "worker-0")["attempt"] > 1
    assert story.pod("worker-0")["metadata"]["name"] == f"{NAME}-worker-0"
