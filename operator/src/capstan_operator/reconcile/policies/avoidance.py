"""The node on which a task failed last, and the node that its next attempt avoids.

The first row that matches counts. A restart of the whole job changes neither.

    the attempt                                 the task failed last on     the next attempt avoids
    has not run (HAS_NOT_RUN)                   the same node as before     the same node as before
    ended with exit code 0 (COMPLETED)          no node                     no node
    is the first that failed in a row           its node                    no node
    failed, and its node is not known           the same node as before     the same node as before
    failed, and none on a node before it        its node                    the same node as before
    failed                                      its node                    its node

A broken GPU or disk fails each task on its node. The scheduler would send the task there again and
again, because the node has just become free. The task prefers other nodes, and starts on this one
if there is no other.
"""

from dataclasses import dataclass

from capstan_operator.api.status import TaskStatus
from capstan_operator.reconcile.policies.failure import HAS_NOT_RUN, Failure, FailureClass


@dataclass(frozen=True, slots=True)
class Nodes:
    """Two names of nodes, each "" if there is none."""

    failed: str = ""
    """The node on which the task failed last, in this row of failures."""
    avoided: str = ""
    """The node that the next attempt avoids."""


def nodes(row: TaskStatus, failed: Failure, in_a_row: int) -> Nodes:
    """Return the nodes after a failure. `row` has the nodes before it, and `in_a_row` counts it."""
    before = Nodes(row.failed_node, row.avoided_node)
    if failed.kind in HAS_NOT_RUN:
        return before
    if failed.kind is FailureClass.COMPLETED:
        return Nodes()
    if in_a_row < 2:
        return Nodes(failed.node)
    if not failed.node:
        return before
    # An end with exit code 0 counts in a row, too, but it is no failure on a node.
    return Nodes(failed.node, failed.node if before.failed else before.avoided)
