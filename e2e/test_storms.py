"""Faults between the operator and its API server do not change how jobs end."""

import functools
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pytest

from testbed import wait
from testbed.control import Cluster
from testbed.effort import Effort
from testbed.fates import fail_pod
from testbed.faults import WRITES, Fault
from testbed.operator import LONG_LEASE, Operator
from testbed.podwatch import PodWatch
from testbed.proxy import Proxy
from testbed.scene import Scene, Scenes, side_by_side
from testbed.story import Story, job, replica, row

pytestmark = pytest.mark.timeout(900)

Json = dict[str, Any]

AT_ONCE = 9
"""The number of storms that run in parallel, at least that of each group. The operators spend most
of a storm in pauses."""

PATIENCE_SECONDS = 270.0
"""How long a job may take to end. Several storms run at once, and the machine may be busy."""
MANY = 36
"""A number of faulty requests that is large enough to include requests of each job, and small
enough that the operator makes this many requests before the jobs end."""

WATCHES = frozenset({"watch"})
PODS = frozenset({"pods"})
STATUS = frozenset({"trainingjobs/status"})
STATUS_WRITES = frozenset({"patch"})


@dataclass(frozen=True)
class Storm:
    """A fault that lasts until the proxy has injected it into `requests` requests and `ends`
    processes of the operator have ended. With `requests` 0, it lasts until the jobs have settled:
    an operator that has no status to write any more makes no request that could fail.
    """

    fault: Fault
    requests: int = 20
    """The default is enough for the operator to repeat each request several times."""
    ends: int = 0
    lease_seconds: int = 60
    """The default is longer than a storm. A busy machine therefore does not end the operator."""
    afterwards: Callable[[Operator], None] = lambda operator: None
    """Further assertions about the operator, called when the jobs have ended."""


def assert_counted_once(operator: Operator) -> None:
    """Assert that the metrics count each end and each restart of the jobs once."""
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

    def shown() -> dict[str, float | None]:
        samples = operator.metrics()
        return {name: samples.get(name) for name in expected}

    # The operator may still reconcile: each stopped pod that disappears causes one more pass.
    wait.until(lambda: shown() == expected, else_show=lambda: f"{shown()}; expected {expected}")
    samples = operator.metrics()
    restarts = [value for name, value in samples.items() if "capstan_task_restarts_total" in name]
    assert sum(restarts) == 8
    conflicts = 'capstan_api_errors_total{code="409",resource="trainingjobs/status",'
    assert any(value for name, value in samples.items() if name.startswith(conflicts))
    names = {name.partition("{")[0] for name in samples}
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
        "too many requests, half, without Retry-After": Storm(
            Fault(status=429, chance=0.5), requests=MANY
        ),
        "conflicts for every status": Storm(Fault(STATUS_WRITES, STATUS, status=409)),
        "conflicts for half of the statuses": Storm(
            Fault(STATUS_WRITES, STATUS, 0.5, status=409),
            requests=0,
            afterwards=assert_counted_once,
        ),
    },
    "connections": {
        "all slow": Storm(Fault(delay=0.4), requests=60),
        "connections break before half of the requests": Storm(
            Fault(drop="before", chance=0.5), requests=MANY
        ),
        "connections break after half of the requests": Storm(
            Fault(drop="after", chance=0.5), requests=MANY
        ),
        "connections break after most writes": Storm(Fault(WRITES, drop="after", chance=0.8)),
        # The watches hang, and the renewal of the Lease hangs too.
        "everything hangs": Storm(Fault(hole=True), requests=4, ends=1, lease_seconds=6),
        "watches too old": Storm(Fault(WATCHES, gone=True), requests=21),
        "watches end at once": Storm(Fault(WATCHES, cut=0.0), requests=21),
        "watches end soon": Storm(Fault(WATCHES, cut=0.5), requests=21),
        # The operator has three watches: of jobs, of pods and of Services.
        "watches hang": Storm(Fault(WATCHES, hole=True), requests=3),
    },
}
"""All storms, grouped by the test that runs them in parallel."""

FATES: dict[str, Sequence[str]] = {
    "fails-ps-0": ("killed",),
    "fails-worker-1": ("error", "oom", "evicted", "deleted"),
    "hopeless-worker-0": ("error", "error"),
    "deleted-worker-0": ("deleted", "deleted"),
}
"""How the first attempts of a task end, by the name of the task's pods. Later attempts keep
running."""

ENDS = {
    "calm": ("Succeeded", 0, 0, 1, {}),
    "fails": ("Succeeded", 3, 2, 2, {"ps-0": 2, "worker-1": 5}),
    "hopeless": ("Failed", 1, 0, 1, {"worker-0": 2}),
    "deleted": ("Succeeded", 0, 2, 1, {"worker-0": 3}),
}
"""The `outcome` of each job."""


def start_story(scene: Scene, *flags: str) -> Story:
    """Start the operator of a scene, and arrange the fates of the pods of `FATES`."""
    operator = scene.start("--verbose", *flags)
    operator.wait_ready()
    story = scene.story(operator)
    for task, fates in FATES.items():
        start = functools.partial(start_pod, story, fates=fates)
        scene.kubelet.at_start(f"{scene.namespace}/{task}", start)
    return story


def start_pod(story: Story, pod: Json, fates: Sequence[str]) -> None:
    """Start a pod if its attempt runs, and let it fail if its attempt has a fate."""
    attempt = int(pod["metadata"]["labels"]["capstan.dev/attempt"])
    fate = fates[attempt - 1] if attempt <= len(fates) else ""
    if fate in ("", "deleted"):
        story.kubelet.run(pod)
    if fate:
        fail_pod(story, pod, fate)


def submit_all(story: Story) -> None:
    for name in ENDS:
        limit = {"backoffLimit": 1} if name == "hopeless" else {}
        kinds = {"ps": replica(1)} if name != "deleted" else {}
        policy = {"restartBackoff": {"initialSeconds": 0.2, "factor": 1}, **limit}
        story.submit(job(name, run_policy=policy, **kinds, worker=replica(2)))


def outcome(status: Json) -> tuple[Any, ...]:
    """Return a job's phase, its restarts (application, infrastructure), its epoch, and the attempt
    of each task whose attempt is not 1.
    """
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


def settled(name: str) -> tuple[Any, ...]:
    """Return the `outcome` of a job after its restarts, before a task succeeds."""
    phase, *counts = ENDS[name]
    return ("Running" if phase == "Succeeded" else phase, *counts)


def have_settled(story: Story) -> bool:
    return all(outcome(story.status(name)) == settled(name) for name in ENDS)


def finish_jobs(story: Story) -> None:
    """Let worker-0 of each job succeed after all restarts of the job, and assert that each job ends
    as `ENDS` says and leaves the right objects.
    """
    for name, expected in ENDS.items():
        if expected[0] == "Succeeded":
            story.until(
                lambda status, job_name=name: outcome(status) == settled(job_name),
                name,
                PATIENCE_SECONDS,
            )
            story.kubelet.exit(story.pod_key("worker-0", name), 0)
    for name, expected in ENDS.items():
        status = story.until(
            lambda status: status["phase"] in ("Succeeded", "Failed"), name, PATIENCE_SECONDS
        )
        assert outcome(status) == expected, name
        assert story.find_service(name) is not None
    wait.until(lambda: all(has_ended(pod) for pod in story.pods().values()), PATIENCE_SECONDS)
    assert "worker-0 attempt 2" in story.status("hopeless")["failure"]
    # The operator keeps the last attempt of a task that ended by itself, and deletes running pods.
    for pod in story.pods().values():
        labels = pod["metadata"]["labels"]
        task = f"{labels['capstan.dev/replica-type']}-{labels['capstan.dev/replica-index']}"
        last = row(story.status(labels["capstan.dev/job-name"]), task)["attempt"]
        assert int(labels["capstan.dev/attempt"]) == last


def has_ended(pod: Json) -> bool:
    return pod["status"]["phase"] in ("Succeeded", "Failed")


def run_storm(scenes: Scenes, storm: Storm) -> None:
    """Submit jobs during the storm. Assert that the operator pauses between its requests during the
    storm, and that the jobs have the outcomes of `ENDS` after the storm.
    """
    # A Fault counts the requests that it skips. Each run therefore has its own Fault.
    fault = replace(storm.fault)
    with scenes.open() as scene:
        story = start_story(scene, f"--lease-duration={storm.lease_seconds}")
        proxy, watch = scene.proxies[0], PodWatch(scene.cluster, scene.namespace)
        lives = scene.keep(story.operator)
        with watch:
            with proxy.fault(fault):
                began, logged = time.monotonic(), story.operator.log_bytes()
                proxy.cut_watches()
                submit_all(story)
                wait.until(
                    lambda: (
                        proxy.faults_done() >= storm.requests
                        and (storm.requests or have_settled(story))
                    ),
                    PATIENCE_SECONDS,
                    else_show=lambda: f"{proxy.faults_done()} faulty requests",
                )
                assert proxy.faults_done()
                wait.until(lambda: len(lives.ended) >= storm.ends, PATIENCE_SECONDS)
                effort = Effort(
                    time.monotonic() - began,
                    len(lives.ended) + 1,
                    storm.lease_seconds,
                    [request for request in list(proxy.requests) if request.at >= began],
                    count_changes(proxy, watch),
                    story.operator.log.read_bytes()[logged:].decode(errors="replace"),
                )
            finish_jobs(story)
        assert not effort.excess(), "\n".join(effort.excess())
        assert set(lives.ended) <= {1}
        assert watch.faults == []
        storm.afterwards(story.operator)


def count_changes(proxy: Proxy, watch: PodWatch) -> int:
    """Return how often a job, a Service or a pod was created or changed."""
    writes = [
        request
        for request in list(proxy.requests)
        if request.verb in WRITES and request.resource != "leases" and request.forwarded
    ]
    return len(ENDS) + len(writes) + watch.changes


@pytest.mark.parametrize("storms", STORMS)
def test_jobs_end_in_the_same_way_in_every_storm(storms: str, scenes: Scenes) -> None:
    runs: Mapping[str, Callable[[], None]] = {
        name: functools.partial(run_storm, scenes, storm) for name, storm in STORMS[storms].items()
    }
    side_by_side(runs, AT_ONCE)


def test_a_pod_that_was_deleted_while_no_watch_worked_is_replaced(scenes: Scenes) -> None:
    """kopf lists again, finds no pod at all, and calls no handler for the deleted pod."""
    with scenes.open() as scene:
        story = start_story(scene, LONG_LEASE)
        proxy = scene.proxies[0]
        story.started(job("alone", worker=replica(1)))
        with proxy.fault(Fault(WATCHES, PODS, gone=True)):
            with proxy.fault(Fault(WATCHES, PODS, hole=True)):
                pod = story.pod("worker-0", "alone")
                path = f"/api/v1/namespaces/{story.namespace}/pods/alone-worker-0"
                story.cluster.api.delete(path, {"gracePeriodSeconds": 0})
                proxy.cut_watches()
            story.until(lambda status: row(status, "worker-0")["attempt"] == 2, "alone")
        status = story.until(lambda status: status["phase"] == "Running", "alone")
        assert outcome(status) == ("Running", 0, 1, 1, {"worker-0": 2})
        assert row(status, "worker-0")["reason"] in ("Lost", "Deleted")
        assert row(status, "worker-0")["uid"] != pod["metadata"]["uid"]


@pytest.mark.parametrize(
    "outage, looks", [(Cluster.stop_api_server, 4), (Cluster.freeze_api_server, 1)]
)
def test_jobs_survive_an_outage_of_the_api_server_that_is_longer_than_the_lease(
    outage: Callable[[Cluster], None], looks: int, scenes: Scenes
) -> None:
    """The operator loses its Lease and exits. The next process waits for the API server and does
    not exit. If the API server is stopped, the process sends a request every two seconds. If the
    API server is frozen, the process waits for the answer to one long request.
    """
    with scenes.open() as scene:
        story = start_story(scene, "--lease-duration=6")
        lives, proxy = scene.keep(story.operator), scene.proxies[0]
        submit_all(story)
        # On a busy machine, the operator may have lost its short Lease before the outage.
        wait.until(story.operator.leads, else_show=story.operator.tail)
        ended = len(lives.ended)
        scene.ending.callback(scene.cluster.recover)
        outage(scene.cluster)
        wait.until(lambda: len(lives.ended) > ended, else_show=story.operator.tail)
        before = count_looks(proxy)
        wait.until(lambda: count_looks(proxy) >= before + looks, else_show=story.operator.tail)
        assert len(lives.ended) == ended + 1

        def settle() -> bool:
            # The scheduler may exit when it lists all pods again and has missed some changes.
            scene.cluster.recover()
            return have_settled(story)

        wait.until(settle, PATIENCE_SECONDS, else_show=story.operator.tail)
        finish_jobs(story)
        assert set(lives.ended) == {1}


def count_looks(proxy: Proxy) -> int:
    """Return how often the operator asked whether the API server knows TrainingJobs."""
    paths = [request.path for request in list(proxy.requests)]
    return sum(path.endswith("/capstan.dev/v1alpha1") for path in paths)


def test_the_operator_lists_again_when_the_api_server_has_lost_its_history(scenes: Scenes) -> None:
    """The API server answers watches of old versions with 410, as after a long outage."""
    with scenes.open() as scene:
        cluster = scene.cluster
        story = start_story(scene)
        lives, proxy = scene.keep(story.operator), scene.proxies[0]
        scene.ending.callback(cluster.recover)
        story.started(job("calm"))
        with proxy.fault(Fault(hole=True)):
            cluster.stop_api_server()
            cluster.start_api_server()
            path = f"/api/v1/namespaces/{story.namespace}/pods/calm-worker-1"
            cluster.api.delete(path, {"gracePeriodSeconds": 0})
            cluster.compact()
            cluster.stop_api_server()
            cluster.start_api_server()
            proxy.cut_watches()

        def runs_again() -> bool:
            # The scheduler exits when it finds that it missed a pod's move to another node.
            cluster.recover()
            return outcome(story.status("calm")) == ("Running", 0, 1, 1, {"worker-1": 2})

        wait.until(runs_again, PATIENCE_SECONDS, else_show=lambda: story.status("calm"))
        assert row(story.status("calm"), "worker-1")["state"] == "Running"
        assert set(lives.ended) <= {1}
