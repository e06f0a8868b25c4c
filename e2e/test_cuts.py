"""The operator dies before and after each of its calls of the API server, and another operator goes
on. Every job ends in the same way, and no event is reported twice.

In this file the operator is only its controller, which runs in this process with a client that
fails. This takes a tenth of the time of a real process, so this file can test every call of every
script. test_sigkill.py kills a real process. Such a process also leaves broken connections and a
Lease, and the next process begins new watches.
"""

import asyncio
import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from capstan_operator.kube import paths
from capstan_operator.kube.errors import NotFound
from capstan_operator.kube.rest import Rest
from capstan_operator.kube.table import Key
from testbed import certificates
from testbed.api import Api
from testbed.control import Cluster
from testbed.endings import Ending
from testbed.kubelet import Kubelet
from testbed.lives import Act, Cut, CuttableClient, Dead, Found, ServedJob, Side, watch
from testbed.story import condition, job, replica

Json = dict[str, Any]

AT_ONCE = 8
"""The number of jobs that are served at the same time."""
MOST_CALLS = 16
"""More calls than the operator makes in any script."""
DAY = 86400.0
LONG = {"restartBackoff": {"initialSeconds": 1000, "maxSeconds": 1000}}


@dataclass
class Place:
    """The namespace in which scripts run, and its cluster."""

    cluster: Cluster
    kubelet: Kubelet
    namespace: str

    @property
    def api(self) -> Api:
        return self.cluster.api


@dataclass(frozen=True)
class Script:
    """The manifest of a job, the acts that happen to it, and the goal that ends the script.

    The operator can die from the first act on.
    """

    manifest: Callable[[str], Json]
    acts: Callable[[Place], list[Act]]
    goal: Callable[[Found], object]
    from_nothing: bool = False
    """Whether the operator can die from the first pass on."""


def phase(name: str) -> Callable[[Found], bool]:
    return lambda found: found.status.get("phase") == name


def running(task: str, attempt: int) -> Callable[[Found], bool]:
    def holds(found: Found) -> bool:
        row = found.row(task)
        return phase("Running")(found) and (row["attempt"], row["state"]) == (attempt, "Running")

    return holds


def over(name: str, *rows: str) -> Callable[[Found], bool]:
    """Return a condition: the job has ended with these states of its tasks, and none of its pods
    runs or is still being deleted.
    """

    def holds(found: Found) -> bool:
        alive = [
            pod
            for pod in found.pods
            if pod["status"]["phase"] in ("Pending", "Running")
            or "deletionTimestamp" in pod["metadata"]
        ]
        states = tuple(row["state"] for row in found.status.get("tasks", ()))
        return phase(name)(found) and states == rows and not alive

    return holds


def exits(task: str, code: int) -> Callable[[Place], list[Act]]:
    return lambda place: [
        Act(
            phase("Running"),
            lambda _, found: place.kubelet.exit(found.pod(task), code, message="so long"),
        )
    ]


def oom(place: Place) -> list[Act]:
    return [Act(phase("Running"), lambda _, found: place.kubelet.oom(found.pod("worker-0")))]


def vanishes(place: Place) -> list[Act]:
    def delete(_: ServedJob, found: Found) -> None:
        space, _, name = found.pod("worker-0").partition("/")
        place.api.delete(paths.pod(space, name), {"gracePeriodSeconds": 0})

    return [Act(phase("Running"), delete)]


def refused_at_first(place: Place) -> list[Act]:
    """Create the service account of the pods only after the API server has refused a pod."""

    def create_account(served: ServedJob, found: Found) -> None:
        accounts = f"/api/v1/namespaces/{place.namespace}/serviceaccounts"
        place.api.post(accounts, {"metadata": {"name": found.job["metadata"]["name"]}})
        served.leap(2000)

    return [Act(lambda found: found.row("worker-0").get("state") == "CreateFailed", create_account)]


def node_lost(place: Place) -> list[Act]:
    """Silence the node of worker-0 for longer than the operator waits for lost nodes."""

    def lose(served: ServedJob, found: Found) -> None:
        node = found.row("worker-0")["node"]
        place.api.patch(f"/api/v1/nodes/{node}", {"spec": {"unschedulable": True}})
        place.kubelet.not_ready(node)
        place.kubelet.unready(found.pod("worker-0"))
        served.leap(2000)

    return [Act(phase("Running"), lose)]


def suspends(when: str, *, holds: bool) -> Callable[[Place], list[Act]]:
    """Return the acts of a user who sets spec.suspend when the job is in this phase."""

    def acts(place: Place) -> list[Act]:
        def change(served: ServedJob, _: Found) -> None:
            place.api.patch(paths.job(*served.key), {"spec": {"suspend": holds}})

        return [Act(phase(when), change)]

    return acts


def scales(workers: int) -> Callable[[Place], list[Act]]:
    """Return the act of a user who changes the number of workers when the job runs."""

    def acts(place: Place) -> list[Act]:
        def change(served: ServedJob, _: Found) -> None:
            spec = {"replicaSpecs": {"worker": {"replicas": workers}}}
            place.api.patch(paths.job(*served.key), {"spec": spec})

        return [Act(phase("Running"), change)]

    return acts


def waits(*seconds: float) -> Callable[[Place], list[Act]]:
    """Return acts in which only time passes, each when the operator has done its work."""
    return lambda _: [
        Act(phase("Running"), lambda served, __, ahead=ahead: served.leap(ahead))
        for ahead in seconds
    ]


def with_workers(workers: int) -> Callable[[Found], bool]:
    """Return a condition: the job runs with exactly these workers and their pods."""

    def holds(found: Found) -> bool:
        counted = found.status.get("replicaStatuses", {}).get("worker", {})
        pods = len(found.pods) == workers + 1
        return phase("Running")(found) and counted.get("running") == workers and pods

    return holds


def suspended(found: Found) -> bool:
    held = condition(found.status, "Suspended")
    return held.get("status") == "True" and not found.pods


def deleted(found: Found) -> bool:
    return found.is_gone and not found.pods


def deleted_at_its_end(name: str) -> Json:
    return job(name, run_policy={"ttlSecondsAfterFinished": 0}, worker=replica())


def created_suspended(name: str) -> Json:
    manifest = job(name, ps=replica(), worker=replica())
    return {**manifest, "spec": {**manifest["spec"], "suspend": True}}


def a_job(**fields: Any) -> Callable[[str], Json]:
    """Return a function that takes a name and returns the manifest of a job of one ps and one
    worker. The replica type of the worker has these fields.
    """
    return lambda name: job(name, ps=replica(), worker=replica(**fields))


def encrypted(name: str) -> Json:
    manifest = job(name, worker=replica())
    return {**manifest, "spec": {**manifest["spec"], "cluster": {"tls": {"mode": "Mutual"}}}}


def with_account(name: str) -> Json:
    worker = replica(pod={"serviceAccountName": name})
    return job(name, run_policy=LONG, worker=worker)


def misspelt(name: str) -> Json:
    trainer = {"name": "trainer", "image": "capstan/digits:dev", "comand": ["train"]}
    return job(name, worker=replica(containers=[trainer]))


def on_two_nodes(name: str) -> Json:
    """Return a job whose worker runs only on two nodes that no other job uses."""
    hosts = {"key": "kubernetes.io/hostname", "operator": "In", "values": pair(name)}
    terms = {"nodeSelectorTerms": [{"matchExpressions": [hosts]}]}
    affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}
    return job(name, worker=replica(pod={"affinity": affinity}))


def pair(name: str) -> list[str]:
    return [f"{name}-a", f"{name}-b"]


def no_acts(_: Place) -> list[Act]:
    return []


SCRIPTS = {
    "the start": Script(a_job(), no_acts, phase("Running"), from_nothing=True),
    "a failed worker": Script(a_job(), exits("worker-0", 1), running("worker-0", 2)),
    "a worker out of memory": Script(a_job(), oom, running("worker-0", 2)),
    "a deleted pod": Script(a_job(), vanishes, running("worker-0", 2)),
    "a failed ps": Script(a_job(), exits("ps-0", 1), running("ps-0", 2)),
    "a restart of the job": Script(
        a_job(onFailure="RestartJob"),
        exits("worker-0", 1),
        lambda found: running("ps-0", 2)(found) and running("worker-0", 2)(found),
    ),
    "success": Script(a_job(), exits("worker-0", 0), over("Succeeded", "Stopped", "Succeeded")),
    "the deletion of a finished job": Script(deleted_at_its_end, exits("worker-0", 0), deleted),
    "failure": Script(
        a_job(restartPolicy="ExitCode"), exits("worker-0", 1), over("Failed", "Stopped", "Failed")
    ),
    "more workers": Script(a_job(), scales(3), with_workers(3)),
    "fewer workers": Script(
        lambda name: job(name, ps=replica(), worker=replica(3)), scales(1), with_workers(1)
    ),
    "a suspension": Script(a_job(), suspends("Running", holds=True), suspended),
    "a continuation": Script(
        created_suspended, suspends("Suspended", holds=False), running("worker-0", 1)
    ),
    "a refused pod": Script(with_account, refused_at_first, running("worker-0", 2), True),
    "an invalid template": Script(misspelt, no_acts, phase("Invalid"), from_nothing=True),
    "the start of an encrypted job": Script(encrypted, no_acts, phase("Running"), True),
    "a certificate that ends": Script(encrypted, waits(21 * DAY), phase("Running")),
    "an authority that ends": Script(
        encrypted, waits(244 * DAY, DAY / 12, DAY / 12), phase("Running")
    ),
    "a lost node": Script(on_two_nodes, node_lost, running("worker-0", 2)),
}


@pytest.mark.parametrize("title", SCRIPTS)
def test_a_job_ends_in_the_same_way_wherever_its_operator_dies(
    title: str, cluster: Cluster, kubelet: Kubelet, namespace: str
) -> None:
    with contextlib.ExitStack() as stack:
        if title == "a lost node":
            kubelet = stack.enter_context(nodes_in_pairs(cluster))
        asyncio.run(cut_everywhere(Place(cluster, kubelet, namespace), SCRIPTS[title]))


@contextlib.contextmanager
def nodes_in_pairs(cluster: Cluster) -> Iterator[Kubelet]:
    """Run a kubelet with two nodes for each possible job: one to lose, and another one."""
    numbers = range(1, MOST_CALLS + 1)
    jobs = ["uncut", *(str(Cut(number, side)) for number in numbers for side in Side)]
    kubelet = Kubelet(cluster.api, 0)
    kubelet.nodes = [node for name in jobs for node in pair(name)]
    try:
        kubelet.start()
        yield kubelet
    finally:
        kubelet.close()
        # The scheduler would choose these nodes for pods of later tests.
        for node in list(kubelet.nodes):
            kubelet.leave(node)


async def cut_everywhere(place: Place, script: Script) -> None:
    """Let the operator die at call 1, at call 2, and so on, until it ends the script before this
    call. Each cut has a job of its own.
    """
    async with await Rest.connect(str(place.cluster.kubeconfig)) as rest:
        stage = Stage(place, rest, script)
        async with stage.watched():
            uncut = await stage.play("uncut", None)
            assert uncut.calls, "the operator made no call in this script"
            # The first cut that no operator reaches is tried together with the others.
            last = len(uncut.calls) + 1
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
    """The end of a job, the calls of its first operator, and whether that operator died."""

    ending: Ending
    calls: list[str]
    was_cut: bool


class Stage:
    """Runs one script with several jobs at once."""

    def __init__(self, place: Place, rest: Rest, script: Script) -> None:
        self._place = place
        self._rest = rest
        self._script = script
        self._turns = asyncio.Semaphore(AT_ONCE)
        self._jobs: set[ServedJob] = set()

    @contextlib.asynccontextmanager
    async def watched(self) -> Any:
        """Give each job the current state of its objects, again and again, while the block runs."""
        watching = asyncio.create_task(watch(self._rest, self._place.namespace, self._jobs))
        yield
        watching.cancel()

    async def compare(self, cut: Cut, uncut: Played) -> bool:
        """Run the script with this cut. Assert that the job ends as in `uncut`. Return whether the
        operator made the call of the cut.
        """
        async with self._turns:
            played = await self.play(str(cut), cut)
        played.ending.assert_like(uncut.ending, cut)
        return played.was_cut

    async def play(self, name: str, cut: Cut | None) -> Played:
        """Run the script with a job of this name. At the cut another operator takes over."""
        script, space = self._script, self._place.namespace
        await self._rest.create(paths.jobs(space), script.manifest(name))
        client = CuttableClient(self._rest, cut)
        client.armed = script.from_nothing
        served = ServedJob(self._rest, Key(space, name), script.acts(self._place), script.goal)
        served.on_act = lambda: setattr(client, "armed", True)
        self._jobs.add(served)
        was_cut = False
        try:
            try:
                found = await served.serve(client)
            except Dead:
                was_cut = True
                found = await served.serve(self._rest)
            return Played(await self._ending(served, found), client.calls, was_cut)
        finally:
            self._jobs.discard(served)

    async def _ending(self, served: ServedJob, found: Found) -> Ending:
        """Return the end of the job, and delete the job. Of a job that the operator has deleted,
        only the events are left.
        """
        space, name = served.key
        if found.is_gone:
            events = await self._rest.list(paths.events(space))
            identity = {"metadata": found.job["metadata"]}
            return Ending.of(identity, (), None, events.items)
        try:
            service = await self._rest.get(paths.service(space, name))
        except NotFound:
            service = None
        events = await self._rest.list(paths.events(space))
        kept = None
        if found.job["spec"]["cluster"]["tls"]["mode"] == "Mutual":
            secrets = await self._rest.list(paths.secrets(space))
            kept = certificates.summary(found.job, secrets.items, served.now())
        await self._rest.delete(paths.job(space, name), uid=found.job["metadata"]["uid"])
        return Ending.of(found.job, found.pods, service, events.items, kept)
