"""Jobs come to the same end whatever happens between the operator and its API server."""

import functools
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pytest

from testbed import wait
from testbed.control import Cluster
from testbed.effort import Effort
from testbed.fates import suffer
from testbed.faults import WRITES, Fault
from testbed.operator import Operator
from testbed.podwatch import PodWatch
from testbed.proxy import Proxy
from testbed.scene import Scene, Scenes, side_by_side
from testbed.story import Story, job, replica, row

pytestmark = pytest.mark.timeout(900)

Json = dict[str, Any]

AT_ONCE = 6
"""Storms that rage side by side: most of their time is the pauses that the operators make."""

PATIENCE_SECONDS = 270.0
"""How long a job may take to its end: several storms rage at once on a machine that may be busy."""
MANY = 36
"""Faults of requests of every kind that include some of each job's, and that the jobs cannot avoid
on the way to their ends."""

WATCHES = frozenset({"watch"})
PODS = frozenset({"pods"})
STATUS = frozenset({"trainingjobs/status"})
STATUS_WRITES = frozenset({"patch"})


@dataclass(frozen=True)
class Storm:
    """A fault that lasts until so many requests have had it, and so many processes of the operator
    have ended.
    """

    fault: Fault
    requests: int = 20
    """Enough for each to be made again and again."""
    ends: int = 0
    lease_seconds: int = 30
    """Longer than a storm, so that a busy machine does not end the operator."""
    afterwards: Callable[[Operator], None] = lambda operator: None
    """What else must hold of the operator."""


def counts_each_thing_once(operator: Operator) -> None:
    """See that what has happened to the jobs is in the metrics, once."""
    expected = {
        'capstan_jobs_finished_total{phase="Succeeded"}': 3,
        'capstan_jobs_finished_total{phase="Failed"}': 1,
        'capstan_job_restarts_total{limit="application"}': 4,
        'capstan_job_restarts_total{limit="infrastructure"}': 4,
        'capstan_jobs{phase="Succeeded"}': 3,
        'capstan_jobs{phase="Failed"}': 1,
        'capstan_jobs{phase="Running"}': 0,
        "capstan_queue_depth": 0,
        "capstan_leader": 1,
    }

    def told() -> dict[str, float | None]:
        samples = operator.metrics()
        return {name: samples.get(name) for name in expected}

    # Each pod that is stopped and goes brings one more pass.
    wait.until(lambda: told() == expected, else_show=lambda: f"{told()}, and not {expected}")
    seen = operator.metrics()
    restarts = [value for name, value in seen.items() if "capstan_task_restarts_total" in name]
    assert sum(restarts) == 8
    refused = 'capstan_api_errors_total{code="409",resource="trainingjobs/status",'
    assert any(value for name, value in seen.items() if name.startswith(refused))
    names = {name.partition("{")[0] for name in seen}
    assert names >= {
        "capstan_job_time_to_running_seconds_count",
        "capstan_queue_oldest_seconds",
        "capstan_reconcile_seconds_count",
        "capstan_resync_repaired_total",
        "capstan_task_recovery_seconds_count",
    }


STORMS = {
    "refusals": {
        "errors 500, half of all": Storm(Fault(status=500, chance=0.5), requests=MANY),
        "errors 503, all": Storm(Fault(status=503), requests=12),
        "errors 504, a third of all": Storm(Fault(status=504, chance=0.3), requests=MANY),
        "too many requests, all": Storm(Fault(status=429, retry_after=2), requests=8),
        "too many requests, half, no time named": Storm(
            Fault(status=429, chance=0.5), requests=MANY
        ),
        "conflicts for every status": Storm(Fault(STATUS_WRITES, STATUS, status=409)),
        "conflicts for half of the statuses": Storm(
            Fault(STATUS_WRITES, STATUS, 0.5, status=409), afterwards=counts_each_thing_once
        ),
    },
    "connections": {
        "all slow": Storm(Fault(delay=0.4), requests=60),
        "connections break before, half": Storm(Fault(drop="before", chance=0.5), requests=MANY),
        "connections break after, half": Storm(Fault(drop="after", chance=0.5), requests=MANY),
        "connections break after every write": Storm(Fault(WRITES, drop="after", chance=0.8)),
        # The watches hang, and so does the renewal of the Lease.
        "everything hangs": Storm(Fault(hole=True), requests=4, ends=1, lease_seconds=6),
        "watches too old": Storm(Fault(WATCHES, gone=True), requests=21),
        "watches end at once": Storm(Fault(WATCHES, cut=0.0), requests=21),
        "watches end soon": Storm(Fault(WATCHES, cut=0.5), requests=21),
        # There are three: of jobs, of pods and of Services.
        "watches hang": Storm(Fault(WATCHES, hole=True), requests=3),
    },
}
"""By the test that lets them rage side by side."""

FATES: dict[str, Sequence[str]] = {
    "fails-ps-0": ("killed",),
    "fails-worker-1": ("error", "oom", "evicted", "deleted"),
    "hopeless-worker-0": ("error", "error"),
    "deleted-worker-0": ("deleted", "deleted"),
}
"""How the first attempts of a task end; later ones run on."""

ENDS = {
    "calm": ("Succeeded", 0, 0, 1, {}),
    "fails": ("Succeeded", 3, 2, 2, {"ps-0": 2, "worker-1": 5}),
    "hopeless": ("Failed", 1, 0, 1, {"worker-0": 2}),
    "deleted": ("Succeeded", 0, 2, 1, {"worker-0": 3}),
}
"""Of each job: phase, restarts (application, infrastructure), epoch, attempts other than 1."""


def raise_curtain(scene: Scene, *flags: str) -> Story:
    """Start the operator of a scene, and arrange the fates of the pods to come."""
    operator = scene.start("--verbose", *flags)
    operator.wait_ready()
    story = scene.story(operator)
    for task, fates in FATES.items():
        start = functools.partial(begin, story, fates=fates)
        scene.kubelet.at_start(f"{scene.namespace}/{task}", start)
    return story


def begin(story: Story, pod: Json, fates: Sequence[str]) -> None:
    """Start a pod, or let it fail as this attempt must."""
    attempt = int(pod["metadata"]["labels"]["capstan.dev/attempt"])
    fate = fates[attempt - 1] if attempt <= len(fates) else ""
    if fate in ("", "deleted"):
        story.kubelet.run(pod)
    if fate:
        suffer(story, pod, fate)


def submit_all(story: Story) -> None:
    for name in ENDS:
        limit = {"backoffLimit": 1} if name == "hopeless" else {}
        kinds = {"ps": replica(1)} if name != "deleted" else {}
        policy = {"restartBackoff": {"initialSeconds": 0.2, "factor": 1}, **limit}
        story.submit(job(name, run_policy=policy, **kinds, worker=replica(2)))


def outcome(status: Json) -> tuple[Any, ...]:
    restarts = status.get("restarts", {})
    attempts = {
        task["name"]: task["attempt"] for task in status.get("tasks", ()) if task["attempt"] > 1
    }
    return (
        status.get("phase"),
        restarts.get("application", 0),
        restarts.get("infrastructure", 0),
        status.get("epoch"),
        attempts,
    )


def come_to_their_ends(story: Story) -> None:
    """Let worker-0 of each job succeed after everything else has happened; see that all is as it
    must be.
    """
    for name, end in ENDS.items():
        if end[0] == "Succeeded":
            before = ("Running", *end[1:])
            story.until(lambda status, seen=before: outcome(status) == seen, name, PATIENCE_SECONDS)
            story.kubelet.exit(story.pod_key("worker-0", name), 0)
    for name, end in ENDS.items():
        status = story.until(
            lambda status: status["phase"] in ("Succeeded", "Failed"), name, PATIENCE_SECONDS
        )
        assert outcome(status) == end, name
        assert story.find_service(name) is not None
    wait.until(lambda: all(is_over(pod) for pod in story.pods().values()), PATIENCE_SECONDS)
    assert "worker-0 attempt 2" in story.status("hopeless")["failure"]
    # The last attempt of each task that has ended by itself is kept; pods that ran are gone.
    for pod in story.pods().values():
        labels = pod["metadata"]["labels"]
        task = f"{labels['capstan.dev/replica-type']}-{labels['capstan.dev/replica-index']}"
        shown = row(story.status(labels["capstan.dev/job-name"]), task)
        assert int(labels["capstan.dev/attempt"]) == shown["attempt"]


def is_over(pod: Json) -> bool:
    return pod["status"]["phase"] in ("Succeeded", "Failed")


def rage(scenes: Scenes, storm: Storm) -> None:
    """Submit jobs in the storm; see that the operator pauses in it, and that they come to their
    ends afterwards.
    """
    # Each play has a fault of its own: it counts.
    fault = replace(storm.fault)
    with scenes.open() as scene:
        story = raise_curtain(scene, f"--lease-duration={storm.lease_seconds}")
        between, watch = scene.proxies[0], PodWatch(scene.cluster, scene.namespace)
        lives = scene.keep(story.operator)
        with watch:
            with between.fault(fault):
                began, logged = time.monotonic(), story.operator.log_bytes()
                between.cut_watches()
                submit_all(story)
                wait.until(lambda: between.faults_done() >= storm.requests, PATIENCE_SECONDS)
                wait.until(lambda: len(lives.ended) >= storm.ends, PATIENCE_SECONDS)
                effort = Effort(
                    time.monotonic() - began,
                    len(lives.ended) + 1,
                    storm.lease_seconds,
                    [asked for asked in list(between.asked) if asked.at >= began],
                    changes(between, watch),
                    story.operator.log.read_bytes()[logged:].decode(),
                )
            come_to_their_ends(story)
        assert not effort.excess(), "\n".join(effort.excess())
        assert set(lives.ended) <= {1}
        assert watch.wrong == []
        storm.afterwards(story.operator)


def changes(between: Proxy, watch: PodWatch) -> int:
    """How often a job, a Service or a pod has been made or changed."""
    written = [
        asked
        for asked in list(between.asked)
        if asked.verb in WRITES and asked.resource != "leases" and asked.forwarded
    ]
    return len(ENDS) + len(written) + watch.changes


@pytest.mark.parametrize("storms", STORMS)
def test_jobs_come_to_the_same_end_in_every_storm(storms: str, scenes: Scenes) -> None:
    rages: Mapping[str, Callable[[], None]] = {
        name: functools.partial(rage, scenes, storm) for name, storm in STORMS[storms].items()
    }
    side_by_side(rages, AT_ONCE)


def test_a_pod_that_vanished_while_no_watch_worked_is_missed(scenes: Scenes) -> None:
    """kopf lists again and finds no pod at all, and tells no handler of that."""
    with scenes.open() as scene:
        story = raise_curtain(scene)
        between = scene.proxies[0]
        story.started(job("alone", worker=replica(1)))
        with between.fault(Fault(WATCHES, PODS, gone=True)):
            with between.fault(Fault(WATCHES, PODS, hole=True)):
                pod = story.pod("worker-0", "alone")
                path = f"/api/v1/namespaces/{story.namespace}/pods/alone-worker-0"
                story.cluster.api.delete(path, {"gracePeriodSeconds": 0})
                between.cut_watches()
            story.until(lambda status: row(status, "worker-0")["attempt"] == 2, "alone")
        status = story.until(lambda status: status["phase"] == "Running", "alone")
        assert outcome(status) == ("Running", 0, 1, 1, {"worker-0": 2})
        assert row(status, "worker-0")["reason"] in ("Lost", "Deleted")
        assert row(status, "worker-0")["uid"] != pod["metadata"]["uid"]


@pytest.mark.parametrize(
    "outage, looks", [(Cluster.stop_api_server, 4), (Cluster.freeze_api_server, 1)]
)
def test_jobs_outlive_an_api_server_that_is_away_for_longer_than_a_lease(
    outage: Callable[[Cluster], None], looks: int, scenes: Scenes
) -> None:
    """The operator loses its Lease and ends. The process after it waits for the API server, and
    does not end: it looks for it every two seconds, or in one long request.
    """
    with scenes.open() as scene:
        story = raise_curtain(scene, "--lease-duration=6")
        lives, between = scene.keep(story.operator), scene.proxies[0]
        submit_all(story)
        scene.ending.callback(scene.cluster.recover)
        outage(scene.cluster)
        wait.until(lambda: lives.ended, else_show=story.operator.tail)
        before = looks_for_kinds(between)
        wait.until(
            lambda: looks_for_kinds(between) >= before + looks, else_show=story.operator.tail
        )
        assert lives.ended == [1]
        scene.cluster.recover()
        come_to_their_ends(story)
        assert set(lives.ended) == {1}


def looks_for_kinds(between: Proxy) -> int:
    """How often an operator has asked whether there are TrainingJobs."""
    return sum(asked.path.endswith("/capstan.dev/v1alpha1") for asked in list(between.asked))


def test_what_the_server_has_forgotten_is_listed_again(scenes: Scenes) -> None:
    """The API server comes back with no memory of versions: 410, as after long trouble."""
    with scenes.open() as scene:
        cluster = scene.cluster
        story = raise_curtain(scene)
        lives, between = scene.keep(story.operator), scene.proxies[0]
        scene.ending.callback(cluster.recover)
        story.started(job("calm"))
        with between.fault(Fault(hole=True)):
            cluster.stop_api_server()
            cluster.start_api_server()
            path = f"/api/v1/namespaces/{story.namespace}/pods/calm-worker-1"
            cluster.api.delete(path, {"gracePeriodSeconds": 0})
            cluster.compact()
            cluster.stop_api_server()
            cluster.start_api_server()
            between.cut_watches()

        def runs_again() -> bool:
            # The scheduler ends when it finds that it has missed a pod's move to another node.
            cluster.recover()
            return outcome(story.status("calm")) == ("Running", 0, 1, 1, {"worker-1": 2})

        wait.until(runs_again, PATIENCE_SECONDS, else_show=lambda: story.status("calm"))
        assert row(story.status("calm"), "worker-1")["state"] == "Running"
        assert set(lives.ended) <= {1}
