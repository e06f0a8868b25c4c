"""The groups and instances of collective operations, as their leader knows them.

TensorFlow: common_runtime/collective_param_resolver_local.cc. The first member describes a group or
an instance. Every other member must describe it in the same way. A group is complete when it has
its number of devices, and then never changes.
"""

import collections
import functools
import secrets
import threading
from collections.abc import Callable
from dataclasses import dataclass, field

from capstan import errors
from capstan.core import collective, devices
from capstan.resources import collective_faults

GroupDone = Callable[[collective.Members | None, errors.OpError | None], None]
"""Gets the members of a complete group, or the error of a member that does not fit."""

InstanceDone = Callable[[int, errors.OpError | None], None]
"""Gets the rank of the source of a broadcast, or -1, or an error."""

Withdraw = Callable[[], None]
"""Lets a member stop waiting. Its device stays in the group."""

_STEP_BITS = 56
"""TensorFlow leaves the other bits of the numbers of steps free."""


_KEPT = 100
"""A request comes soon after its step has failed. In this time, fewer steps fail."""


@dataclass(eq=False, slots=True)
class _Group:
    described: collective.Group
    devices: set[str] = field(default_factory=set)
    waiting: list[GroupDone] = field(default_factory=list)

    def members(self) -> collective.Members:
        ordered = tuple(sorted(self.devices))
        return collective.Members(ordered, tuple(map(devices.task_of, ordered)))


@dataclass(eq=False, slots=True)
class _Instance:
    described: collective.Instance
    step: int
    """The number of the steps of the members that began it."""
    known: set[str] = field(default_factory=set)
    sources: list[str] = field(default_factory=list)
    waiting: list[InstanceDone] = field(default_factory=list)

    @property
    def is_complete(self) -> bool:
        return len(self.known) >= self.described.group.size


@dataclass(eq=False, slots=True)
class _Steps:
    """The numbers of the steps of one graph."""

    number: int
    """The number of the present steps."""
    failed: int = 0
    """The number of the last step that failed, or 0."""
    error: errors.OpError | None = None
    """The error of that step."""
    told: dict[str, tuple[int, int]] = field(default_factory=dict)
    """Of each task that has asked: its incarnation, and the last number that it knows."""

    def missed(self, caller: collective.Caller) -> bool:
        """Return whether the last step failed before this task took part.

        A task that was started again takes part in the steps to come.
        """
        incarnation, last = self.told.get(caller.task, (caller.incarnation, 0))
        return (
            self.error is not None
            and incarnation == caller.incarnation
            and last not in (self.failed, self.number)
        )


class Groups:
    """The groups, the instances and the step numbers that one leader gives out. Thread-safe.

    No method blocks. A callback may run in the calling thread, and must not block.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._groups: dict[int, _Group] = {}
        self._instances: dict[tuple[int, int], _Instance] = {}
        self._steps: dict[int, _Steps] = {}
        self._failed: collections.deque[int] = collections.deque(maxlen=_KEPT)
        """The numbers of the last steps that failed."""

    def complete_group(self, group: collective.Group, device: str, done: GroupDone) -> Withdraw:
        """Add `device` to its group, and call `done` when the group is complete.

        If the device does not fit into the group, `done` gets an InternalError. So does every
        member that waits for this group, which is then forgotten.
        """
        with self._lock:
            held = self._groups.setdefault(group.key, _Group(group))
            error = collective_faults.misfit(held.described, held.devices, group, device)
            if error is None:
                held.devices.add(device)
            if error is None and len(held.devices) < group.size:
                held.waiting.append(done)
                return functools.partial(self._withdraw, held.waiting, done)
            ready, members = [done], None
            if error is None:
                members = held.members()
            if error is None or len(held.devices) < held.described.size:
                ready += held.waiting
                held.waiting.clear()
            if error is not None and len(held.devices) < held.described.size:
                del self._groups[group.key]
        for each in ready:
            each(members, error)
        return _nothing

    def complete_instance(
        self, instance: collective.Instance, step: int, device: str, done: InstanceDone
    ) -> Withdraw:
        """Add `device` to an instance of a complete group.

        `done` is called at once, but for a broadcast when all members are known. It gets an
        InternalError if a broadcast has no source or two. If the members do not agree, this one
        and those that wait get an InvalidArgumentError, and the instance is forgotten. If all
        members are known, and one of them comes back with another description, a new instance
        begins: its program has built another graph. So it does if the others had another `step`,
        because that step has failed: if they wait, they get an AbortedError. A member whose own
        `step` has failed gets it, and changes nothing.
        """
        key = instance.group.key, instance.key
        old: list[InstanceDone] = []
        with self._lock:
            has_failed = step in self._failed
        if has_failed:
            done(-1, collective_faults.over(instance, device))
            return _nothing
        with self._lock:
            held = self._instances.get(key)
            is_over = held is not None and (held.is_complete or held.step != step)
            if held is None or (is_over and not collective_faults.agree(held.described, instance)):
                old = held.waiting if held is not None else []
                held = self._instances[key] = _Instance(instance, step)
            error: errors.OpError | None = None
            if not collective_faults.agree(held.described, instance):
                error = collective_faults.disagreement(held.described, instance, device)
            else:
                self._join(held, instance, device)
            is_broadcast = instance.kind is collective.Kind.BROADCAST
            ready, rank, withdraw = [], -1, _nothing
            if error is None and is_broadcast and not held.is_complete:
                held.waiting.append(done)
                withdraw = functools.partial(self._withdraw, held.waiting, done)
            else:
                ready = [done, *held.waiting]
                held.waiting.clear()
                if error is None and is_broadcast:
                    error = collective_faults.source_error(instance.key, held.known, held.sources)
                if error is not None:
                    del self._instances[key]
                elif is_broadcast:
                    rank = self._rank(held)
        for each in old:
            each(-1, collective_faults.begun_anew(instance, device))
        for each in ready:
            each(rank, error)
        return withdraw

    def devices_of(self, key: int) -> tuple[int, list[str]]:
        """Return the size of a group, and the devices that are in it, in their order."""
        with self._lock:
            held = self._groups.get(key)
            return (held.described.size, sorted(held.devices)) if held is not None else (0, [])

    def devices_at(self, instance: collective.Instance) -> list[str]:
        """Return the devices that have begun an instance, in their order."""
        with self._lock:
            held = self._instances.get((instance.group.key, instance.key))
            return sorted(held.known) if held is not None else []

    def step(self, graph_key: int, caller: collective.Caller | None) -> int:
        """Return the number that the present steps of a graph have. The first call draws it.

        Raises:
            OpError: the error of the last step that failed, if `caller` has missed it. It may not
                begin the next step, because the other members do not know that they must.
        """
        with self._lock:
            held = self._steps.setdefault(graph_key, _Steps(_drawn()))
            if caller is None:
                return held.number
            missed = held.missed(caller)
            held.told[caller.task] = caller.incarnation, held.failed if missed else held.number
            if missed:
                assert held.error is not None
                raise held.error
            return held.number

    def forget_step(self, graph_key: int, step: int, error: errors.OpError) -> None:
        """Let the next steps of a graph have another number, because one with `step` failed.

        `error` is what tasks get that have not taken part yet.
        """
        with self._lock:
            held = self._steps.get(graph_key)
            if held is not None and held.number == step:
                held.failed, held.error, held.number = step, error, _drawn()
                self._failed.append(step)

    def _join(self, held: _Instance, instance: collective.Instance, device: str) -> None:
        held.known.add(device)
        if device in held.sources:
            held.sources.remove(device)
        if instance.is_source:
            held.sources.append(device)

    def _rank(self, held: _Instance) -> int:
        members = self._groups[held.described.group.key].members()
        return members.devices.index(held.sources[0])

    def _withdraw(self, waiting: list[Callable[..., None]], done: Callable[..., None]) -> None:
        with self._lock:
            if done in waiting:
                waiting.remove(done)


def _drawn() -> int:
    return secrets.randbits(_STEP_BITS) | 1


def _nothing() -> None:
    pass
