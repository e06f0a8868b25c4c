"""The operator is cut off before and after every single call of the API server: every job comes to
the same end, and nothing is told twice.

The operator is its controller in this process, over a client that dies. That costs a tenth of a
real process, so this file holds the promise for every call of every script. test_sigkill.py adds a
real process's death: broken connections, a Lease that stays, and watches that begin anew.
"""

import asyncio
import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from capstan_operator.kube import paths
from capstan_operator.kube.cache import Key
from capstan_operator.kube.errors import NotFound
from capstan_operator.kube.rest import Rest
from testbed.api import Api
from testbed.control import Cluster
from testbed.endings import Ending
from testbed.kubelet import Kubelet
from testbed.lives import Act, Cut, Dead, Mortal, Seen, Side, World, watch
from testbed.story import job, replica

Json = dict[str, Any]

AT_ONCE = 8
"""Jobs that are served at a time."""
MOST_CALLS = 16
"""More than the operator makes in any script."""
LONG = {"restartBackoff": {"initialSeconds": 1000, "maxSeconds": 1000}}


@dataclass
class Place:
    """The namespace in which scripts are played, and its cluster."""

    cluster: Cluster
    kubelet: Kubelet
    namespace: str

    @property
    def api(self) -> Api:
        return self.cluster.api


@dataclass(frozen=True)
class Script:
    """What happens to a job until its end. Cuts are made from the first act on."""

    manifest: Callable[[str], Json]
    acts: Callable[[Place], list[Act]]
    goal: Callable[[Seen], object]
    from_nothing: bool = False
    """Cuts are made from the first pass on."""


def phase(name: str) -> Callable[[Seen], bool]:
    return lambda seen: seen.status.get("phase") == name


def running(task: str, attempt: int) -> Callable[[Seen], bool]:
    def holds(seen: Seen) -> bool:
        row = seen.row(task)
        return phase("Running")(seen) and (row["attempt"], row["state"]) == (attempt, "Running")

    return holds


def over(name: str, *rows: str) -> Callable[[Seen], bool]:
    """Whether the job is over, its rows are these, and no pod lives or is still being deleted."""

    def holds(seen: Seen) -> bool:
        lives = [
            pod
            for pod in seen.pods
            if pod["status"]["phase"] in ("Pending", "Running")
            or "deletionTimestamp" in pod["metadata"]
        ]
        states = tuple(row["state"] for row in seen.status.get("tasks", ()))
        return phase(name)(seen) and states == rows and not lives

    return holds


def exits(task: str, code: int) -> Callable[[Place], list[Act]]:
    return lambda place: [
        Act(
            phase("Running"),
            lambda _, seen: place.kubelet.exit(seen.pod(task), code, message="so long"),
        )
    ]


def oom(place: Place) -> list[Act]:
    return [Act(phase("Running"), lambda _, seen: place.kubelet.oom(seen.pod("worker-0")))]


def vanishes(place: Place) -> list[Act]:
    def delete(_: World, seen: Seen) -> None:
        space, _, name = seen.pod("worker-0").partition("/")
        place.api.delete(paths.pod(space, name), {"gracePeriodSeconds": 0})

    return [Act(phase("Running"), delete)]


def refused_at_first(place: Place) -> list[Act]:
    """The account that the pods need is made only when the API server has refused a pod."""

    def help_out(world: World, seen: Seen) -> None:
        accounts = f"/api/v1/namespaces/{place.namespace}/serviceaccounts"
        place.api.post(accounts, {"metadata": {"name": seen.job["metadata"]["name"]}})
        world.leap(2000)

    return [Act(lambda seen: seen.row("worker-0").get("state") == "CreateFailed", help_out)]


def node_lost(place: Place) -> list[Act]:
    """The node under worker-0 falls silent, and stays so for longer than anybody waits."""

    def lose(world: World, seen: Seen) -> None:
        node = seen.row("worker-0")["node"]
        place.api.patch(f"/api/v1/nodes/{node}", {"spec": {"unschedulable": True}})
        place.kubelet.not_ready(node)
        place.kubelet.unready(seen.pod("worker-0"))
        world.leap(2000)

    return [Act(phase("Running"), lose)]


def a_job(**given: Any) -> Callable[[str], Json]:
    """A job of one ps and one worker; `given` are fields of the worker."""
    return lambda name: job(name, ps=replica(), worker=replica(**given))


def with_account(name: str) -> Json:
    one = replica(pod={"serviceAccountName": name})
    return job(name, run_policy=LONG, worker=one)


def misspelt(name: str) -> Json:
    trainer = {"name": "trainer", "image": "capstan/digits:dev", "comand": ["train"]}
    return job(name, worker=replica(containers=[trainer]))


def on_two_nodes(name: str) -> Json:
    """Of a pair of nodes that no other job uses."""
    hosts = {"key": "kubernetes.io/hostname", "operator": "In", "values": pair(name)}
    place = {"nodeSelectorTerms": [{"matchExpressions": [hosts]}]}
    affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": place}}
    return job(name, worker=replica(pod={"affinity": affinity}))


def pair(name: str) -> list[str]:
    return [f"{name}-a", f"{name}-b"]


def nothing(_: Place) -> list[Act]:
    return []


SCRIPTS = {
    "the start": Script(a_job(), nothing, phase("Running"), from_nothing=True),
    "an exit": Script(a_job(), exits("worker-0", 1), running("worker-0", 2)),
    "no memory": Script(a_job(), oom, running("worker-0", 2)),
    "a pod that is gone": Script(a_job(), vanishes, running("worker-0", 2)),
    "a lost ps": Script(a_job(), exits("ps-0", 1), running("ps-0", 2)),
    "the whole job": Script(
        a_job(onFailure="RestartJob"),
        exits("worker-0", 1),
        lambda seen: running("ps-0", 2)(seen) and running("worker-0", 2)(seen),
    ),
    "success": Script(a_job(), exits("worker-0", 0), over("Succeeded", "Stopped", "Succeeded")),
    "failure": Script(
        a_job(restartPolicy="ExitCode"), exits("worker-0", 1), over("Failed", "Stopped", "Failed")
    ),
    "a refused pod": Script(with_account, refused_at_first, running("worker-0", 2), True),
    "an invalid template": Script(misspelt, nothing, phase("Invalid"), from_nothing=True),
    "a lost node": Script(on_two_nodes, node_lost, running("worker-0", 2)),
}


@pytest.mark.parametrize("title", SCRIPTS)
def test_wherever_an_operator_dies_the_next_one_brings_the_job_to_the_same_end(
    title: str, cluster: Cluster, kubelet: Kubelet, namespace: str
) -> None:
    with contextlib.ExitStack() as stack:
        if title == "a lost node":
            kubelet = stack.enter_context(nodes_in_pairs(cluster))
        asyncio.run(cut_everywhere(Place(cluster, kubelet, namespace), SCRIPTS[title]))


@contextlib.contextmanager
def nodes_in_pairs(cluster: Cluster) -> Iterator[Kubelet]:
    """Two nodes for each job that there may be: one to be lost, and another."""
    numbers = range(1, MOST_CALLS + 1)
    jobs = ["uncut", *(str(Cut(number, side)) for number in numbers for side in Side)]
    kubelet = Kubelet(cluster.api, 0)
    kubelet.nodes = [node for one in jobs for node in pair(one)]
    kubelet.start()
    try:
        yield kubelet
    finally:
        kubelet.close()
        for node in kubelet.nodes:
            cluster.api.delete(f"/api/v1/nodes/{node}")


async def cut_everywhere(place: Place, script: Script) -> None:
    """Cut at call 1, 2 ... until there is no such call any more, each in a job of its own."""
    async with await Rest.connect(str(place.cluster.kubeconfig)) as rest:
        stage = Stage(place, rest, script)
        async with stage.watched():
            uncut = await stage.play("uncut", None)
            assert uncut.calls, "the script needs no call"
            last = len(uncut.calls)
            done = 0
            was_cut = True
            while was_cut:
                numbers = range(done + 1, last + 1)
                assert last <= MOST_CALLS, uncut.calls
                ends = await asyncio.gather(
                    *(stage.compare(Cut(n, side), uncut) for n in numbers for side in Side)
                )
                was_cut = any(ends[-2:])
                done, last = last, last + 2


@dataclass
class Played:
    """What became of a job, and of the operator that could be cut off."""

    ending: Ending
    calls: list[str]
    was_cut: bool


class Stage:
    """Plays one script with several jobs at once."""

    def __init__(self, place: Place, rest: Rest, script: Script) -> None:
        self._place = place
        self._rest = rest
        self._script = script
        self._turns = asyncio.Semaphore(AT_ONCE)
        self._worlds: set[World] = set()

    @contextlib.asynccontextmanager
    async def watched(self) -> Any:
        """Show all jobs what happens to them."""
        eyes = asyncio.create_task(watch(self._rest, self._place.namespace, self._worlds))
        yield
        eyes.cancel()

    async def compare(self, cut: Cut, uncut: Played) -> bool:
        """Play with this cut; say whether there was such a call."""
        async with self._turns:
            played = await self.play(str(cut), cut)
        played.ending.assert_like(uncut.ending, cut)
        return played.was_cut

    async def play(self, name: str, cut: Cut | None) -> Played:
        """Play the script with a job of this name; another operator takes over at the cut."""
        script, space = self._script, self._place.namespace
        await self._rest.create(paths.jobs(space), script.manifest(name))
        mortal = Mortal(self._rest, cut)
        mortal.armed = script.from_nothing
        world = World(self._rest, Key(space, name), script.acts(self._place), script.goal)
        world.on_act = lambda: setattr(mortal, "armed", True)
        self._worlds.add(world)
        was_cut = False
        try:
            try:
                await world.serve(mortal)
            except Dead:
                was_cut = True
                await world.serve(self._rest)
            return Played(await self._ending(world), mortal.calls, was_cut)
        finally:
            self._worlds.discard(world)

    async def _ending(self, world: World) -> Ending:
        """Say what became of the job, and delete it."""
        space, name = world.key
        try:
            service = await self._rest.get(paths.service(space, name))
        except NotFound:
            service = None
        events = await self._rest.list(paths.events(space))
        seen = world.seen
        await self._rest.delete(paths.job(space, name), uid=seen.job["metadata"]["uid"])
        return Ending.of(seen.job, seen.pods, service, events.items)
