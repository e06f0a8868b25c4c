"""Random events in the life of a job, without the passes of its controller."""

import dataclasses

from hypothesis import stateful
from hypothesis import strategies as st
from reconcile import drawn
from reconcile.drawn import CODES, REASONS, SECONDS, WORDS
from reconcile.world import World

from capstan_operator.api.spec import TrainingJob
from capstan_operator.api.status import Progress, Status
from capstan_operator.reconcile.observe import SCHEDULING_GATED, Deletion, TaskPhase, TaskView


class Events(stateful.RuleBasedStateMachine):
    """Tasks and the job change at random. `last` is the last status that was written."""

    @stateful.initialize(
        job=st.one_of(drawn.any_job, drawn.job_that_restarts_single_tasks), pods=st.booleans()
    )
    def begin(self, job: TrainingJob, pods: bool) -> None:
        self.world = World(job, pods=pods)
        self.last = Status()

    def living(self) -> list[TaskView]:
        return [instance for instance in self.world.instances.values() if not instance.has_ended]

    def draw_instance(self, data: st.DataObject, instances: list[TaskView]) -> TaskView | None:
        return data.draw(st.sampled_from(instances)) if instances else None

    def put(self, instance: TaskView, **fields: object) -> None:
        self.world.instances[instance.uid] = dataclasses.replace(instance, **fields)

    def run(self, instance: TaskView) -> None:
        node = "node-1" if instance.pod else ""
        self.put(instance, phase=TaskPhase.RUNNING, ready=True, reason="", node=node)

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
            has_node = instance.pod and phase is TaskPhase.RUNNING
            node = "node-1" if has_node else instance.node
            self.put(instance, phase=phase, ready=False, node=node)

    @stateful.rule()
    def the_queue_admits_the_pods(self) -> None:
        for instance in self.living():
            if instance.reason == SCHEDULING_GATED:
                self.run(instance)

    @stateful.rule(holds=st.booleans())
    def a_user_suspends_or_continues_the_job(self, holds: bool) -> None:
        self.world.job = drawn.changed(self.world.job, suspend=holds)

    @stateful.rule(workers=st.integers(1, 3))
    def a_user_scales_the_workers(self, workers: int) -> None:
        self.world.job = drawn.with_workers(self.world.job, workers)

    @stateful.rule(field=drawn.TIMES, seconds=st.sampled_from([None, 60, 5000]))
    def a_user_changes_a_time(self, field: str, seconds: int | None) -> None:
        self.world.job = drawn.with_time(self.world.job, field, seconds)

    @stateful.rule(more=st.integers(-1, 1))
    def the_job_reports_its_step(self, more: int) -> None:
        before = 5 if self.world.progress is None else self.world.progress.step
        self.world.progress = Progress(step=max(before + more, 0))
        self.world.reported_at = self.world.now

    @stateful.rule(seconds=SECONDS)
    def time_passes(self, seconds: float) -> None:
        self.world.wait(seconds)
