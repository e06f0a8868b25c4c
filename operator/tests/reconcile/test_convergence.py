"""The loop settles after any events in any order, even if some are lost.

When the loop has settled, it has counted each failure once.
"""

from datetime import timedelta

import hypothesis
import pytest
from hypothesis import stateful
from hypothesis import strategies as st
from reconcile import checks, drawn, tally
from reconcile.drawn import CODES, REASONS
from reconcile.events import Events
from reconcile.world import START, World, make_job

from capstan_operator.api.names import ReplicaType, TaskName, Uid
from capstan_operator.api.replicas import OnFailure, RestartPolicy
from capstan_operator.api.spec import CleanPodPolicy, TrainingJob
from capstan_operator.api.status import Phase, Status, TaskState
from capstan_operator.reconcile.actions import Plan, StartTask
from capstan_operator.reconcile.observe import (
    SCHEDULING_GATED,
    Deletion,
    Observed,
    TaskPhase,
    TaskView,
)
from capstan_operator.reconcile.plan import plan
from capstan_operator.reconcile.policies import sparing


class Histories(Events):
    """Tasks change at random between the effects of a controller that keeps only the status."""

    def __init__(self) -> None:
        super().__init__()
        self.tally = tally.Tally()
        self.stopwatch = tally.Stopwatch()
        self.begun: dict[TaskName, StartTask] = {}
        self.resumes = 0
        self.restarts_of_removed = 0

    @stateful.precondition(lambda self: not self.last.phase.is_final)
    @stateful.rule(most=st.sampled_from([1, 9]), effects=st.none() | st.integers(0, 2))
    def pods_wait_in_a_queue(self, most: int, effects: int | None) -> None:
        self.a_user_suspends_or_continues_the_job(holds=False)
        self.the_job_settles()
        for instance in self.living()[:most]:
            fields = {"reason": SCHEDULING_GATED, "ready": False, "node": ""}
            self.put(instance, phase=TaskPhase.PENDING, **fields)
        self.checked_pass(effects)

    @stateful.precondition(lambda self: not self.last.phase.is_final)
    @stateful.rule()
    def all_tasks_run(self) -> None:
        self.a_user_suspends_or_continues_the_job(holds=False)
        self.the_job_settles()
        self.world.wait(20)
        self.the_job_settles()
        for instance in self.living():
            self.run(instance)
        self.checked_pass(None)

    @stateful.precondition(lambda self: not self.last.phase.is_final)
    @stateful.rule(
        data=st.data(),
        seconds=st.sampled_from([59, 60, 61]),
        more=st.sampled_from([0, 0, 1]),
        effects=st.none() | st.integers(0, 3),
    )
    def the_training_makes_no_step(
        self, data: st.DataObject, seconds: float, more: int, effects: int | None
    ) -> None:
        self.a_user_changes_a_time("progress_deadline_seconds", 60)
        self.all_tasks_run()
        self.the_job_reports_its_step(1)
        self.checked_pass(None)
        self.world.wait(seconds)
        self.the_job_reports_its_step(more)
        phase = data.draw(st.sampled_from([None, TaskPhase.RUNNING, TaskPhase.FAILED]))
        if phase is not None and (instance := self.draw_instance(data, self.living())):
            code = 1 if phase is TaskPhase.FAILED else None
            self.put(instance, phase=phase, ready=False, exit_code=code)
        self.checked_pass(effects)

    @stateful.precondition(lambda self: not self.last.phase.is_final)
    @stateful.rule(ended=st.integers(0, 4), effects=st.none() | st.integers(0, 3))
    def a_user_suspends_a_running_job(self, ended: int, effects: int | None) -> None:
        self.all_tasks_run()
        self.a_user_suspends_or_continues_the_job(holds=True)
        for _ in range(ended):
            self.checked_pass(effects)
            self.world.end_stopping_instances()
        self.checked_pass(None)

    @stateful.precondition(lambda self: not self.last.phase.is_final)
    @stateful.rule(first=st.integers(1, 3), then=st.integers(1, 3), effects=st.integers(0, 4))
    def a_user_scales_a_running_job_twice(self, first: int, then: int, effects: int) -> None:
        self.all_tasks_run()
        self.a_user_scales_the_workers(first)
        self.checked_pass(effects)
        self.a_user_scales_the_workers(then)
        self.checked_pass(None)

    @stateful.rule(early=st.sampled_from([0.0, 0.5]))
    def the_next_look_comes(self, early: float) -> None:
        """Let the time pass until the plan asked for another pass, or until shortly before."""
        again_at = self.checked_pass(None).again_at
        if again_at is not None:
            self.world.now = max(self.world.now, again_at - timedelta(seconds=early))
            self.checked_pass(None)

    @stateful.rule(effects=st.none() | st.integers(0, 6))
    def the_controller_makes_a_pass(self, effects: int | None) -> None:
        self.checked_pass(effects)

    @stateful.rule()
    def the_job_settles(self) -> None:
        for _ in range(40):
            decided = self.checked_pass(None)
            removed_any = self.world.end_stopping_instances()
            if decided.status is None and not decided.actions and not removed_any:
                break
        again = self.world.decide()
        assert (again.status, again.actions, again.news) == (None, (), ())
        self.check_that_every_task_waits(again)

    def check_that_every_task_waits(self, at_rest: Plan) -> None:
        status, policy = self.world.status, self.world.job.spec.run_policy
        if status.phase.is_final and policy.clean_pod_policy is CleanPodPolicy.NONE:
            return
        if status.phase.is_final:
            self.check_that_only_spared_tasks_run(at_rest)
            return
        if self.world.job.spec.suspend and status.phase is not Phase.INVALID:
            assert status.phase is Phase.SUSPENDED
            assert not self.living()
            return
        assert {instance.name for instance in self.living()} <= set(self.world.job.tasks())
        assert not self.stopwatch.has_waited(self.world.job, self.world.now)
        assert not (self.is_overdue() and tally.reporter_runs(self.world.job, status))
        waiting = [
            row
            for row in status.tasks
            if row.state in (TaskState.BACK_OFF, TaskState.CREATE_FAILED)
        ]
        for row in waiting:
            assert row.retry_at is not None
            assert at_rest.again_at is not None
            assert self.world.now < at_rest.again_at <= row.retry_at
        for row in set(status.tasks) - set(waiting):
            assert row.state is not TaskState.PENDING or row.uid is not None

    def check_that_only_spared_tasks_run(self, at_rest: Plan) -> None:
        """Check that each task of a finished job that still runs has time left to end by itself."""
        status, policy = self.world.status, self.world.job.spec.run_policy
        if self.living():
            evaluates = any(map(sparing.evaluates, self.living()))
            assert evaluates or self.world.pods
            assert status.phase is Phase.SUCCEEDED
            assert status.completion_time is not None
            time_left = timedelta(seconds=policy.evaluator_grace_period_seconds * evaluates)
            limit = status.completion_time + max(time_left, sparing.LIMIT * self.world.pods)
            assert at_rest.again_at is not None
            assert self.world.now < at_rest.again_at <= limit
            return
        if policy.clean_pod_policy is CleanPodPolicy.ALL:
            assert not self.world.instances
        ends = {TaskState.SUCCEEDED, TaskState.FAILED, TaskState.STOPPED}
        assert {row.state for row in status.tasks} <= ends

    def is_overdue(self) -> bool:
        world = self.world
        return self.stopwatch.is_overdue(world.job, world.status, world.observed(), world.now)

    def checked_pass(self, effects: int | None) -> Plan:
        world, observed = self.world, self.world.observed()
        before, now = world.status, world.now
        was_overdue = self.is_overdue()
        decided = world.tick(effects=effects)
        after = before if decided.status is None else decided.status
        assert plan(drawn.without_objects(world.job), before, observed, now) == decided
        again = plan(world.job, after, observed, now)
        assert (again.status, again.actions, again.news) == (None, decided.actions, ())
        assert again.delete_job == decided.delete_job
        assert decided.again_at is None or decided.again_at > now
        self.check_deletion(decided, after)
        self.check_actions(decided, after, observed)
        if decided.status is None or effects != 0:
            self.check_stall(after, observed, was_overdue=was_overdue)
            if not before.phase.is_final:
                self.tally.remove(world.job, observed)
            if after.phase is Phase.SUSPENDED:
                self.tally.suspend(observed)
            elif not before.phase.is_final and not after.phase.is_final:
                self.tally.see(observed)
            self.check_epochs(decided)
            self.check_transition(after)
        return decided

    def check_actions(self, decided: Plan, after: Status, observed: Observed) -> None:
        job = self.world.job
        checks.each_stop_has_its_grace_period(job, decided, after)
        checks.nothing_starts_unless_the_job_goes_on(decided, after)
        checks.each_started_pod_fits_its_job(job, decided)
        if after.phase is Phase.SUSPENDED:
            checks.parameter_servers_are_suspended_last(job, decided, observed)
        elif not after.phase.is_final:
            checks.no_current_instance_is_stopped(decided, after, observed)
            checks.the_job_is_queued_only_while_a_pod_waits(job, after, observed)
            checks.a_gang_is_of_tasks_that_are_to_come(job, after)
        if not after.phase.is_final:
            checks.workers_that_were_removed_count_nowhere(job, after)

    def check_stall(self, after: Status, observed: Observed, *, was_overdue: bool) -> None:
        """Check that a job stalls only if it is overdue, and count its stall once."""
        before = self.last
        uid = tally.stalled(self.world.job, before, after)
        if uid is not None:
            assert was_overdue
            assert all(instance.ready for instance in observed.tasks if instance.uid == uid)
            self.tally.known.add(uid)
            self.tally.failed.add(uid)
        if after.phase is Phase.FAILED and not before.phase.is_final:
            in_time = not self.stopwatch.has_waited(self.world.job, self.world.now)
            assert not (in_time and str(after.failure).startswith("not all tasks ran"))
        self.stopwatch.see(before, after, observed, self.world.now)
        if observed.progress is not None and not before.phase.is_final:
            assert after.progress is not None
            assert after.progress.step == observed.progress.step

    def check_epochs(self, decided: Plan) -> None:
        """Check that the next attempt of a ps begins in a later epoch: its variables are lost."""
        for action in decided.actions:
            if isinstance(action, StartTask) and action.task.type is ReplicaType.PS:
                last = self.begun.get(action.task)
                if last is not None and action.attempt > last.attempt:
                    assert action.epoch > last.epoch
                self.begun[action.task] = action

    def check_deletion(self, decided: Plan, after: Status) -> None:
        """A job is deleted at its time, and not while the operator waits for its tasks to end."""
        policy = self.world.job.spec.run_policy
        seconds = policy.ttl_seconds_after_finished
        rests = policy.clean_pod_policy is CleanPodPolicy.NONE or not self.living()
        end = after.completion_time
        is_due = (
            end is not None
            and seconds is not None
            and self.world.now >= end + timedelta(seconds=seconds)
        )
        assert decided.delete_job <= is_due
        assert decided.delete_job >= (is_due and rests and not decided.actions)

    def check_transition(self, after: Status) -> None:
        before, self.last = self.last, after
        policy = self.world.job.spec.run_policy
        assert after.epoch >= before.epoch
        assert before.restarts.application <= after.restarts.application <= policy.backoff_limit
        assert before.restarts.infrastructure <= after.restarts.infrastructure
        for row in after.tasks:
            assert row.infrastructure_restarts <= policy.infrastructure_backoff_limit
        rows = {row.name: row for row in after.tasks}
        if not before.phase.is_final:
            assert tuple(rows) == self.world.job.tasks()
        for row in before.tasks:
            if row.name not in rows:
                # A job that continues with fewer workers has given each task its next attempt.
                more = before.phase is Phase.SUSPENDED
                assert row.attempt <= after.removed[row.name] <= row.attempt + more
                self.restarts_of_removed += row.attempt - 1 - row.refused
                continue
            more = rows[row.name].attempt - row.attempt
            assert 0 <= more <= 1
            if before.phase is Phase.SUSPENDED:
                self.resumes += more
        for name, attempt in before.removed.items():
            last = rows[name].attempt - 1 if name in rows else after.removed.get(name, 0)
            assert last >= attempt
        is_scaled = bool(before.tasks) and rows.keys() != {row.name for row in before.tasks}
        assert after.cluster_version - before.cluster_version == is_scaled
        if before.phase.is_final:
            assert (after.phase, after.failure) == (before.phase, before.failure)
            assert after.completion_time == before.completion_time
            assert after.restarts == before.restarts
        assert (after.failure is not None) == (after.phase is Phase.FAILED)

    @stateful.invariant()
    def every_failure_is_counted_once(self) -> None:
        job, status = self.world.job, self.last
        single = all(
            replica.on_failure is OnFailure.RESTART_TASK
            and replica.restart_policy is RestartPolicy.ON_FAILURE
            for _, replica in job.spec.replica_specs.items()
        )
        if not single or status.phase.is_final:
            return
        counted = status.restarts.application + status.restarts.infrastructure
        assert counted == len(self.tally.failed)
        again = sum(row.attempt - 1 - row.refused for row in status.tasks)
        assert counted == again + self.restarts_of_removed - self.resumes
        shown = sum(replicas.restarts for replicas in status.replica_statuses.values())
        assert again == shown


TestHistories = pytest.mark.timeout(900)(Histories.TestCase)  # many examples on a busy machine
TestHistories.settings = hypothesis.settings(phases=drawn.PHASES)


views = st.builds(
    TaskView,
    name=st.sampled_from(make_job(chief=1, ps=2, workers=3, evaluator=1).tasks()),
    attempt=st.integers(1, 3),
    uid=st.sampled_from([Uid(name) for name in "abcdefgh"]),
    phase=st.sampled_from(TaskPhase),
    ready=st.booleans(),
    exit_code=CODES,
    reason=REASONS,
    deletion=st.sampled_from([Deletion.NOT_REQUESTED, Deletion.BEFORE_END]),
    sidecars_run=st.booleans(),
    started_at=st.sampled_from([None, START]),
)


@pytest.mark.e2e
@hypothesis.given(
    job=drawn.any_job, found=st.lists(views, max_size=8, unique_by=lambda instance: instance.uid)
)
def test_the_loop_settles_from_any_observation(job: TrainingJob, found: list[TaskView]) -> None:
    world = World(job)
    world.instances = {instance.uid: instance for instance in found}
    world.settle()
    while world.again_at is not None and not world.status.phase.is_final:
        world.wait_for_retry()
    at_rest = world.decide()
    assert (at_rest.status, at_rest.actions, at_rest.news) == (None, (), ())
    states = set(world.states().values())
    assert world.status.phase.is_final or states <= {
        "Pending",
        "Starting",
        "Running",
        "Succeeded",
        "Failed",
    }


@pytest.mark.e2e
@hypothesis.given(job=drawn.any_job, found=st.lists(views, max_size=8), data=st.data())
def test_the_order_and_number_of_views_do_not_matter(
    job: TrainingJob, found: list[TaskView], data: st.DataObject
) -> None:
    once = list({instance.uid: instance for instance in found}.values())
    shuffled = data.draw(st.permutations(once)) + data.draw(
        st.lists(st.sampled_from(once), max_size=3) if once else st.just([])
    )
    expected = plan(job, Status(), Observed(tuple(once)), START)
    assert plan(job, Status(), Observed(tuple(shuffled)), START) == expected
