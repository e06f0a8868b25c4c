"""Table of the reasons for which tasks end."""

import pytest
from reconcile.world import view

from capstan_operator.api.status import TaskState, TaskStatus
from capstan_operator.reconcile.observe import Deletion, TaskPhase
from capstan_operator.reconcile.policies import failure
from capstan_operator.reconcile.policies.failure import Failure, FailureClass

FAILED, SUCCEEDED = TaskPhase.FAILED, TaskPhase.SUCCEEDED
INFRASTRUCTURE = FailureClass.INFRASTRUCTURE
RETRYABLE, PERMANENT = FailureClass.RETRYABLE, FailureClass.PERMANENT


@pytest.mark.parametrize(
    "phase, code, reason, kind",
    [
        (TaskPhase.PENDING, None, "", None),
        (TaskPhase.RUNNING, None, "", None),
        (SUCCEEDED, 0, "", None),
        (SUCCEEDED, 0, "Completed", None),
        *((FAILED, code, "", RETRYABLE) for code in (130, 137, 138, 143)),
        *((FAILED, code, "", PERMANENT) for code in (1, 2, 126, 127, 128, 129, 134, 139, 255)),
        (FAILED, 1, "Error", PERMANENT),
        (FAILED, 143, "Error", RETRYABLE),
        (FAILED, 137, "OOMKilled", RETRYABLE),
        (FAILED, 1, "OOMKilled", RETRYABLE),
        *(
            (FAILED, code, reason, INFRASTRUCTURE)
            for code in (None, 1, 137)
            for reason in (
                "DisruptionTarget",
                "Evicted",
                "NodeLost",
                "NodeShutdown",
                "Preempting",
                "Terminated",
            )
        ),
        (FAILED, None, "", INFRASTRUCTURE),
        (FAILED, None, "UnexpectedAdmissionError", INFRASTRUCTURE),
        (FAILED, None, "OutOfcpu", INFRASTRUCTURE),
        (FAILED, None, "InitContainerFailed", PERMANENT),
        (FAILED, 137, "InitContainerFailed", PERMANENT),
        (FAILED, None, "CreateFailed", FailureClass.CREATE_FAILED),
    ],
)
def test_the_class_follows_from_phase_exit_code_and_reason(
    phase: TaskPhase, code: int | None, reason: str, kind: FailureClass | None
) -> None:
    judged = failure.judge(view("worker-1", phase, exit_code=code, reason=reason), may_end=True)
    assert (None if judged is None else judged.kind) == kind


@pytest.mark.parametrize(
    "code, word, reason",
    [
        *((code, "", "Deleted") for code in (0, 1, 137, 143)),
        (0, "Completed", "Deleted"),
        (143, "Error", "Deleted"),
        (137, "OOMKilled", "OOMKilled"),
        (143, "NodeLost", "NodeLost"),
    ],
)
def test_the_end_of_a_task_that_was_asked_to_stop_counts_as_a_deletion(
    code: int, word: str, reason: str
) -> None:
    phase = FAILED if code else SUCCEEDED
    ended = view("worker-0", phase, exit_code=code, deletion=Deletion.BEFORE_END, reason=word)
    judged = failure.judge(ended, may_end=True)
    assert judged is not None
    assert (judged.kind, judged.reason) == (INFRASTRUCTURE, reason)


@pytest.mark.parametrize("deletion", [Deletion.NOT_REQUESTED, Deletion.AFTER_END])
def test_a_deletion_after_the_end_does_not_change_how_the_task_ended(deletion: Deletion) -> None:
    done = view("worker-0", SUCCEEDED, exit_code=0, deletion=deletion)
    assert failure.judge(done, may_end=True) is None
    judged = failure.judge(view("worker-0", FAILED, exit_code=1, deletion=deletion), may_end=True)
    assert judged is not None
    assert judged.kind is FailureClass.PERMANENT


def test_a_task_that_is_stopping_has_not_ended() -> None:
    assert failure.judge(view("worker-0", deletion=Deletion.BEFORE_END), may_end=True) is None


def test_exit_0_of_a_task_that_may_not_end_is_completed() -> None:
    judged = failure.judge(view("ps-0", SUCCEEDED, exit_code=0), may_end=False)
    assert judged is not None
    assert (judged.kind, judged.reason) == (FailureClass.COMPLETED, "Completed")


def test_a_failure_names_task_attempt_and_moment() -> None:
    ended = view("ps-1", FAILED, attempt=7, exit_code=3, message="x")
    judged = failure.judge(ended, may_end=True)
    assert judged is not None
    assert (str(judged.task), judged.attempt, judged.exit_code, judged.message) == (
        "ps-1",
        7,
        3,
        "x",
    )
    assert judged.at == ended.finished_at


TRACE = "Traceback (most recent call last):\n  File x\nValueError: boom\n\n"


@pytest.mark.parametrize(
    "code, reason, message, line",
    [
        (1, "", TRACE, "worker-1 attempt 2: exit code 1: ValueError: boom"),
        (1, "Error", TRACE, "worker-1 attempt 2: exit code 1: ValueError: boom"),
        (1, "", "", "worker-1 attempt 2: exit code 1"),
        (1, "", " \n\t\n", "worker-1 attempt 2: exit code 1"),
        (137, "", "step 3", "worker-1 attempt 2: exit code 137 (SIGKILL): its last output: step 3"),
        (
            139,
            "Error",
            "W1 full\nI1126 20:15:01.1 1 server.py:114] Started server",
            "worker-1 attempt 2: exit code 139 (SIGSEGV): its last output: W1 full",
        ),
        (
            137,
            "",
            "2026-11-26 20:15:01.123456: I core/x.cc:1] Started",
            "worker-1 attempt 2: exit code 137 (SIGKILL)",
        ),
        (137, "", "INFO:tensorflow:step 3", "worker-1 attempt 2: exit code 137 (SIGKILL)"),
        (143, "Deleted", "drained", "worker-1 attempt 2: exit code 143 (Deleted): drained"),
        (
            137,
            "GuardKilled",
            "the guard of this task was killed",
            "worker-1 attempt 2: exit code 137 (GuardKilled): the guard of this task was killed",
        ),
        (
            1,
            "",
            "INFO:tensorflow:step 3",
            "worker-1 attempt 2: exit code 1: INFO:tensorflow:step 3",
        ),
        (
            137,
            "OOMKilled",
            "step 3",
            "worker-1 attempt 2: exit code 137 (OOMKilled): its last output: step 3",
        ),
        (143, "", "", "worker-1 attempt 2: exit code 143 (SIGTERM)"),
        (200, "", "", "worker-1 attempt 2: exit code 200"),
        (None, "Evicted", "low on disk", "worker-1 attempt 2: Evicted: low on disk"),
        (None, "", "", "worker-1 attempt 2: failed"),
        (1, "", "a\x1b[31m b\tc\r", "worker-1 attempt 2: exit code 1: a b c"),
    ],
)
def test_a_failure_is_one_line_with_its_reason(
    code: int | None, reason: str, message: str, line: str
) -> None:
    ended = view("worker-1", FAILED, attempt=2, exit_code=code, reason=reason, message=message)
    assert str(failure.judge(ended, may_end=True)) == line


@pytest.mark.parametrize("count, shown", [(200, "x" * 200), (201, "x" * 199 + "…")])
def test_a_long_last_line_is_cut(count: int, shown: str) -> None:
    failed = failure.judge(view("worker-1", FAILED, exit_code=1, message="x" * count), may_end=True)
    assert failed is not None
    assert failure.cause(failed) == shown


def test_an_unobserved_end_of_a_task_is_an_infrastructure_failure() -> None:
    gone = failure.lost(TaskStatus(name=view("ps-0").name, attempt=3, state=TaskState.RUNNING))
    assert gone == Failure(
        task=view("ps-0").name,
        attempt=3,
        kind=INFRASTRUCTURE,
        reason="Lost",
        message="it is gone, and its end was not seen",
    )
    assert str(gone) == "ps-0 attempt 3: Lost: it is gone, and its end was not seen"


def test_a_stopping_task_that_is_gone_ends_with_the_reason_deleted() -> None:
    row = TaskStatus(name=view("ps-0").name, attempt=3, state=TaskState.STOPPING, node="n7")
    gone = failure.lost(row)
    assert (gone.kind, gone.reason) == (INFRASTRUCTURE, "Deleted")
    assert str(gone) == ("ps-0 attempt 3 on n7: Deleted: it was deleted, and not by the operator")


def test_a_pod_without_a_gate_may_have_run_although_it_had_no_node_when_it_was_last_seen() -> None:
    row = TaskStatus(name=view("ps-0").name, attempt=3, state=TaskState.PENDING, pod="digits-ps-0")
    assert failure.lost(row).kind is INFRASTRUCTURE


def test_a_pod_that_is_gone_while_a_gate_held_it_has_not_run() -> None:
    row = TaskStatus(
        name=view("ps-0").name, attempt=3, state=TaskState.PENDING, waiting="SchedulingGated: kueue"
    )
    gone = failure.lost(row)
    assert (gone.kind, gone.reason) == (FailureClass.WITHDRAWN, "Deleted")
    assert (
        str(gone)
        == "ps-0 attempt 3: Deleted: its pod was deleted while it waited at a scheduling gate"
    )


def test_a_failure_names_its_node() -> None:
    ended = view("worker-1", FAILED, attempt=7, exit_code=1, message="ValueError: x", node="n7")
    assert str(failure.judge(ended, may_end=True)) == (
        "worker-1 attempt 7 on n7: exit code 1: ValueError: x"
    )


@pytest.mark.parametrize("reason", ["CreateFailed", "NameConflict"])
def test_a_refused_start_always_has_the_class_create_failed(reason: str) -> None:
    judged = failure.judge(
        view("ps-0", FAILED, reason=reason, deletion=Deletion.BEFORE_END), may_end=True
    )
    assert judged is not None
    assert (judged.kind, judged.reason) == (FailureClass.CREATE_FAILED, reason)


def test_the_whole_message_of_pod_security_is_shown() -> None:
    message = 'violates PodSecurity "restricted:latest": ' + ", ".join(
        f'field{number} != false (container "trainer" must set it)' for number in range(9)
    )
    refused = failure.judge(
        view("ps-0", FAILED, reason="CreateFailed", message=message), may_end=True
    )
    assert str(refused).endswith(message)
    failed = failure.judge(view("ps-0", FAILED, exit_code=1, message=message), may_end=True)
    assert str(failed).endswith("…")
