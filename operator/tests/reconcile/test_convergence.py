"""The loop settles after any events in any order, even if some are lost.

When the loop has settled, it has counted each failure once.
"""

import dataclasses
from datetime import timedelta

import hypothesis
import pytest
from hypothesis import stateful
from hypothesis import strategies as st
from reconcile.world import START, World, make_job

from capstan_operator.api.names import Uid
from capstan_operator.api.spec import (
    CleanPodPolicy,
    OnFailure,
    RestartPolicy,
    SuccessPolicy,
    TrainingJob,
)
from capstan_operator.api.status import Phase, Status, TaskState
from capstan_operator.reconcile.actions import Plan, StopTask
from capstan_operator.reconcile.observe import Deletion, Observed, TaskPhase, TaskView
from capstan_operator.reconcile.plan import plan

PHASES = set(hypothesis.Phase) - {hypothesis.Phase.explain}
"""All phases except `explain`, which traces every line and takes too long."""

CODES = st.sampled_from([None, 1, 2, 127, 130, 137, 138, 143, 255])
REASONS = st.sampled_from(["", "", "", "Error", "OOMKilled", "Evicted", "InitContainerFailed"])
SECONDS = st.sampled_from([0.0, 0.1, 1.0, 7.0, 100.0, 1000.0])
WORDS = st.sampled_from(["", "ValueError: boom", "step 3\n\n", "\x1b[31mred\x1b[0m\n"])


def run_policies(limits: st.SearchStrategy[int]) -> st.SearchStrategy[dict[str, object]]:
    return st.fixed_dictionaries(
        {
            "backoffLimit": limits,
            "infrastructureBackoffLimit": limits,
            "restartBackoff": st.fixed_dictionaries(
                {
                    "initialSeconds": st.sampled_from([0, 1, 5]),
                    "maxSeconds": st.sampled_from([5, 20]),
                    "resetAfterSeconds": st.sampled_from([0, 50, 600]),
                }
            ),
        },
        optional={
            "activeDeadlineSeconds": st.sampled_from([1, 60, 5000]),
            "pendingDeadlineSeconds": st.sampled_from([1, 60, 5000]),
            "cleanPodPolicy": st.sampled_from(CleanPodPolicy),
            "ttlSecondsAfterFinished": st.sampled_from([0, 60]),
            "evaluatorGracePeriodSeconds": st.sampled_from([0, 60]),
        },
    )


def replicas(
    restart: st.SearchStrategy[RestartPolicy], on_failure: st.SearchStrategy[OnFailure]
) -> st.SearchStrategy[dict[str, str]]:
    return st.fixed_dictionaries({"restartPolicy": restart, "onFailure": on_failure})


def jobs(
    restart: st.SearchStrategy[RestartPolicy],
    on_failure: st.SearchStrategy[OnFailure],
    limits: st.SearchStrategy[int],
) -> st.SearchStrategy[TrainingJob]:
    each = replicas(restart, on_failure)
    return st.builds(
        make_job,
        chief=st.integers(0, 1),
        ps=st.integers(0, 2),
        workers=st.integers(1, 2),
        evaluator=st.integers(0, 1),
        each=st.fixed_dictionaries({"chief": each, "ps": each, "worker": each, "evaluator": each}),
        run=run_policies(limits),
        successPolicy=st.sampled_from(SuccessPolicy),
        scheduling=st.sampled_from([{}, {"queueName": "training"}]),
    )


any_job = jobs(st.sampled_from(RestartPolicy), st.sampled_from(OnFailure), st.integers(0, 6))
job_that_restarts_single_tasks = jobs(
    st.just(RestartPolicy.ON_FAILURE), st.just(OnFailure.RESTART_TASK), st.integers(3, 100)
)


class Tally:
    """The uids of the failed instances, from the observations of all passes."""

    def __init__(self) -> None:
        self.known: set[Uid] = set()
        self.done: set[Uid] = set()
        self.failed: set[Uid] = set()
        self.stopped: set[Uid] = set()

    def see(self, observed: Observed) -> None:
        existing = {instance.uid for instance in observed.tasks}
        self.failed |= self.known - existing - self.done
        self.known |= existing
        for instance in observed.tasks:
            if (
                instance.phase is TaskPhase.SUCCEEDED
                and instance.deletion is not Deletion.BEFORE_END
            ):
                self.done |= {instance.uid} - self.failed
            elif instance.has_ended and instance.uid not in self.stopped:
                self.failed.add(instance.uid)

    def suspend(self, observed: Observed) -> None:
        """Count no instance that exists during a suspension as failed, unless it failed before."""
        self.stop(self.known | {instance.uid for instance in observed.tasks})

    def remove(self, job: TrainingJob, observed: Observed) -> None:
        """Count no instance of a task that the job no longer has, unless it failed before."""
        tasks = {str(task) for task in job.tasks()}
        uids = self.known | {instance.uid for instance in observed.tasks}
        self.stop({uid for uid in uids if uid.partition("#")[0] not in tasks})

    def stop(self, uids: set[Uid]) -> None:
        self.stopped |= uids
        self.stopped -= self.failed
        self.done |= self.stopped


class Histories(stateful.RuleBasedStateMachine):
    """Tasks change at random between the effects of a controller that keeps only the status."""

    @stateful.initialize(job=st.one_of(any_job, job_that_restarts_single_tasks))
    def begin(self, job: TrainingJob) -> None:
        self.world = World(job)
        self.tally = Tally()
        self.last = Status()
        self.resumes = 0
        self.restarts_of_removed = 0

    def living(self) -> list[TaskView]:
        return [instance for instance in self.world.instances.values() if not instance.has_ended]

    def draw_instance(self, data: st.DataObject, instances: list[TaskView]) -> TaskView | None:
        return data.draw(st.sampled_from(instances)) if instances else None

    def put(self, instance: TaskView, **fields: object) -> None:
        self.world.instances[instance.uid] = dataclasses.replace(instance, **fields)

    @stateful.rule(data=st.data(), code=CODES, reason=REASONS, words=WORDS)
    def a_task_fails(self, data: st.DataObject, code: int | None, reason: str, words: str) -> None:
        if instance := self.draw_instance(data, self.living()):
            self.put(
                instance,
                phase=TaskPhase.FAILED,
                ready=False,
                exit_code=code,
                reason=reason,
                message=words,
                finished_at=data.draw(st.sampled_from([None, self.world.now])),
            )

    @stateful.rule(data=st.data())
    def a_task_succeeds(self, data: st.DataObject) -> None:
        if instance := self.draw_instance(data, self.living()):
            self.put(instance, phase=TaskPhase.SUCCEEDED, ready=False, exit_code=0)

    @stateful.rule(data=st.data())
    def a_user_deletes_a_task(self, data: st.DataObject) -> None:
        if instance := self.draw_instance(data, self.living()):
            self.put(instance, deletion=Deletion.BEFORE_END, ready=False)

    @stateful.rule(data=st.data())
    def an_instance_vanishes(self, data: st.DataObject) -> None:
        if instance := self.draw_instance(data, list(self.world.instances.values())):
            del self.world.instances[instance.uid]

    @stateful.rule(data=st.data(), phase=st.sampled_from([TaskPhase.PENDING, TaskPhase.RUNNING]))
    def a_task_is_not_ready_yet(self, data: st.DataObject, phase: TaskPhase) -> None:
        if instance := self.draw_instance(data, self.living()):
            self.put(instance, phase=phase, ready=False)

    @stateful.rule(holds=st.booleans())
    def a_user_suspends_or_continues_the_job(self, holds: bool) -> None:
        job = self.world.job
        spec = job.spec.model_copy(update={"suspend": holds})
        self.world.job = job.model_copy(update={"spec": spec})

    @stateful.rule(workers=st.integers(1, 3))
    def a_user_scales_the_workers(self, workers: int) -> None:
        job = self.world.job
        assert job.spec.replica_specs.worker is not None
        worker = job.spec.replica_specs.worker.model_copy(update={"replicas": workers})
        specs = job.spec.replica_specs.model_copy(update={"worker": worker})
        spec = job.spec.model_copy(update={"replica_specs": specs})
        self.world.job = job.model_copy(update={"spec": spec})

    @stateful.rule(seconds=SECONDS)
    def time_passes(self, seconds: float) -> None:
        self.world.wait(seconds)

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
            assert not self.living()
            if policy.clean_pod_policy is CleanPodPolicy.ALL:
                assert not self.world.instances
            ends = {TaskState.SUCCEEDED, TaskState.FAILED, TaskState.STOPPED}
            assert {row.state for row in status.tasks} <= ends
            return
        if self.world.job.spec.suspend and status.phase is not Phase.INVALID:
            assert status.phase is Phase.SUSPENDED
            assert not self.living()
            return
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

    def checked_pass(self, effects: int | None) -> Plan:
        world, observed = self.world, self.world.observed()
        before, now = world.status, world.now
        decided = world.tick(effects=effects)
        after = before if decided.status is None else decided.status
        assert plan(world.job, before, observed, now) == decided
        again = plan(world.job, after, observed, now)
        assert (again.status, again.actions, again.news) == (None, decided.actions, ())
        assert again.delete_job == decided.delete_job
        assert decided.again_at is None or decided.again_at > now
        self.check_deletion(decided, after)
        if not after.phase.is_final and after.phase is not Phase.SUSPENDED:
            assert_no_current_instance_is_stopped(decided, after, observed)
        if decided.status is None or effects != 0:
            if not before.phase.is_final:
                self.tally.remove(world.job, observed)
            if after.phase is Phase.SUSPENDED:
                self.tally.suspend(observed)
            elif not before.phase.is_final and not after.phase.is_final:
                self.tally.see(observed)
            self.check_transition(after)
        return decided

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
        assert (
            before.restarts.infrastructure
            <= after.restarts.infrastructure
            <= policy.infrastructure_backoff_limit
        )
        rows = {row.name: row for row in after.tasks}
        if not before.phase.is_final:
            assert tuple(rows) == self.world.job.tasks()
        for row in before.tasks:
            if row.name not in rows:
                assert after.removed[row.name] == row.attempt
                self.restarts_of_removed += row.attempt - 1 - row.refused
                continue
            more = rows[row.name].attempt - row.attempt
            assert 0 <= more <= 1
            if before.phase is Phase.SUSPENDED:
                self.resumes += more
        for name, attempt in before.removed.items():
            assert name not in rows or rows[name].attempt > attempt
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


def assert_no_current_instance_is_stopped(decided: Plan, after: Status, observed: Observed) -> None:
    instances = {instance.uid: instance for instance in observed.tasks}
    rows = {row.name: row for row in after.tasks}
    for action in decided.actions:
        if isinstance(action, StopTask):
            row, instance = rows.get(action.task), instances[action.uid]
            assert row is None or not (
                instance.attempt == row.attempt and row.uid in (None, instance.uid)
            )


TestHistories = pytest.mark.timeout(240)(Histories.TestCase)  # many examples on a busy machine
TestHistories.settings = hypothesis.settings(phases=PHASES)


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
    job=any_job, found=st.lists(views, max_size=8, unique_by=lambda instance: instance.uid)
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
@hypothesis.given(job=any_job, found=st.lists(views, max_size=8), data=st.data())
def test_the_order_and_number_of_views_do_not_matter(
    job: TrainingJob, found: list[TaskView], data: st.DataObject
) -> None:
    once = list({instance.uid: instance for instance in found}.values())
    shuffled = data.draw(st.permutations(once)) + data.draw(
        st.lists(st.sampled_from(once), max_size=3) if once else st.just([])
    )
    expected = plan(job, Status(), Observed(tuple(once)), START)
    assert plan(job, Status(), Observed(tuple(shuffled)), START) == expected
