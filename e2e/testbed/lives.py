"""An operator that dies at a chosen call of the API server, and another that goes on from there.

It is no process, but the operator's controller over a client that dies. Its memory dies with it,
and the next operator begins with the objects that the API server has.
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
from capstan_operator.app.metrics import Metrics
from capstan_operator.app.pace import APART
from capstan_operator.app.queue import WorkQueue
from capstan_operator.app.recorder import Recorder
from capstan_operator.kube import paths
from capstan_operator.kube.cache import Cache, Key
from capstan_operator.kube.errors import ApiError
from capstan_operator.kube.nodes import Nodes
from capstan_operator.kube.rest import Listed, Rest

Json = dict[str, Any]

NODE_LOST_SECONDS = 1.0
LOOK_SECONDS = 0.1
WITHIN_SECONDS = 90
LABEL = "capstan.dev/job-name"


class Side(enum.Enum):
    """The operator dies before it sends a call, or before it reads the answer."""

    BEFORE = "before"
    AFTER = "after"


@dataclass(frozen=True)
class Cut:
    """Where an operator dies: at its n-th call, from 1."""

    call: int
    side: Side

    def __str__(self) -> str:
        return f"{self.side.value}-{self.call}"


class Dead(Exception):
    """The operator has died."""


class Mortal:
    """A Rest, as the controller uses it, that dies; after that every call raises Dead."""

    def __init__(self, rest: Rest, cut: Cut | None) -> None:
        """Live for ever without a cut. Calls count from when `armed` is set."""
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
class Seen:
    """A job and its pods, as the API server has them."""

    job: Json
    pods: list[Json]

    @property
    def status(self) -> Json:
        found: Json = self.job.get("status") or {}
        return found

    def row(self, task: str) -> Json:
        rows = [row for row in self.status.get("tasks", ()) if row["name"] == task]
        return rows[0] if rows else {}

    def pod(self, task: str) -> str:
        """The pod of a task, as the fake kubelet's verbs take it."""
        metadata = self.job["metadata"]
        return f"{metadata['namespace']}/{metadata['name']}-{task}"


Sees = Callable[[Seen], object]


@dataclass(frozen=True)
class Act:
    """Something that happens to a job once, as soon as `when` is true of it."""

    when: Sees
    what: "Callable[[World, Seen], object]"


@dataclass(eq=False)
class World:
    """One job, the acts that happen to it, and the operators that serve it one after another."""

    rest: Rest
    key: Key
    acts: list[Act]
    goal: Sees
    seen: Seen = Seen({}, [])
    cache: Cache = field(default_factory=Cache)
    on_act: Callable[[], None] = lambda: None
    """Called when the first thing happens to the job."""
    _done: bool = False
    """Whether the last pass left nothing to do."""
    _ahead: timedelta = timedelta(0)
    _woken: asyncio.Event = field(default_factory=asyncio.Event)

    def leap(self, seconds: float) -> None:
        """Let time pass for the operator. May be called by any thread; it looks soon after."""
        self._ahead += timedelta(seconds=seconds)

    def now(self) -> datetime:
        return service.now() + self._ahead

    async def serve(self, rest: Any) -> None:
        """Be a new operator of the job until the goal is reached and nothing is left to do.

        Raises Dead when its client dies, and TimeoutError.
        """
        jobs, pods = await _lists(self.rest, self.key.namespace)
        self.cache = Cache()
        self.show(jobs, pods)
        clock = asyncio.get_running_loop().time
        nodes, queue = Nodes(rest, clock, NODE_LOST_SECONDS), WorkQueue(clock)
        recorder = Recorder(rest, self.now, "one of many")
        controller = Controller(rest, self.cache, nodes, Metrics(queue), recorder, self.now)
        async with asyncio.timeout(WITHIN_SECONDS):
            while True:
                self._woken.clear()
                self._done = False
                again = await self._pass(controller)
                await recorder.post()
                # A status may be held back for a moment, and a failed call is made again.
                self._done = again is None or again > APART.total_seconds()
                if self._rests() and not self.acts and self.goal(self.seen):
                    return
                await self._wait(again)

    async def act(self) -> None:
        """Let the next act happen if its time has come, but not while the operator works: it might
        die of that, and the next operator would see half of the act.
        """
        if self.acts and self._rests() and self.acts[0].when(self.seen):
            act = self.acts[0]
            self.on_act()
            await asyncio.to_thread(act.what, self, self.seen)
            self.acts.remove(act)
            self._woken.set()

    def show(self, jobs: Listed, pods: Listed) -> None:
        """Take the objects of the namespace, as consistent LISTs have returned them."""
        space, name = self.key
        job = [one for one in jobs.items if one["metadata"]["name"] == name]
        its = [one for one in pods.items if one["metadata"]["labels"].get(LABEL) == name]
        self.seen = Seen(job[0], its) if job else self.seen
        news = self.cache.replace_jobs(job, jobs.resource_version, space)
        news |= self.cache.replace_pods(its, pods.resource_version, space)
        if news:
            self._woken.set()

    def _rests(self) -> bool:
        """Whether the operator waits until something happens."""
        return self._done and not self._woken.is_set()

    async def _pass(self, controller: Controller) -> float | None:
        try:
            return await controller.reconcile(self.key)
        except ApiError:
            return LOOK_SECONDS

    async def _wait(self, seconds: float | None) -> None:
        # Time may leap meanwhile.
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(1 if seconds is None else min(seconds, 1)):
                await self._woken.wait()


async def watch(rest: Rest, namespace: str, worlds: Collection[World]) -> None:
    """Show all worlds of a namespace its objects, again and again, until cancelled."""
    while True:
        jobs, pods = await _lists(rest, namespace)
        for world in worlds:
            world.show(jobs, pods)
        await asyncio.gather(*(world.act() for world in worlds))
        await asyncio.sleep(LOOK_SECONDS)


async def _lists(rest: Rest, namespace: str) -> tuple[Listed, Listed]:
    # Pods last: a status must not tell of newer pods than those that are seen.
    jobs = await rest.list(paths.jobs(namespace))
    return jobs, await rest.list(paths.pods(namespace), labelSelector=LABEL)
