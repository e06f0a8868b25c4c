"""Random events change pods. A controller that may crash sees each event late.

Every failure is counted once, no success is lost, and at most one instance of an attempt counts.
"""

import dataclasses

import hypothesis
import pytest
from hypothesis import stateful
from hypothesis import strategies as st
from reconcile import drawn
from reconcile.drawn import SECONDS
from reconcile.pods import Cluster, Controller, Pod
from reconcile.world import task

from capstan_operator.api.names import TaskName, Uid
from capstan_operator.api.replicas import OnFailure, RestartPolicy
from capstan_operator.api.spec import CleanPodPolicy, TrainingJob
from capstan_operator.api.status import Phase, TaskState
from capstan_operator.reconcile.actions import Plan
from capstan_operator.reconcile.observe import Deletion, Obstacle, TaskPhase
from capstan_operator.reconcile.policies import reporter

CODES = st.sampled_from([0, 0, 1, 137, 138, 143, None])
REASONS = st.sampled_from(["", "Error", "OOMKilled", "Evicted"])
OBSTACLES = st.sampled_from(
    [
        None,
        Obstacle("NameConflict", "x"),
        Obstacle("WaitingForOldPods", "y"),
        Obstacle("VolumeClaimMissing", "z"),
        Obstacle("GangUnavailable", "g"),
    ]
)
MANY = 80


def is_deleted(pod: Pod) -> bool:
    """Return True if the deletion of the pod was requested before its task ended."""
    return pod.view.deletion is Deletion.BEFORE_END


class Pods(stateful.RuleBasedStateMachine):
    @stateful.initialize(
        job=st.one_of(drawn.job_that_restarts_single_tasks, drawn.any_job),
        held=st.booleans(),
        suspends=st.booleans(),
    )
    def begin(self, job: TrainingJob, held: bool, suspends: bool) -> None:
        self.suspends = suspends
        self.cluster = Cluster(job)
        self.cluster.held = held
        self.controller = Controller(self.cluster)
        self.recorded: dict[Uid, tuple[TaskName, int]] = {}
        self.on_a_node: set[Uid] = set()
        self.succeeded: set[Uid] = set()
        self.failed: set[Uid] = set()
        self.done: set[Uid] = set()
        self.removed: set[TaskName] = set()

    # Events in the cluster.

    def draw_pod(self, data: st.DataObject, *, ended: bool = False) -> Pod | None:
        pods = [pod for pod in self.cluster.pods.values() if ended or not pod.view.has_ended]
        return data.draw(st.sampled_from(pods)) if pods else None

    def draw_pod_on_a_node(self, data: st.DataObject) -> Pod | None:
        pod = self.draw_pod(data)
        return pod if pod is not None and not pod.view.is_unscheduled and not pod.lost else None

    @stateful.rule()
    def the_tasks_start(self) -> None:
        for _ in range(4):
            self.some_events_arrive(len(self.cluster.events))
            self.make_a_pass(None)
            self.pods_make_progress()

    @stateful.rule()
    def pods_make_progress(self) -> None:
        for pod in list(self.cluster.pods.values()):
            if not (pod.view.has_ended or is_deleted(pod) or pod.lost):
                self.make_progress(pod)

    def make_progress(self, pod: Pod) -> None:
        if pod.view.is_unscheduled:
            placed = dataclasses.replace(pod.view, node="n1")
            self.cluster.put(placed)
        elif not pod.view.ready:
            started = pod.view.started_at or self.cluster.now
            self.cluster.put(
                dataclasses.replace(
                    pod.view, phase=TaskPhase.RUNNING, ready=True, started_at=started
                )
            )

    @stateful.rule(data=st.data(), code=CODES, reason=REASONS)
    def a_pod_ends(self, data: st.DataObject, code: int | None, reason: str) -> None:
        if pod := self.draw_pod_on_a_node(data):
            self.end(pod, code, "" if code == 0 else reason)

    def end(self, pod: Pod, code: int | None, reason: str = "") -> None:
        succeeded = code == 0 and not is_deleted(pod)
        (self.succeeded if succeeded else self.failed).add(pod.view.uid)
        deleted = is_deleted(pod)
        self.cluster.end(pod, code, reason)
        if deleted:
            self.cluster.remove(pod.view.name)

    @stateful.rule(data=st.data())
    def a_user_deletes_a_pod(self, data: st.DataObject) -> None:
        if pod := self.draw_pod(data, ended=True):
            if not pod.view.has_ended:
                self.failed.add(pod.view.uid)
            self.cluster.delete(pod.view.uid, force=False)

    @stateful.rule(data=st.data())
    def a_user_force_deletes_a_pod(self, data: st.DataObject) -> None:
        if pod := self.draw_pod(data, ended=True):
            self.failed |= {pod.view.uid} - self.succeeded
            self.cluster.delete(pod.view.uid, force=True)

    @stateful.rule(data=st.data())
    def a_node_is_lost(self, data: st.DataObject) -> None:
        if pod := self.draw_pod_on_a_node(data):
            self.cluster.put(pod.view, lost=True)

    @stateful.rule(data=st.data(), code=CODES, steps=st.none() | st.integers(1, 3))
    def a_node_is_lost_before_the_end_of_its_pod_is_seen(
        self, data: st.DataObject, code: int | None, steps: int | None
    ) -> None:
        self.the_tasks_start()
        if pod := self.draw_pod_on_a_node(data):
            deleted = is_deleted(pod)
            self.end(pod, code)
            if not deleted:
                self.cluster.put(self.cluster.pods[pod.view.name].view, lost=True)
        self.the_controller_makes_a_pass(steps)

    @stateful.rule(held=st.booleans())
    def a_sidecar_or_finalizer_delays_deletions(self, held: bool) -> None:
        self.cluster.held = held
        for pod in list(self.cluster.pods.values()):
            if not held and pod.view.has_ended and pod.view.deletion is not Deletion.NOT_REQUESTED:
                self.cluster.remove(pod.view.name)

    @stateful.rule()
    def lost_nodes_recover(self) -> None:
        for pod in [pod for pod in self.cluster.pods.values() if pod.lost]:
            self.cluster.put(pod.view)

    @stateful.rule(data=st.data())
    def the_api_server_refuses_some_pods(self, data: st.DataObject) -> None:
        names = st.sampled_from([*self.cluster.job.tasks(), task("worker-0")])
        self.cluster.refusing = frozenset(data.draw(st.sets(names, max_size=2)))

    @stateful.rule(obstacle=OBSTACLES)
    def an_obstacle_appears_or_disappears(self, obstacle: Obstacle | None) -> None:
        self.cluster.obstacle = obstacle

    @stateful.rule()
    def another_client_writes_the_job(self) -> None:
        self.cluster.version += 1

    @stateful.precondition(lambda self: self.suspends)
    @stateful.rule(holds=st.booleans())
    def a_user_suspends_or_continues_the_job(self, holds: bool) -> None:
        self.change(drawn.changed(self.cluster.job, suspend=holds))

    @stateful.rule(workers=st.integers(1, 3))
    def a_user_scales_the_workers(self, workers: int) -> None:
        if not self.cluster.status.phase.is_final:
            before = self.cluster.job.tasks()
            self.change(drawn.with_workers(self.cluster.job, workers))
            self.removed |= set(before) - set(self.cluster.job.tasks())

    def change(self, job: TrainingJob) -> None:
        self.cluster.job = job
        self.cluster.version += 1

    @stateful.rule(steps=st.none() | st.integers(0, 5), code=st.sampled_from([None, 0, 1]))
    def the_training_makes_no_step(self, steps: int | None, code: int | None) -> None:
        """Show a stalled job to the controller. Its reporter may have ended meanwhile."""
        self.change(drawn.with_time(self.cluster.job, "progress_deadline_seconds", 60))
        self.the_tasks_start()
        for _ in range(2):
            self.cluster.report(step=7)
            self.make_a_pass(None)
            self.cluster.wait(60)
        pod = self.cluster.pods.get(reporter.of(self.cluster.job))
        may_end = pod is not None and not (
            pod.view.has_ended or pod.view.is_unscheduled or pod.lost
        )
        if pod is not None and may_end and code is not None:
            self.end(pod, code)
        self.cluster.report(step=7)
        self.the_controller_makes_a_pass(steps)

    @stateful.rule(seconds=SECONDS)
    def time_passes(self, seconds: float) -> None:
        self.cluster.wait(seconds)

    # Actions of the controller.

    @stateful.rule(count=st.integers(1, 6))
    def some_events_arrive(self, count: int) -> None:
        for event in self.cluster.events[:count]:
            self.controller.see(event)
        del self.cluster.events[:count]

    @stateful.rule(steps=st.none() | st.integers(0, 5))
    def the_controller_makes_a_pass(self, steps: int | None) -> None:
        """Make a pass. With `steps`, crash after this number of effects and restart."""
        if not self.make_a_pass(steps):
            self.controller = Controller(self.cluster)

    def make_a_pass(self, steps: int | None) -> bool:
        before = len(self.cluster.written)
        self.cluster.forced.clear()
        for number, _ in enumerate(self.controller.steps()):
            if number == steps:
                return False
            self.check_written(before)
            before = len(self.cluster.written)
            self.check_no_success_was_force_deleted()
        self.check_written(before)
        self.check_no_success_was_force_deleted()
        return True

    @stateful.rule()
    def the_job_settles(self) -> None:
        self.cluster.obstacle, self.cluster.refusing = None, frozenset()
        for _ in range(MANY):
            self.some_events_arrive(len(self.cluster.events))
            decided = self.controller.decide()
            if self.controller.at_rest(decided) and not self.end_deleted_pods():
                if decided.again_at is None or not self.cluster.status.phase.is_final:
                    break
                # The spared pods do not end by themselves.
                self.cluster.now = decided.again_at
            self.make_a_pass(None)
        at_rest = dataclasses.replace(self.controller.decide(), delete_job=False)
        assert at_rest == dataclasses.replace(Plan(), again_at=decided.again_at)
        self.check_failure_counts()
        kept = self.cluster.job.spec.run_policy.clean_pod_policy is CleanPodPolicy.NONE
        stopped = self.cluster.status.phase.is_final or self.cluster.job.spec.suspend
        if not stopped:
            alive = {task for task, pod in self.cluster.pods.items() if not pod.view.has_ended}
            assert alive <= set(self.cluster.job.tasks()), "a removed worker still runs"
        if stopped and not kept:
            assert all(pod.view.has_ended for pod in self.cluster.pods.values()), (
                "a pod of a finished or suspended job still runs"
            )

    def end_deleted_pods(self) -> bool:
        """End the deleted pods whose node is not lost. Return True if there was such a pod."""
        deleted = [pod for pod in self.cluster.pods.values() if is_deleted(pod) and not pod.lost]
        for pod in deleted:
            self.end(pod, 143)
        return bool(deleted)

    # Invariants.

    def check_no_success_was_force_deleted(self) -> None:
        if not self.cluster.status.phase.is_final:
            forced = {view.uid for view in self.cluster.forced}
            assert not forced & self.succeeded - self.done

    def check_written(self, since: int) -> None:
        for before, after in zip(
            self.cluster.written[since - 1 :], self.cluster.written[since:], strict=False
        ):
            rows = {row.name: row for row in before.tasks}
            for row in after.tasks:
                old = rows.get(row.name)
                if row.uid is not None:
                    known = self.recorded.setdefault(row.uid, (row.name, row.attempt))
                    assert known == (row.name, row.attempt)
                    self.on_a_node |= {row.uid} if row.node else set()
                if row.state is TaskState.SUCCEEDED and row.uid is not None:
                    assert row.uid in self.succeeded
                    self.done.add(row.uid)
                if old is not None and row.attempt > old.attempt:
                    assert row.attempt == old.attempt + 1
                    self.check_not_a_success(after.phase, old.uid, row.name)
            instances = list(self.recorded.values())
            assert len(instances) == len(set(instances)), (
                "two instances of one attempt were counted"
            )
            assert after.restarts.application >= before.restarts.application
            assert after.restarts.infrastructure >= before.restarts.infrastructure

    def check_not_a_success(self, phase: Phase, uid: Uid | None, name: TaskName) -> None:
        """Check that no attempt is counted as failed while the API server shows it as succeeded."""
        pod = self.cluster.pods.get(name)
        replica = self.cluster.job.replica(name.type)
        single = replica.on_failure is not OnFailure.RESTART_JOB
        if pod is None or uid is None or pod.view.uid != uid or not self.restarts_single_tasks():
            return
        if single and replica.restart_policy is not RestartPolicy.ALWAYS:
            assert uid not in self.succeeded

    def restarts_single_tasks(self) -> bool:
        return all(
            replica.on_failure is OnFailure.RESTART_TASK
            and replica.restart_policy is RestartPolicy.ON_FAILURE
            for _, replica in self.cluster.job.spec.replica_specs.items()
        )

    def check_failure_counts(self) -> None:
        status = self.cluster.status
        if not self.restarts_single_tasks() or status.phase.is_final:
            return
        counted = status.restarts.application + status.restarts.infrastructure
        existing = {pod.view.uid for pod in self.cluster.pods.values()}
        current = {row.uid for row in status.tasks}
        over = {instance.uid for instance in self.cluster.made} - current - self.done
        assert counted <= len(over), "a failure was counted twice"
        if self.suspends:
            return  # no end is a failure while the job is suspended
        known = {
            uid
            for uid, (task, _) in self.recorded.items()
            if uid not in current and uid not in self.done and task not in self.removed
        } & self.on_a_node
        assert counted >= len(known), "a failure was lost"
        shown = {uid for uid in existing & self.failed if uid not in current}
        shown -= {view.uid for view in self.cluster.made if view.name in self.removed}
        assert counted >= len(known | shown), "a failure that the cluster still shows was lost"


TestPods = pytest.mark.timeout(900)(Pods.TestCase)  # many examples on a busy machine
TestPods.settings = hypothesis.settings(phases=drawn.PHASES)
