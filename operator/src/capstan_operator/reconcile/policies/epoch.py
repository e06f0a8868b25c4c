"""The rules that advance the epoch of a cluster: variables were lost, or an old task may push.

    what happened                                                     the epoch
    a ps that had started failed, and is started again                advances: variables are lost
    a node was lost, whichever task ran there, also an ignored one    advances: the task may run on
    the whole job is started again                                    advances
    a suspended job continues, and any attempt had begun              advances
    a gated pod of a ps was deleted                                   advances: its end was not seen
    the start of a ps was refused, or its failure is ignored          stays
    a chief, a worker or the evaluator failed                         stays

In one pass the epoch advances by at most one, even if several tasks failed.
"""

from collections.abc import Collection, Iterable

from capstan_operator.api.names import ReplicaType, TaskName
from capstan_operator.api.status import TaskStatus
from capstan_operator.reconcile.observe import NODE_LOST
from capstan_operator.reconcile.policies.failure import Failure, FailureClass


def after_failures(
    epoch: int, failures: Iterable[Failure], started_again: Collection[TaskName]
) -> int:
    """Return the epoch after the failures of a pass. The tasks `started_again` get new attempts."""
    advances = any(
        failed.reason == NODE_LOST or (_lost_variables(failed) and failed.task in started_again)
        for failed in failures
    )
    return epoch + advances


def after_job_restart(epoch: int) -> int:
    """Return the epoch after a restart of the whole job."""
    return epoch + 1


def after_suspension(epoch: int, rows: Iterable[TaskStatus]) -> int:
    """Return the epoch in which a suspended job continues."""
    return epoch + any(row.uid is not None for row in rows)


def _lost_variables(failed: Failure) -> bool:
    return failed.task.type is ReplicaType.PS and failed.kind is not FailureClass.CREATE_FAILED
