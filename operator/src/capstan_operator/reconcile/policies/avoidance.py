"""The node that the next attempt of a failed task avoids.

The first row that matches counts.

    the attempt                                   the next one avoids
    has not run (HAS_NOT_RUN)                     the same node as this one
    ended with exit code 0 (COMPLETED)            no node
    is the first that failed in a row             no node
    failed, and so did the attempt before it      the node of this failure, if it is known
    failed                                        the same node as this one

A broken GPU or disk fails each task on its node. The scheduler would send the task there again and
again, because the node has just become free. The task prefers other nodes, and starts on this one
if there is no other.
"""

from capstan_operator.api.status import TaskStatus
from capstan_operator.reconcile.policies.failure import (
    HAS_NOT_RUN,
    REFUSED,
    WITHDRAWN_MESSAGE,
    Failure,
    FailureClass,
)


def node(row: TaskStatus, failed: Failure, in_a_row: int) -> str:
    """Return the name of the node, or "".

    `row` still shows the end of the attempt before. `in_a_row` counts this failure, too.
    """
    if failed.kind in HAS_NOT_RUN:
        return row.avoided_node
    if failed.kind is FailureClass.COMPLETED or in_a_row < 2:
        return ""
    return (failed.node if _had_failed(row) else "") or row.avoided_node


def _had_failed(row: TaskStatus) -> bool:
    """Return whether the end that a row shows was a failure of an attempt that had run."""
    has_run = row.reason not in REFUSED and row.message != WITHDRAWN_MESSAGE
    return has_run and row.exit_code != 0
