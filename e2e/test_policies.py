"""The policies of a job, on a real API server: which failures restart tasks and which end the job.

Tasks with sidecars and with finalizers are here as well.
"""

from collections.abc import Callable
from typing import Any

import pytest

from testbed import wait
from testbed.story import NAME, TRAINER, Story, condition, job, replica, row

Json = dict[str, Any]
Fail = Callable[[Story, str], None]
"""A function that makes a running task fail."""

APPLICATION, INFRASTRUCTURE = "application", "infrastructure"
INIT = {"name": "init", "image": "capstan/digits:dev"}


def exits(code: int) -> Fail:
    return lambda story, task: story.kubelet.exit(story.pod_key(task), code)


def test_a_ps_that_exits_0_succeeds_and_its_deleted_pod_is_not_recreated(story: Story) -> None:
    story.started()
    story.kubelet.exit(story.pod_key("ps-0"), 0)
    story.until_row("ps-0", state="Succeeded")
    story.delete_pod("ps-0")
    wait.until(lambda: story.find_pod("ps-0") is None)
    story.kubelet.exit(story.pod_key("worker-1"), 1)
    status = story.until_running("worker-1", attempt=2)
    assert row(status, "ps-0")["state"] == "Succeeded"
    assert story.find_pod("ps-0") is None


FATAL = {
    "ExitCode and an init container": (
        {"restartPolicy": "ExitCode"},
        lambda story, task: story.kubelet.init_fails(story.pod_key(task), 3),
        "PermanentFailure",
    ),
    "FailJob": ({"onFailure": "FailJob"}, exits(143), "FailJob"),
}


@pytest.mark.parametrize(("policy", "fail", "reason"), FATAL.values(), ids=FATAL)
def test_a_policy_can_let_a_failure_end_the_job(
    story: Story, policy: Json, fail: Fail, reason: str
) -> None:
    worker = replica(1, pod={"initContainers": [INIT]}, **policy)
    story.started(job(ps=replica(1), worker=worker))
    fail(story, "worker-0")
    status = story.until(lambda status: status["phase"] == "Failed")
    failed = condition(status, "Failed")
    assert (failed["status"], failed["reason"]) == ("True", reason)
    assert status["failure"].startswith("worker-0 attempt 1 on fake-")
    assert status["failure"] in story.wait_note("Failed")
    assert status["restarts"] == {APPLICATION: 0, INFRASTRUCTURE: 0}
    wait.until(lambda: sorted(story.pods()) == [f"{NAME}-worker-0"])
    assert story.counted() == {'capstan_jobs_finished_total{phase="Failed"}': 1}


def test_restart_job_restarts_all_tasks_and_is_counted_once(story: Story) -> None:
    story.started(job(ps=replica(1), worker=replica(2, onFailure="RestartJob")))
    story.kubelet.exit(story.pod_key("worker-1"), 1)
    status = story.until(
        lambda status: (
            status["phase"] == "Running"
            and [task["attempt"] for task in status["tasks"]] == [2, 2, 2]
        )
    )
    assert (status["epoch"], status["restarts"]) == (2, {APPLICATION: 1, INFRASTRUCTURE: 0})
    assert "the whole job restarts" in story.wait_note("RestartingJob")


def test_a_job_fails_when_its_failures_exceed_the_limit(story: Story) -> None:
    limit = {"backoffLimit": 1}
    story.started(job(run_policy=limit))
    story.kubelet.exit(story.pod_key("worker-1"), 1)
    story.until_running("worker-1", attempt=2)
    story.kubelet.exit(story.pod_key("worker-1"), 7, message="IOError: disk full")
    status = story.until(lambda status: status["phase"] == "Failed")
    assert status["restarts"] == {APPLICATION: 1, INFRASTRUCTURE: 0}
    assert condition(status, "Failed")["reason"] == "BackoffLimitExceeded"
    assert status["failure"].endswith("exit code 7: IOError: disk full")
    assert status["summary"]["reason"].startswith(status["failure"])
    assert "disk full" in story.kubectl("get", "tjob", "-o", "wide")


METRICS = {"name": "metrics", "image": "capstan/digits:dev"}


def test_a_job_does_not_wait_for_a_sidecar_and_stops_it(story: Story) -> None:
    worker = replica(1, containers=[METRICS, TRAINER])
    story.started(job(ps=replica(1), worker=worker))
    story.kubelet.exit(story.pod_key("worker-0"), 0, container="trainer")
    status = story.until(lambda status: status["phase"] == "Succeeded")
    assert row(status, "worker-0")["exitCode"] == 0
    wait.until(lambda: not story.pods())
    assert row(story.status(), "worker-0")["state"] == "Succeeded"


def test_the_end_of_a_sidecar_is_not_a_failure(story: Story) -> None:
    worker = replica(2, containers=[METRICS, TRAINER])
    story.started(job(worker=worker))
    story.kubelet.exit(story.pod_key("worker-0"), 1, container="metrics")
    story.kubelet.exit(story.pod_key("worker-1"), 1, container="trainer")
    status = story.until_running("worker-1", attempt=2)
    assert row(status, "worker-0")["state"] == "Running"
    story.kubelet.exit(story.pod_key("worker-0"), 0, container="trainer")
    status = story.until(lambda status: status["phase"] == "Succeeded")
    assert status["restarts"] == {APPLICATION: 1, INFRASTRUCTURE: 0}


def test_a_pod_is_kept_with_its_logs_if_its_sidecar_ends_with_the_task(story: Story) -> None:
    worker = replica(1, containers=[METRICS, TRAINER])
    story.started(job(worker=worker))
    # The operator deletes the pod if the sidecar still runs five seconds after the end of the job.
    # A busy machine may need longer for two statuses.
    story.kubelet.exit_all(story.pod_key("worker-0"), 0)
    story.until(lambda status: status["phase"] == "Succeeded")
    wait.until(lambda: story.find_pod("ps-0") is None)
    assert "deletionTimestamp" not in story.pod("worker-0")["metadata"]


def test_an_attempt_waits_for_the_old_pod_that_a_finalizer_keeps(story: Story) -> None:
    worker = replica(1)
    worker["template"]["metadata"] = {"finalizers": ["example.com/keep"]}
    story.started(job(worker=worker))
    story.kubelet.exit(story.pod_key("worker-0"), 1)
    first = story.pod("worker-0")
    cause = f"the pod of attempt 1 on {first['spec']['nodeName']} is still being deleted"
    story.until_row("worker-0", waiting=cause)
    _remove_finalizers(story, "worker-0")
    story.until_running("worker-0", attempt=2)
    # The operator gets the conflict once and remembers that the name is taken.
    name_taken = 'capstan_api_errors_total{code="409",resource="pods",verb="create"}'
    assert story.counter(name_taken) == 1
    _remove_finalizers(story, "worker-0")


def _remove_finalizers(story: Story, task: str) -> None:
    path = f"/api/v1/namespaces/{story.namespace}/pods/{NAME}-{task}"
    story.cluster.api.patch(path, {"metadata": {"finalizers": None}})


def test_the_success_of_worker_0_ends_the_job_and_stops_the_ps(story: Story) -> None:
    story.started(job(run_policy={"psGracePeriodSeconds": 7}))
    story.kubelet.pause()
    story.kubelet.exit(story.pod_key("worker-0"), 0)
    status = story.until(lambda status: status["phase"] == "Succeeded")
    assert condition(status, "Succeeded")["status"] == "True"
    ps = wait.until(lambda: _deleted(story.pod("ps-0")))
    assert ps["metadata"]["deletionGracePeriodSeconds"] == 7
    story.kubelet.resume()
    wait.until(lambda: sorted(story.pods()) == [f"{NAME}-worker-0"])
    story.until_row("ps-0", state="Stopped")
    assert story.counted() == {'capstan_jobs_finished_total{phase="Succeeded"}': 1}


def test_a_job_that_exceeds_its_deadline_fails(story: Story) -> None:
    story.submit(job(run_policy={"activeDeadlineSeconds": 2}))
    status = story.until(lambda status: status["phase"] == "Failed")
    assert condition(status, "Failed")["reason"] == "DeadlineExceeded"
    wait.until(lambda: not story.pods())
    story.wait_note("Failed")


def test_a_job_without_a_node_says_so_and_fails_at_its_deadline(story: Story) -> None:
    worker = replica(1, pod={"nodeSelector": {"example.com/pool": "missing"}})
    story.submit(job(ps=replica(1), worker=worker, run_policy={"cleanPodPolicy": "All"}))
    assert "worker-0: Unschedulable: 0/" in story.wait_note("Unschedulable")
    story.until_row("ps-0", state="Running")
    # The deadline is set now, so that the event comes first and only worker-0 waits.
    _change_policy(story, pendingDeadlineSeconds=1)
    status = story.until(lambda status: status["phase"] == "Failed")
    failed = condition(status, "Failed")
    assert (failed["reason"], failed["observedGeneration"]) == ("DeadlineExceeded", 2)
    assert status["failure"].startswith("not all tasks ran after 1 s: waiting for worker-0; worker")
    wait.until(lambda: not story.pods())


def test_pods_that_are_kept_are_deleted_with_their_job(story: Story) -> None:
    story.submit(job("other") | {"spec": {**job()["spec"], "managedBy": "example.com/other"}})
    story.started(job(run_policy={"cleanPodPolicy": "None"}))
    story.kubelet.exit(story.pod_key("worker-0"), 0)
    status = story.until(lambda status: status["phase"] == "Succeeded")
    assert row(status, "ps-0")["state"] == "Running"
    _change_policy(story, ttlSecondsAfterFinished=0)
    wait.until(lambda: story.find_job() is None and not story.pods())
    assert "status" not in story.job("other")
    assert story.find_service("other") is None


def test_a_suspended_job_keeps_its_service_and_continues(story: Story) -> None:
    story.started()
    service = story.service()
    _change(story, suspend=True)
    status = story.until(lambda status: condition(status, "Suspended").get("status") == "True")
    assert status["phase"] == "Suspended"
    assert {task["state"] for task in status["tasks"]} == {"Stopped"}
    # A task has stopped when its container has ended. The kubelet removes the pod a moment later.
    wait.until(lambda: not story.pods(), else_show=story.pods)
    assert story.service()["metadata"]["uid"] == service["metadata"]["uid"]
    _change(story, suspend=False)
    patience = f"--timeout={wait.PATIENCE_SECONDS:.0f}s"
    story.kubectl("wait", f"tjob/{NAME}", "--for=condition=Suspended=False", patience)
    status = story.until_running("worker-1", attempt=2)
    assert (status["epoch"], status["restarts"]) == (2, {APPLICATION: 0, INFRASTRUCTURE: 0})
    assert story.pod("ps-0")["metadata"]["labels"]["capstan.dev/epoch"] == "2"
    story.wait_note("Resumed")


def _change_policy(story: Story, **fields: int) -> None:
    _change(story, runPolicy=fields)


def _change(story: Story, **fields: object) -> None:
    path = f"/apis/capstan.dev/v1alpha1/namespaces/{story.namespace}/trainingjobs/{NAME}"
    story.cluster.api.patch(path, {"spec": fields})


def _deleted(pod: Json) -> Json | None:
    return pod if "deletionTimestamp" in pod["metadata"] else None


def test_an_evaluator_outlives_the_success_until_it_has_evaluated(story: Story) -> None:
    story.started(job(ps=replica(1), worker=replica(1), evaluator=replica(1)))
    story.kubelet.exit(story.pod_key("worker-0"), 0)
    story.until(lambda status: status["phase"] == "Succeeded")
    assert story.wait_note("Evaluating") == "evaluator-0 has 300 s to evaluate the last checkpoint"
    wait.until(lambda: story.find_pod("ps-0") is None)
    assert "deletionTimestamp" not in story.pod("evaluator-0")["metadata"]
    story.kubelet.exit(story.pod_key("evaluator-0"), 0)
    story.until_row("evaluator-0", state="Succeeded")
    assert "deletionTimestamp" not in story.pod("evaluator-0")["metadata"]
