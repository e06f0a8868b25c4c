"""The pods of a finished job that may still end by themselves, for five seconds after its end.

A stopped pod takes its logs with it, and the kubelet reports an end up to two seconds late.

    the job       a pod that runs or has running sidecars        may end by itself
    Succeeded     while a chief, worker or evaluator still runs  all, the ps included
    otherwise     the task has ended, its sidecars run           that pod
    otherwise     the task runs                                  no: it is stopped at once
    any           a process: its log is a file that stays        no: it is stopped at once
"""

from collections.abc import Collection
from datetime import datetime, timedelta

from capstan_operator.api.names import ReplicaType, Uid
from capstan_operator.api.status import Phase, Status
from capstan_operator.reconcile.observe import InstanceState, TaskView

LIMIT = timedelta(seconds=5)


def until(status: Status) -> datetime | None:
    """Return the latest time at which pods of a job are stopped, or None if the job is not over."""
    return None if status.completion_time is None else status.completion_time + LIMIT


def spared(status: Status, remaining: Collection[TaskView], now: datetime) -> frozenset[Uid]:
    """Return which instances of a finished job may end by themselves for now.

    `remaining` are its instances that are ALIVE or have SIDECARS_RUN.
    """
    end = status.completion_time
    # After the clock was set back, the operator must not wait until the old time.
    if end is None or not end <= now < end + LIMIT:
        return frozenset()
    pods = [view for view in remaining if view.pod]
    if status.phase is Phase.SUCCEEDED and any(map(_is_at_work, pods)):
        return frozenset(view.uid for view in remaining)
    return frozenset(view.uid for view in pods if view.state is InstanceState.SIDECARS_RUN)


def _is_at_work(view: TaskView) -> bool:
    return view.state is InstanceState.ALIVE and view.name.type is not ReplicaType.PS
