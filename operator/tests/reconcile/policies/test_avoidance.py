"""Table of the node that the next attempt of a failed task avoids."""

import pytest
from reconcile.world import task

from capstan_operator.api.status import TaskStatus
from capstan_operator.reconcile.policies import avoidance
from capstan_operator.reconcile.policies.failure import Failure, FailureClass

HAS_RUN = (FailureClass.INFRASTRUCTURE, FailureClass.RETRYABLE, FailureClass.PERMANENT)


@pytest.mark.parametrize(
    "kind, in_a_row, node, avoids",
    [
        *((kind, 1, "gpu-7", "") for kind in FailureClass if kind in HAS_RUN),
        *((kind, 2, "gpu-7", "gpu-7") for kind in FailureClass if kind in HAS_RUN),
        *((kind, 5, "gpu-7", "gpu-7") for kind in FailureClass if kind in HAS_RUN),
        (FailureClass.INFRASTRUCTURE, 2, "", ""),
        (FailureClass.COMPLETED, 3, "gpu-7", ""),
        (FailureClass.CREATE_FAILED, 3, "", "before"),
        (FailureClass.WITHDRAWN, 3, "", "before"),
    ],
)
def test_a_task_avoids_the_node_of_its_second_failure_in_a_row(
    kind: FailureClass, in_a_row: int, node: str, avoids: str
) -> None:
    name = task("worker-0")
    row = TaskStatus(name=name, avoided_node="before")
    failed = Failure(task=name, attempt=1, kind=kind, node=node)
    assert avoidance.node(row, failed, in_a_row) == avoids
