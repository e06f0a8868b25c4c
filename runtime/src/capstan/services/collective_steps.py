"""The steps of a graph that the members of its collective operations run together.

TensorFlow gives all steps of a graph successive numbers, which the leader begins
(distributed_runtime/rpc_collective_executor_mgr.cc). Here the number stays until a step fails. The
tensors of successive runs are told apart by how often a device has run an instance.
"""

import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from capstan import errors
from capstan.core import cancellation
from capstan.core.arrays import Array
from capstan.resources import collective_member, waiters
from capstan.transport import api
from capstan.transport import cancellation as cancellations


@dataclass(eq=False, slots=True)
class Arrival:
    """One execution of a member in a run: the input, and the callback that gets the output."""

    member: collective_member.Member
    run: "Run"
    value: Array | None
    shape: tuple[int, ...]
    done: waiters.Done | None

    def answer(self, output: Array | None, error: errors.OpError | None) -> None:
        """Answer, unless this run was answered before."""
        done, self.done = self.done, None
        if done is not None:
            done(() if output is None else (output,), error)


@dataclass(eq=False, slots=True)
class Plan:
    """What a member knows about its group and instance.

    `tasks` are in the order of the ranks, and `local` are the devices of this task in that order.
    `source` is the task that has the value of a broadcast, as a rank, or -1.
    """

    tasks: tuple[str, ...]
    counts: tuple[int, ...]
    local: tuple[str, ...]
    rank: int
    source: int


@dataclass(eq=False, slots=True)
class Epoch:
    """The steps of a graph between two failures. The lock of the owner guards it."""

    graph_key: int
    number: int
    error: errors.OpError | None = None
    runs: dict[tuple[int, int, str], int] = field(default_factory=dict)
    """How often each device has run each instance of each group."""
    waiting: dict[tuple[int, int, int], list[Arrival]] = field(default_factory=dict)
    """The arrivals that wait for other devices of this task, by group, instance and run."""
    running: set[Arrival] = field(default_factory=set)
    present: dict[tuple[int, int, str], list[Arrival]] = field(default_factory=dict)
    """The arrivals that have no output yet, by group, instance and device."""
    links: set[api.Link] = field(default_factory=set)

    def join(self, arrival: Arrival, plan: Plan) -> tuple[str, list[Arrival]] | None:
        """Count a run. Return its name and all arrivals of this task, if this is the last one.

        The name begins with the key of the graph: see `graph_of`.

        Raises:
            InvalidArgumentError: another node, or the same node in another step, runs the instance
                on this device at present. The other tasks could not tell the two apart.
        """
        member = arrival.member
        instance = member.group.key, member.instance_key
        device = (*instance, member.device_name)
        present = self.present.setdefault(device, [])
        if present and (present[0].run is not arrival.run or present[0].member is not member):
            raise _clash(member, present[0].member)
        present.append(arrival)
        number = self.runs.get(device, 0)
        self.runs[device] = number + 1
        met = self.waiting.setdefault((*instance, number), [])
        met.append(arrival)
        if len(met) < len(plan.local):
            return None
        del self.waiting[(*instance, number)]
        self.running.update(met)
        return f"{self.graph_key}:{member.group.key}:{member.instance_key}:{number}", met

    def leave(self, arrivals: Iterable[Arrival]) -> None:
        """Forget arrivals that have their outputs."""
        for arrival in arrivals:
            self.running.discard(arrival)
            member = arrival.member
            device = member.group.key, member.instance_key, member.device_name
            self.present[device].remove(arrival)


def _clash(member: collective_member.Member, other: collective_member.Member) -> errors.OpError:
    return errors.InvalidArgumentError(
        None,
        None,
        f"{member.name} and {other.name} run collective instance {member.instance_key} of group "
        f"{member.group.key} on {member.device_name} at the same time. Give two nodes of one step "
        "different instance keys. Give two graphs whose steps run at the same time different "
        "instance keys, or their steps different values of "
        "RunOptions.experimental.collective_graph_key.",
    )


def graph_of(name: str) -> int:
    """Return the key of the graph to which a run or one of its tensors belongs, by its name."""
    return int(name.partition(":")[0])


@dataclass(eq=False, slots=True)
class Run:
    """One run of a part with collective operations, which all belong to one epoch."""

    graph_key: int
    cancelled: cancellations.Cancellation = field(default_factory=cancellations.Cancellation)
    epoch: Epoch | None = None
    error: errors.OpError | None = None
    asking: threading.Lock = field(default_factory=threading.Lock)
    """Held while one operation asks for the epoch of all operations of the run."""


class Runs:
    """The runs in flight, by the cancellation of the part and the key of the graph. Thread-safe."""

    def __init__(self, failed: Callable[[Run, errors.OpError], None]) -> None:
        """`failed` is called when a run is cancelled. It must not block."""
        self._failed = failed
        self._lock = threading.Lock()
        self._runs: dict[tuple[cancellation.Cancellation, int], Run] = {}

    def of(self, cancelled: cancellation.Cancellation, graph_key: int) -> Run:
        """Return the run of a part."""
        key = cancelled, graph_key
        with self._lock:
            found = self._runs.get(key)
            if found is not None:
                return found
            made = self._runs[key] = Run(graph_key)
        cancelled.at_end(lambda: self._runs.pop(key, None))
        cancelled.register(lambda error: self._failed(made, error))
        return made
