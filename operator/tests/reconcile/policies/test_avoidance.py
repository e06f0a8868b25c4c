"""Table of the node on which a task failed last, and of the node that its next attempt avoids."""

import pytest
from reconcile.world import task

from capstan_operator.api.status import TaskStatus
from capstan_operator.reconcile.policies import avoidance
from capstan_operator.reconcile.policies.avoidance import Nodes
from capstan_operator.reconcile.policies.failure import HAS_NOT_RUN, Failure, FailureClass

HAS_RUN = (FailureClass.INFRASTRUCTURE, FailureClass.RETRYABLE, FailureClass.PERMANENT)

NONE = Nodes()
FIRST = Nodes(failed="n1")
SECOND = Nodes(failed="n1", avoided="n1")


@pytest.mark.parametrize("kind", HAS_RUN)
@pytest.mark.parametrize(
    "before, node, in_a_row, after",
    [
        (NONE, "n2", 1, Nodes("n2")),
        (NONE, "n2", 5, Nodes("n2")),
        (NONE, "", 1, NONE),
        (FIRST, "n1", 2, Nodes("n1", "n1")),
        (FIRST, "n2", 2, Nodes("n2", "n2")),
        (FIRST, "", 2, FIRST),
        (SECOND, "n2", 3, Nodes("n2", "n2")),
        (SECOND, "", 3, SECOND),
        (SECOND, "n2", 1, Nodes("n2")),
    ],
)
def test_a_task_avoids_the_node_of_its_second_failure_in_a_row(
    kind: FailureClass, before: Nodes, node: str, in_a_row: int, after: Nodes
) -> None:
    assert nodes_after(before, kind, node, in_a_row) == after


@pytest.mark.parametrize("kind", HAS_NOT_RUN)
@pytest.mark.parametrize("before", [NONE, FIRST, SECOND])
def test_an_attempt_that_has_not_run_says_nothing_about_nodes(
    kind: FailureClass, before: Nodes
) -> None:
    assert nodes_after(before, kind, "", 3) == before


def test_a_task_that_ended_with_exit_code_0_avoids_no_node() -> None:
    assert nodes_after(SECOND, FailureClass.COMPLETED, "n1", 3) == NONE


def nodes_after(before: Nodes, kind: FailureClass, node: str, in_a_row: int) -> Nodes:
    name = task("worker-0")
    row = TaskStatus(name=name, failed_node=before.failed, avoided_node=before.avoided)
    return avoidance.nodes(row, Failure(task=name, attempt=1, kind=kind, node=node), in_a_row)
