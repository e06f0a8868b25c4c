"""Table of the node that the next attempt of a failed task avoids."""

from typing import Any

import pytest
from reconcile.world import task

from capstan_operator.api.status import TaskStatus
from capstan_operator.reconcile.observe import NAME_CONFLICT
from capstan_operator.reconcile.policies import avoidance
from capstan_operator.reconcile.policies.failure import (
    CREATE_FAILED,
    DELETED,
    DELETED_MESSAGE,
    WITHDRAWN_MESSAGE,
    Failure,
    FailureClass,
)

HAS_RUN = (FailureClass.INFRASTRUCTURE, FailureClass.RETRYABLE, FailureClass.PERMANENT)


@pytest.mark.parametrize(
    "kind, in_a_row, node, avoids",
    [
        *((kind, 1, "gpu-7", "") for kind in FailureClass if kind in HAS_RUN),
        *((kind, 2, "gpu-7", "gpu-7") for kind in FailureClass if kind in HAS_RUN),
        *((kind, 5, "gpu-7", "gpu-7") for kind in FailureClass if kind in HAS_RUN),
        (FailureClass.INFRASTRUCTURE, 1, "", ""),
        (FailureClass.INFRASTRUCTURE, 2, "", "before"),
        (FailureClass.COMPLETED, 3, "gpu-7", ""),
        (FailureClass.CREATE_FAILED, 3, "", "before"),
        (FailureClass.WITHDRAWN, 3, "", "before"),
    ],
)
def test_a_task_avoids_the_node_of_its_second_failure_in_a_row(
    kind: FailureClass, in_a_row: int, node: str, avoids: str
) -> None:
    name = task("worker-0")
    row = TaskStatus(name=name, avoided_node="before", exit_code=1, reason="Error")
    failed = Failure(task=name, attempt=1, kind=kind, node=node)
    assert avoidance.node(row, failed, in_a_row) == avoids


@pytest.mark.parametrize(
    "end, avoids",
    [
        ({"exit_code": 137, "reason": "OOMKilled"}, "gpu-7"),
        ({"exit_code": None, "reason": "UnexpectedAdmissionError"}, "gpu-7"),
        ({"exit_code": None, "reason": DELETED, "message": DELETED_MESSAGE}, "gpu-7"),
        ({"exit_code": None, "reason": DELETED, "message": WITHDRAWN_MESSAGE}, "before"),
        ({"exit_code": None, "reason": CREATE_FAILED}, "before"),
        ({"exit_code": None, "reason": NAME_CONFLICT}, "before"),
        ({"exit_code": 0, "reason": "Completed"}, "before"),
    ],
)
def test_only_attempts_that_ran_and_failed_count(end: dict[str, Any], avoids: str) -> None:
    """Refused starts and ends with exit code 0 say nothing about a node."""
    name = task("worker-0")
    row = TaskStatus(name=name, avoided_node="before", **end)
    failed = Failure(task=name, attempt=1, kind=FailureClass.PERMANENT, node="gpu-7")
    assert avoidance.node(row, failed, 2) == avoids
