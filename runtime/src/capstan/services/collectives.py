"""Runs the collective operations of a task, together with the other tasks of their groups.

TensorFlow: common_runtime/base_collective_executor.cc and distributed_runtime/
{collective_param_resolver_distributed,collective_rma_distributed}.cc.

A member first asks the leader for its group, its instance and the number of its steps. These
answers are kept. The devices of a task meet, and one thread then exchanges tensors with the other
tasks over links (`collective_rounds`). If a task is lost, or a step fails on one task, every member
of the step ends with an error that names the task. The next step asks the leader again.
"""

import functools
import secrets
import threading
import time
import weakref
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from capstan import errors
from capstan.core import cancellation, collective
from capstan.core.arrays import Array
from capstan.hardware import threads
from capstan.resources import collective_member, waiters
from capstan.services import (
    collective_buffers,
    collective_exchange,
    collective_results,
    collective_steps,
)
from capstan.transport import api, collective_api, interfaces
from capstan.transport import cancellation as cancellations

_THREADS: Final = 65_536
"""Every instance of every step in flight may wait for other tasks, so it needs its own thread."""

_PATIENCE_S: Final = 10.0
"""How long a member waits for the leader to learn that a step has failed."""

_RETRY_S: Final = 0.05

_INCARNATION_BITS: Final = 56

_HIDDEN: Final = (errors.CancelledError, errors.DeadlineExceededError)
"""Errors that only concern the client of the task where they occur. Others see AbortedError."""

Leader = Callable[[], collective_api.CollectiveApi]


@dataclass(frozen=True, slots=True)
class _Known:
    """The plan of a member, and the version of the knowledge on which it is based."""

    plan: collective_steps.Plan
    version: int


class Collectives(collective_member.Runner):
    """Implements `collective_member.Runner` for one task."""

    def __init__(
        self,
        task: str,
        leader: Leader,
        forget_step: Callable[[int, int, errors.OpError], None],
        peers: Callable[[str], interfaces.WorkerApi],
        links: api.Links,
    ) -> None:
        """`leader` returns the worker that knows the groups. `forget_step` is for this task."""
        self.buffers = collective_buffers.Buffers()
        self._task = task
        self._caller = collective.Caller(task, secrets.randbits(_INCARNATION_BITS))
        self._leader = leader
        self._forget_step = forget_step
        self._connections = collective_exchange.Connections(peers, links)
        self._lock = threading.Lock()
        self._version = 0
        self._epochs: dict[int, collective_steps.Epoch] = {}
        self._known: weakref.WeakKeyDictionary[collective_member.Member, _Known] = (
            weakref.WeakKeyDictionary()
        )
        self._runs = collective_steps.Runs(self._run_failed)
        self._threads = threads.DaemonThreads(_THREADS, "capstan-collective")
        # A session in this process is not closed like a server: its threads end with it.
        weakref.finalize(self, self._threads.shutdown)

    def start(
        self,
        member: collective_member.Member,
        value: Array | None,
        shape: tuple[int, ...],
        done: waiters.Done,
        cancelled: cancellation.Cancellation,
    ) -> None:
        run = self._runs.of(cancelled, member.graph_key)
        arrival = collective_steps.Arrival(member, run, value, shape, done)
        with self._lock:
            known = self._known.get(member)
            run.epoch = run.epoch or self._epochs.get(member.graph_key)
        if run.epoch is None or known is None or known.version != self._version:
            self._threads.start(functools.partial(self._resolve, arrival))
            return
        joined = self._join(arrival, known.plan)
        if joined is not None:
            self._threads.start(functools.partial(self._exchange, run.epoch, known.plan, *joined))

    def abort(self, graph_key: int, error: errors.OpError) -> None:
        with self._lock:
            epoch = self._epochs.get(graph_key)
        if epoch is not None:
            self._abort(epoch, error)

    def serve(self, frame: api.Frame, link: api.Link) -> Callable[[], None]:
        """Answer a RECV_BUF frame on its link as soon as the tensor is offered. Never blocks long.

        Return a function that withdraws the request.
        """
        (text,) = frame.values
        name = bytes(text.item()).decode()

        def answer(value: Array | None, error: errors.OpError | None) -> None:
            try:
                link.send(collective_exchange.answer(frame.step, value, error))
            except errors.UnavailableError:
                pass  # the other task notices this by itself
            except errors.OpError as fault:
                link.send(collective_exchange.answer(frame.step, None, fault))

        withdraw = self.buffers.request(frame.step, name, answer)
        graph_key = collective_steps.graph_of(name)
        with self._lock:
            held = self._epochs.get(graph_key)
        if held is not None and held.number != frame.step:
            self._threads.start(functools.partial(self._drop_old, graph_key, frame.step))
        return withdraw

    def close(self) -> None:
        """Abort everything, because the task stops."""
        stopped = errors.UnavailableError(None, None, f"{self._task} was stopped")
        with self._lock:
            epochs = list(self._epochs.values())
        for epoch in epochs:
            self._abort(epoch, stopped)
        self.buffers.abort_all(stopped)
        self._threads.shutdown()

    def _run_failed(self, run: collective_steps.Run, error: errors.OpError) -> None:
        run.error = error
        run.cancelled.cancel()
        if run.epoch is not None:
            self._abort(run.epoch, error)

    def _abort(
        self, epoch: collective_steps.Epoch, error: errors.OpError, *, is_told: bool = False
    ) -> None:
        """End an epoch on this task with `error`, and tell the tasks that ask. Never blocks.

        If `is_told`, another task has sent the error, which names the task that failed.
        """
        with self._lock:
            if epoch.error is not None:
                return
            epoch.error = error
            self._version += 1
            self._known.clear()
            if self._epochs.get(epoch.graph_key) is epoch:
                del self._epochs[epoch.graph_key]
            arrivals = [arrival for met in epoch.waiting.values() for arrival in met]
            arrivals += epoch.running
            epoch.waiting.clear()
        told = error if is_told else self._told(error)
        self._forget_step(epoch.graph_key, epoch.number, told)
        self.buffers.abort(epoch.number, told)
        self._connections.cut(epoch)
        for arrival in arrivals:
            arrival.answer(None, error)

    def _drop_old(self, graph_key: int, step: int) -> None:
        """End what has an old number of a graph: the requests of `step`, or the epoch of this task.

        A task that fails tells only the tasks that ask it for tensors. A task may have all tensors
        of that task already, and wait for this one. The leader knows which number is old. Blocks.
        """
        with self._lock:
            held = self._epochs.get(graph_key)
        try:
            number = self._leader().get_step_sequence(graph_key, None, cancellations.Cancellation())
        except errors.OpError:
            return  # the steps of all tasks end without the leader
        old = errors.AbortedError(None, None, f"Another step has failed, as {self._task} has seen")
        if step != number:
            self.buffers.abort(step, old)
        if held is not None and held.number != number:
            self._abort(held, old, is_told=True)

    def _told(self, error: errors.OpError) -> errors.OpError:
        """Return the error that the other members get for an error of this task."""
        code = errors.ABORTED if isinstance(error, _HIDDEN) else error.error_code
        return errors.from_code(
            code, f"A step with collective ops failed on {self._task}:\n{error.message}"
        )

    def _resolve(self, arrival: collective_steps.Arrival) -> None:
        """Ask the leader for everything that this task does not know yet, and join. Blocks."""
        run = arrival.run
        try:
            epoch = self._epoch(run)  # First, so that the other members learn of later errors.
            plan = self._plan(arrival, epoch)
            joined = self._join(arrival, plan)
        except Exception as fault:  # noqa: BLE001 - the step's error
            error = run.error or errors.from_exception(fault)
            if run.epoch is not None:
                self._abort(run.epoch, error)
            arrival.answer(None, error)
            return
        if joined is not None:
            self._exchange(epoch, plan, *joined)

    def _join(
        self,
        arrival: collective_steps.Arrival,
        plan: collective_steps.Plan,
    ) -> tuple[str, list[collective_steps.Arrival]] | None:
        run = arrival.run
        epoch, joined = run.epoch, None
        assert epoch is not None
        with self._lock:
            error = run.error or epoch.error
            if error is None:
                try:
                    joined = epoch.join(arrival, plan)
                except errors.InvalidArgumentError as fault:
                    error = fault
        if error is not None:
            arrival.answer(None, error)
        return joined

    def _plan(
        self, arrival: collective_steps.Arrival, epoch: collective_steps.Epoch
    ) -> collective_steps.Plan:
        member, run, version = arrival.member, arrival.run, self._version
        leader = self._leader()
        members = leader.complete_group(
            member.group, member.device_name, member.kind, run.cancelled
        )
        rank = leader.complete_instance(
            member.instance(arrival.shape), epoch.number, member.device_name, run.cancelled
        )
        tasks = tuple(dict.fromkeys(members.tasks))
        plan = collective_steps.Plan(
            tasks,
            tuple(map(members.tasks.count, tasks)),
            tuple(
                device
                for device, task in zip(members.devices, members.tasks, strict=True)
                if task == self._task
            ),
            tasks.index(self._task),
            tasks.index(members.tasks[rank]) if rank >= 0 else -1,
        )
        with self._lock:
            self._known[member] = _Known(plan, version)
        return plan

    def _epoch(self, run: collective_steps.Run) -> collective_steps.Epoch:
        """Return the epoch of a run. Asks the leader for its number if it is not known.

        Raises:
            OpError: the leader has no number for the run. All operations of the run get the error,
                because the leader tells a task only once that it has missed a failed step.
        """
        with run.asking:
            if run.epoch is None and run.error is not None:
                raise run.error
            try:
                return self._asked(run)
            except errors.OpError as error:
                run.error = run.error or error
                raise

    def _asked(self, run: collective_steps.Run) -> collective_steps.Epoch:
        limit = time.monotonic() + _PATIENCE_S
        while run.epoch is None:
            number = self._leader().get_step_sequence(run.graph_key, self._caller, run.cancelled)
            error = self.buffers.error(number)
            with self._lock:
                held = self._epochs.get(run.graph_key)
                if held is None and error is None:
                    held = collective_steps.Epoch(run.graph_key, number)
                    self._epochs[run.graph_key] = held
                run.epoch = held
            if error is None or held is not None:
                self._drop_others(run.graph_key, number)
                continue
            # The leader has not noticed yet that a step with this number failed.
            if time.monotonic() > limit or run.cancelled.wait(_RETRY_S):
                raise error
        return run.epoch

    def _drop_others(self, graph_key: int, number: int) -> None:
        """End the requests for tensors of a graph that have an old number, in other threads."""
        for step, name in self.buffers.waited().items():
            if step != number and collective_steps.graph_of(name) == graph_key:
                self._threads.start(functools.partial(self._drop_old, graph_key, step))

    def _exchange(
        self,
        epoch: collective_steps.Epoch,
        plan: collective_steps.Plan,
        name: str,
        arrivals: list[collective_steps.Arrival],
    ) -> None:
        """Compute the outputs of all arrivals of a run, and answer them. Blocks."""
        arrivals.sort(key=lambda arrival: plan.local.index(arrival.member.device_name))
        try:
            exchange = collective_exchange.Exchange(
                self._connections, self.buffers, epoch, plan, name
            )
            result = collective_results.result(exchange, plan, arrivals)
            outputs = [collective_results.delivered(result, arrival) for arrival in arrivals]
        except collective_exchange.Told as told:
            self._abort(epoch, told.error, is_told=True)
        except Exception as fault:  # noqa: BLE001 - the step's error
            self._abort(epoch, errors.from_exception(fault))
        else:
            with self._lock:
                epoch.leave(arrivals)
            for arrival, output in zip(arrivals, outputs, strict=True):
                arrival.answer(output, None)
        for arrival in arrivals:
            arrival.answer(None, epoch.error)
