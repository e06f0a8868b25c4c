"""Table of the tasks that must exit with code 0 for the job to succeed."""

import pytest
from reconcile.world import make_job, task

from capstan_operator.api.status import TaskState, TaskStatus
from capstan_operator.reconcile.policies import success


@pytest.mark.parametrize(
    "policy, chief, workers, needed",
    [
        ("Default", 0, 1, ["worker-0"]),
        ("Default", 0, 3, ["worker-0"]),
        ("Default", 1, 3, ["chief-0"]),
        ("Default", 1, 0, ["chief-0"]),
        ("AllWorkers", 0, 2, ["worker-0", "worker-1"]),
        ("AllWorkers", 1, 2, ["chief-0", "worker-0", "worker-1"]),
        ("AllWorkers", 1, 0, ["chief-0"]),
    ],
)
def test_the_job_is_done_when_all_needed_tasks_have_succeeded(
    policy: str, chief: int, workers: int, needed: list[str]
) -> None:
    job = make_job(chief=chief, workers=workers, evaluator=1, successPolicy=policy)
    assert success.needed(job) == {task(name) for name in needed}

    def is_done(names: set[str], state: TaskState) -> bool:
        rows = [
            TaskStatus(name=name, state=state if str(name) in names else TaskState.RUNNING)
            for name in job.tasks()
        ]
        return success.is_done(job, rows)

    assert is_done(set(needed), TaskState.SUCCEEDED)
    assert not is_done(set(needed), TaskState.FAILED)
    assert not is_done(set(needed), TaskState.STOPPED)
    for name in needed:
        assert not is_done({str(other) for other in job.tasks()} - {name}, TaskState.SUCCEEDED)


def test_a_chief_with_0_replicas_is_not_needed() -> None:
    job = make_job(workers=1, each={})
    specs = job.spec.replica_specs
    assert specs.worker is not None
    none = specs.worker.model_copy(update={"replicas": 0})
    without = job.model_copy(
        update={
            "spec": job.spec.model_copy(
                update={"replica_specs": specs.model_copy(update={"chief": none})}
            )
        }
    )
    assert success.needed(without) == {task("worker-0")}
