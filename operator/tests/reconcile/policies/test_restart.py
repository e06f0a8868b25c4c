"""Table of all combinations of restartPolicy and onFailure."""

import pytest
from reconcile.world import make_job, task

from capstan_operator.api.spec import TrainingJob
from capstan_operator.reconcile.policies import restart
from capstan_operator.reconcile.policies.failure import Failure, FailureClass, Fatal

INFRASTRUCTURE, RETRYABLE = FailureClass.INFRASTRUCTURE, FailureClass.RETRYABLE
PERMANENT, COMPLETED = FailureClass.PERMANENT, FailureClass.COMPLETED
CREATE_FAILED = FailureClass.CREATE_FAILED
FAILURES = (INFRASTRUCTURE, RETRYABLE, PERMANENT)


def job_with(restart_policy: str, on_failure: str, **kwargs: object) -> TrainingJob:
    policies = {"restartPolicy": restart_policy, "onFailure": on_failure}
    kinds = ("chief", "ps", "worker", "evaluator")
    return make_job(chief=1, evaluator=1, each=dict.fromkeys(kinds, policies), **kwargs)


def decide(job: TrainingJob, name: str, kind: FailureClass) -> str:
    answer = restart.decide(job, Failure(task=task(name), attempt=1, kind=kind, exit_code=1))
    return answer.reason if isinstance(answer, Fatal) else answer.name


@pytest.mark.parametrize("name", ["chief-0", "ps-0", "worker-1", "evaluator-0"])
@pytest.mark.parametrize(
    "restart_policy, kind, may",
    [
        *(("Always", kind, None) for kind in FAILURES),
        *(("OnFailure", kind, None) for kind in FAILURES),
        *(("Never", kind, "RestartPolicyNever") for kind in FAILURES),
        ("ExitCode", INFRASTRUCTURE, None),
        ("ExitCode", RETRYABLE, None),
        ("ExitCode", PERMANENT, "PermanentFailure"),
    ],
)
def test_the_restart_policy_decides_whether_another_attempt_is_made(
    name: str, restart_policy: str, kind: FailureClass, may: str | None
) -> None:
    assert decide(job_with(restart_policy, "RestartTask"), name, kind) == (may or "TASK")
    assert decide(job_with(restart_policy, "RestartJob"), name, kind) == (may or "JOB")
    assert decide(job_with(restart_policy, "FailJob"), name, kind) == "FailJob"


@pytest.mark.parametrize("restart_policy", ["Always", "OnFailure", "Never", "ExitCode"])
@pytest.mark.parametrize("kind", FAILURES)
@pytest.mark.parametrize(
    "name, success, answer",
    [
        ("chief-0", "Default", "NeededTaskFailed"),
        ("worker-0", "Default", "NOTHING"),
        ("ps-0", "Default", "NOTHING"),
        ("evaluator-0", "AllWorkers", "NOTHING"),
        ("worker-1", "AllWorkers", "NeededTaskFailed"),
    ],
)
def test_only_a_task_that_is_not_needed_is_ignored(
    restart_policy: str, kind: FailureClass, name: str, success: str, answer: str
) -> None:
    job = job_with(restart_policy, "Ignore", successPolicy=success)
    assert decide(job, name, kind) == answer


@pytest.mark.parametrize("kind", [CREATE_FAILED, COMPLETED])
@pytest.mark.parametrize("restart_policy", ["Always", "OnFailure", "Never", "ExitCode"])
@pytest.mark.parametrize("on_failure", ["RestartTask", "RestartJob", "FailJob", "Ignore"])
def test_exit_0_and_a_refused_start_only_start_the_task_again(
    kind: FailureClass, restart_policy: str, on_failure: str
) -> None:
    assert decide(job_with(restart_policy, on_failure), "ps-0", kind) == "TASK"


@pytest.mark.parametrize(
    "restart_policy, name, success, may_end",
    [
        ("OnFailure", "ps-0", "Default", True),
        ("Never", "worker-1", "Default", True),
        ("ExitCode", "evaluator-0", "Default", True),
        ("Always", "ps-0", "Default", False),
        ("Always", "evaluator-0", "AllWorkers", False),
        ("Always", "worker-0", "Default", False),
        ("Always", "chief-0", "Default", True),
        ("Always", "worker-1", "AllWorkers", True),
    ],
)
def test_with_always_only_needed_tasks_may_end(
    restart_policy: str, name: str, success: str, may_end: bool
) -> None:
    job = job_with(restart_policy, "RestartTask", successPolicy=success)
    assert restart.may_end(job, task(name)) is may_end


@pytest.mark.parametrize(
    "restart_policy, on_failure, because",
    [
        ("Never", "RestartTask", "spec.replicaSpecs.ps.restartPolicy is Never"),
        ("OnFailure", "FailJob", "spec.replicaSpecs.ps.onFailure is FailJob"),
        (
            "ExitCode",
            "RestartJob",
            "spec.replicaSpecs.ps.restartPolicy is ExitCode, which does not retry exit code 1",
        ),
    ],
)
def test_a_fatal_failure_names_the_field_that_decided_it(
    restart_policy: str, on_failure: str, because: str
) -> None:
    failed = Failure(task=task("ps-0"), attempt=1, kind=PERMANENT, exit_code=1)
    answer = restart.decide(job_with(restart_policy, on_failure), failed)
    assert isinstance(answer, Fatal)
    assert answer.because == because


def test_each_type_has_its_own_policies() -> None:
    job = make_job(each={"ps": {"onFailure": "RestartJob"}, "worker": {"restartPolicy": "Never"}})
    assert decide(job, "ps-0", PERMANENT) == "JOB"
    assert decide(job, "worker-1", PERMANENT) == "RestartPolicyNever"
