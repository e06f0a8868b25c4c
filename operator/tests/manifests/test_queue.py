"""The group of pods by which a job waits in a queue."""

from datetime import timedelta

import pytest
from reconcile.world import START, make_job, task

from capstan_operator.api.names import Uid
from capstan_operator.api.spec import TrainingJob
from capstan_operator.api.status import Status, TaskState, TaskStatus
from capstan_operator.manifests import queue

JOB = make_job(scheduling={"queueName": "training"})
BEFORE, AFTER = START - timedelta(seconds=5), START + timedelta(seconds=5)


def named(name: str) -> TrainingJob:
    return JOB.model_copy(update={"metadata": JOB.metadata.model_copy(update={"name": name})})


def status(*rows: TaskStatus, since: timedelta = timedelta()) -> Status:
    table = rows or tuple(TaskStatus(name=name) for name in JOB.tasks())
    return Status(start_time=START + since, tasks=table)


def group(job: TrainingJob = JOB, at: Status | None = None) -> queue.QueueGroup:
    found = queue.group(job, at or status())
    assert found is not None
    return found


def test_a_job_without_a_queue_and_a_job_that_does_not_run_have_no_group() -> None:
    assert queue.group(make_job(), status()) is None
    assert queue.group(JOB, Status()) is None


def test_each_run_of_each_job_has_a_group_of_its_own() -> None:
    other = JOB.with_uid(Uid("another"))
    resumed = status(since=timedelta(microseconds=1))
    assert group() == group()
    assert len({group().name, group(other).name, group(at=resumed).name}) == 3


@pytest.mark.parametrize("name", ["a", "x" * 55, "x" * 53 + "-y"])
def test_the_name_of_a_group_is_a_valid_label(name: str) -> None:
    assert group(named(name)).name.startswith(f"{name[:54]}-")
    assert len(group(named(name)).name) <= 63


@pytest.mark.parametrize(
    "state, finished, size",
    [
        (TaskState.RUNNING, BEFORE, 2),
        (TaskState.BACK_OFF, BEFORE, 2),
        (TaskState.SUCCEEDED, AFTER, 2),
        (TaskState.SUCCEEDED, BEFORE, 1),
        (TaskState.FAILED, BEFORE, 1),
        (TaskState.FAILED, None, 2),
    ],
)
def test_a_group_has_all_tasks_that_had_not_ended_before_its_run(
    state: TaskState, finished: object, size: int
) -> None:
    row = TaskStatus(name=task("worker-0"), state=state, finished_at=finished)
    assert group(at=status(row, TaskStatus(name=task("worker-1")))).size == size


def test_a_pod_joins_with_its_own_labels_annotations_and_gates() -> None:
    pod = {
        "metadata": {"labels": {"a": "b"}, "annotations": {"c": "d"}},
        "spec": {"schedulingGates": [{"name": "example.com/mine"}], "hostname": "ps-0"},
    }
    assert queue.QueueGroup("training", "digits-1", 3).joined(pod, task("ps-0")) == {
        "metadata": {
            "labels": {
                "a": "b",
                "kueue.x-k8s.io/queue-name": "training",
                "kueue.x-k8s.io/pod-group-name": "digits-1",
                "kueue.x-k8s.io/managed": "true",
            },
            "annotations": {
                "c": "d",
                "kueue.x-k8s.io/pod-group-total-count": "3",
                "kueue.x-k8s.io/role-hash": "ps",
                "kueue.x-k8s.io/pod-suspending-parent": "capstan.dev/trainingjobs",
            },
        },
        "spec": {
            "schedulingGates": [{"name": "example.com/mine"}, {"name": "kueue.x-k8s.io/admission"}],
            "hostname": "ps-0",
        },
    }
