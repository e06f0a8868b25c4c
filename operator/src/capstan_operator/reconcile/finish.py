"""The end of a job: it succeeds or fails, and its remaining instances are stopped and deleted."""

import dataclasses

from capstan_operator.api.status import Status
from capstan_operator.reconcile import aggregate, conditions, moves, recovery
from capstan_operator.reconcile.actions import Announce, NewsType, Plan
from capstan_operator.reconcile.passes import Pass
from capstan_operator.reconcile.policies import alike, sparing, success, ttl
from capstan_operator.reconcile.policies.failure import Failure, Fatal


def succeed(this: Pass, updated: Status, failures: list[Failure]) -> Plan:
    """Plan the pass in which a job succeeds. `updated` does not show the failures yet."""
    names = ", ".join(sorted(map(str, success.needed(this.job))))
    line = f"{names} succeeded{success.never_ran(updated.tasks)}"
    outcome = conditions.condition("Succeeded", True, "TrainingDone", line, this.now)
    after = aggregate.finished(_finalised(this, updated, failures), outcome, this.now)
    news = Announce(NewsType.NORMAL, "Succeeded", line)
    return _clean_up(this, after, (news, *_evaluating(this, after)))


def fail(this: Pass, updated: Status, failures: list[Failure], why: Fatal, line: str) -> Plan:
    """Plan the pass in which a job fails. `line` says what happened, and `why` its consequence."""
    ended = _finalised(this, updated, failures).model_copy(update={"failure": line})
    message = "; ".join(filter(None, [f"{line} ({why.because})", alike.of_failing(ended.tasks)]))
    outcome = conditions.condition("Failed", True, why.reason, message, this.now)
    after = aggregate.finished(ended, outcome, this.now)
    news = Announce(NewsType.WARNING, "Failed", message)
    return _clean_up(this, after, (news,))


def continue_clean_up(this: Pass) -> Plan:
    """Stop the remaining instances of a job that finished in an earlier pass."""
    # A finished job keeps its rows, even if `replicas` changes.
    table = map(this.ended, this.before.tasks)
    return _clean_up(this, aggregate.after_end(this.status_with(table)))


def _evaluating(this: Pass, after: Status) -> tuple[Announce, ...]:
    """Return the news that an evaluator may go on although the job has succeeded."""
    seconds = this.job.spec.run_policy.evaluator_grace_period_seconds
    views = (view for row in after.tasks if (view := this.view_of(row)) is not None)
    evaluator = next((view.name for view in views if sparing.evaluates(view)), None)
    if evaluator is None or not seconds or not moves.stops_living(this.job):
        return ()
    line = f"{evaluator} has {seconds} s to evaluate the last checkpoint"
    return (Announce(NewsType.NORMAL, "Evaluating", line),)


def _finalised(this: Pass, updated: Status, failures: list[Failure]) -> Status:
    """Return the status with the rows of a job that is over.

    A task that failed in this pass is Failed, and is not restarted. A task that still runs is
    Stopping, or keeps its state if the job leaves its pods.
    """
    failed = {failure.task: failure for failure in failures}
    table = (
        recovery.for_good(this.job, updated, row, failed[row.name], this.now)
        if row.name in failed
        else this.ended(row)
        for row in updated.tasks
    )
    return updated.model_copy(update={"tasks": tuple(table)})


def _clean_up(this: Pass, after: Status, news: tuple[Announce, ...] = ()) -> Plan:
    """Stop the remaining instances of a finished job, whose new status is `after`.

    When none of them remains, the job may be deleted.
    """
    moved = moves.clean_up(this.job, after, this.views, this.now)
    delete_at = ttl.ends_at(this.job.spec.run_policy, after)
    if delete_at is None or moved.remaining or this.observed.held_by:
        return this.outcome(after, moved.actions, news, moved.again_at)
    if this.now >= delete_at:
        return dataclasses.replace(this.outcome(after, moved.actions, news), delete_job=True)
    return this.outcome(after, moved.actions, news, delete_at)
