"""A mistake in a pod template: the status says where it is, and the operator creates nothing."""

from typing import Any

import pytest

from testbed.story import NAME, TRAINER, Story, condition, job, replica, row

Json = dict[str, Any]


def with_container(**fields: Any) -> Json:
    return replica(1, containers=[{**TRAINER, **fields}])


MISTAKES = {
    "a typo in a container": (
        with_container(imagePullPolice="Never"),
        'unknown field "spec.containers[0].imagePullPolice"',
    ),
    "a typo in the pod": (
        replica(1, pod={"nodeSelektor": {}}),
        'unknown field "spec.nodeSelektor"',
    ),
    "a type": (
        with_container(livenessProbe={"periodSeconds": "often"}),
        "periodSeconds",
    ),
    "a value": (
        with_container(imagePullPolicy="Sometimes"),
        'spec.containers[0].imagePullPolicy: Unsupported value: "Sometimes"',
    ),
}


@pytest.mark.parametrize(("worker", "said"), MISTAKES.values(), ids=MISTAKES)
def test_a_mistake_in_a_template_is_a_condition_at_once(
    story: Story, worker: Json, said: str
) -> None:
    story.submit(job(ps=replica(1), worker=worker))
    status = story.until(lambda status: status["phase"] == "Invalid")
    invalid = condition(status, "Invalid")
    assert (invalid["status"], invalid["reason"]) == ("True", "TemplateInvalid")
    assert "spec.replicaSpecs.worker.template: " in invalid["message"]
    assert said in invalid["message"]
    assert story.wait_note("TemplateInvalid") == invalid["message"]
    assert said in story.describe()
    assert "spec.replicaSpecs.worker" in story.kubectl("get", "tjob", "-o", "wide")
    assert (story.pods(), story.find_service()) == ({}, None)
    assert status["observedGeneration"] == 1

    story.delete_job()
    story.started(job(ps=replica(1), worker=replica(1)))


def test_the_mistakes_of_all_templates_are_said_together(story: Story) -> None:
    wrong = replica(1, pod={"nodeSelektor": {}, "tolleration": []})
    story.submit(job(ps=wrong, worker=wrong))
    message = condition(story.until(lambda status: status["phase"] == "Invalid"), "Invalid")[
        "message"
    ]
    for kind in ("ps", "worker"):
        assert f"spec.replicaSpecs.{kind}.template: " in message
    assert message.count("spec.nodeSelektor") == message.count("spec.tolleration") == 2


def test_a_service_account_that_is_missing_is_no_mistake_of_the_template(story: Story) -> None:
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
