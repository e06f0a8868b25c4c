"""An operator that dies at a chosen call of the API server, and another operator that takes over.

Such an operator is not a process. It is the operator's controller with a client that fails from the
chosen call on. The next operator is a new controller with an empty memory. It begins with the
objects that the API server has.
"""

import asyncio
import contextlib
import enum
from collections.abc import Awaitable, Callable, Collection
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from capstan_operator.app import service
from capstan_operator.app.controller import Controller
from capstan_operator.app.endings import Endings
from capstan_operator.app.metrics import Metrics
from capstan_operator.app.pace import APART
from capstan_operator.app.queue import WorkQueue
from capstan_operator.app.recorder import Recorder
from capstan_operator.app.reports import Reports
from capstan_operator.kube import paths
from capstan_operator.kube.cache import Cache
from capstan_operator.kube.errors import ApiError
from capstan_operator.kube.nodes import Nodes
from capstan_operator.kube.rest import Listed, Rest
from capstan_operator.kube.table import Key

Json = dict[str, Any]

NODE_LOST_SECONDS = 1.0
LOOK_SECONDS = 0.1
WITHIN_SECONDS = 90
LABEL = "capstan.dev/job-name"


class Side(enum.Enum):
    """Whether the operator dies before it sends a call, or when the API server has answered the
    call and the operator has not seen the answer.
    """

    BEFORE = "before"
    AFTER = "after"


@dataclass(frozen=True)
class Cut:
    """The call at which an operator dies. The first call is 1."""

    call: int
    side: Side

    def __str__(self) -> str:
        return f"{self.side.value}-{self.call}"


class Dead(Exception):
    """The operator has died."""


class CuttableClient:
    """A Rest that dies at a cut. The cut call and every later call raise Dead."""

    def __init__(self, rest: Rest, cut: Cut | None) -> None:
        """Begin to count calls when `armed` is set. Without a cut the client never dies."""
        self._rest = rest
        self._cut = cut
        self._dead = False
        self.armed = False
        self.calls: list[str] = []

    def __getattr__(self, verb: str) -> Callable[..., Awaitable[Any]]:
        call = getattr(self._rest, verb)

        async def ask(path: str, *args: Any, **options: Any) -> Any:
            if self.armed:
                self.calls.append(f"{verb} {path}")
            number = len(self.calls)
            self._die_at(Cut(number, Side.BEFORE))
            try:
                return await call(path, *args, **options)
            finally:
                self._die_at(Cut(number, Side.AFTER))

        return ask

    def _die_at(self, now: Cut) -> None:
        self._dead = self._dead or (self.armed and now == self._cut)
        if self._dead:
            raise Dead


@dataclass(frozen=True)
class Found:
    """A job and its pods as last read from the API server."""

    job: Json
    pods: list[Json]
    is_gone: bool = False
    """Whether the job was deleted. `job` is then its last version that was read."""

    @property
    def status(self) -> Json:
        found: Json = self.job.get("status") or {}
        return found

    def row(self, task: str) -> Json:
        rows = [row for row in self.status.get("tasks", ()) if row["name"] == task]
        return rows[0] if rows else {}

    def pod(self, task: str) -> str:
        """Return the key of a task's pod, which the methods of the fake kubelet take."""
        metadata = self.job["metadata"]
        return f"{metadata['namespace']}/{metadata['name']}-{task}"


Condition = Callable[[Found], object]


@dataclass(frozen=True)
class Act:
    """An event of a job. `happen` is called once, as soon as `when` holds."""

    when: Condition
    happen: "Callable[[ServedJob, Found], object]"


@dataclass(eq=False)
class ServedJob:
    """One job, the acts that happen to it, and the operators that serve it one after another."""

    rest: Rest
    key: Key
    acts: list[Act]
    goal: Condition
    found: Found = Found({}, [])
    cache: Cache = field(default_factory=Cache)
    on_act: Callable[[], None] = lambda: None
    """Called before each act."""
    _done: bool = False
    """Whether the last pass left nothing to do."""
    _shown: tuple[int, int] = (0, 0)
    """The resource versions of the two LISTs that were shown last."""
    _ahead: timedelta = timedelta(0)
    _woken: asyncio.Event = field(default_factory=asyncio.Event)

    def leap(self, seconds: float) -> None:
        """Set the operator's clock ahead. Any thread may call this. The operator notices within
        a second.
        """
        self._ahead += timedelta(seconds=seconds)

    def now(self) -> datetime:
        return service.now() + self._ahead

    async def serve(self, rest: Any) -> Found:
        """Run a new operator of the job until the goal is reached and nothing is left to do. Return
        the job and its pods as the operator then knew them.

        Raises Dead when the client dies, and TimeoutError after WITHIN_SECONDS.
        """
        jobs, pods = await _lists(self.rest, self.key.namespace)
        self.cache, self._shown = Cache(), (0, 0)
        self.show(jobs, pods)
        clock = asyncio.get_running_loop().time
        nodes, queue = Nodes(rest, clock, NODE_LOST_SECONDS), WorkQueue(clock)
        recorder = Recorder(rest, Endings(self.cache), self.now, "one of many")
        reports = Reports(_no_answer, queue.add, clock, self.now, 5.0)
        controller = Controller(
            rest, self.cache, nodes, Metrics(queue, self.now, 0), recorder, reports, self.now
        )
        async with asyncio.timeout(WITHIN_SECONDS):
            while True:
                self._woken.clear()
                self._done = False
                again = await self._pass(controller)
                await recorder.finish()
                # A short pause means more work: a status that is held back, or a call to retry.
                self._done = again is None or again > APART.total_seconds()
                if self._rests() and not self.acts and self.goal(self.found):
                    return self.found
                await self._wait(again)

    async def act(self) -> None:
        """Let the next act happen if its condition holds and the operator is idle. A busy operator
        might die during the act, and the next operator would then see half of the act.
        """
        if self.acts and self._rests() and self.acts[0].when(self.found):
            act = self.acts[0]
            self.on_act()
            await asyncio.to_thread(act.happen, self, self.found)
            self.acts.remove(act)
            self._woken.set()

    def show(self, jobs: Listed, pods: Listed) -> None:
        """Give the job and the operator's cache the objects of the namespace, from two LISTs.

        LISTs that are older than those before are left out. `serve` and `watch` send them at the
        same time, and the answers may come in another order.
        """
        versions = int(jobs.resource_version), int(pods.resource_version)
        if any(new < last for new, last in zip(versions, self._shown, strict=True)):
            return
        self._shown = versions
        space, name = self.key
        own_jobs = [job for job in jobs.items if job["metadata"]["name"] == name]
        own_pods = [pod for pod in pods.items if pod["metadata"]["labels"].get(LABEL) == name]
        if own_jobs:
            self.found = Found(own_jobs[0], own_pods)
        elif self.found.job:
            self.found = Found(self.found.job, own_pods, is_gone=True)
        changed = self.cache.replace_jobs(own_jobs, jobs.resource_version, space)
        changed |= self.cache.replace_pods(own_pods, pods.resource_version, space)
        if changed:
            self._woken.set()

    def _rests(self) -> bool:
        """Return whether the operator is idle until something changes."""
        return self._done and not self._woken.is_set()

    async def _pass(self, controller: Controller) -> float | None:
        try:
            return await controller.reconcile(self.key)
        except ApiError:
            return LOOK_SECONDS

    async def _wait(self, seconds: float | None) -> None:
        # At most a second, because the clock may leap meanwhile.
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(1 if seconds is None else min(seconds, 1)):
                await self._woken.wait()


async def watch(rest: Rest, namespace: str, served_jobs: Collection[ServedJob]) -> None:
    """Show the namespace's objects to all its served jobs, again and again, until cancelled."""
    while True:
        jobs, pods = await _lists(rest, namespace)
        for served in served_jobs:
            served.show(jobs, pods)
        await asyncio.gather(*(served.act() for served in served_jobs))
        await asyncio.sleep(LOOK_SECONDS)


async def _lists(rest: Rest, namespace: str) -> tuple[Listed, Listed]:
    # Pods are read last, so that no status is newer than the pods.
    jobs = await rest.list(paths.jobs(namespace))
    return jobs, await rest.list(paths.pods(namespace), labelSelector=LABEL)


async def _no_answer(_: str, __: object) -> None:
    """Answer as a task that no network reaches."""
