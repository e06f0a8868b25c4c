"""Whatever happens between the operator and its API server, jobs come to the same end."""

import contextlib
import pathlib
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import psutil
import pytest

from testbed import proxy
from testbed.control import Cluster
from testbed.fates import suffer
from testbed.faults import WRITES, Fault
from testbed.keeper import kept
from testbed.kubelet import Kubelet
from testbed.operator import Operator
from testbed.podwatch import PodWatch
from testbed.proxy import Proxy
from testbed.story import PATIENCE_SECONDS, Story, job, replica, row

Json = dict[str, Any]
Start = Callable[..., Operator]

SECONDS = 6.0
"""How long a storm lasts."""
MOST_A_SECOND = 40.0
"""Requests, all of them: watches, comparisons, the Lease, and passes over four jobs. A loop without
a pause makes several hundred."""
MOST_OF_A_CORE = 0.6

WATCHES = frozenset({"watch"})
STATUS = frozenset({"trainingjobs/status"})
STATUS_WRITES = frozenset({"patch"})

STORMS = {
    "errors 500, half of all": Fault(status=500, chance=0.5),
    "errors 503, all": Fault(status=503),
    "errors 504, a third of all": Fault(status=504, chance=0.3),
    "too many requests, all": Fault(status=429, retry_after=2),
    "too many requests, half, no time named": Fault(status=429, chance=0.5),
    "conflicts for every status": Fault(STATUS_WRITES, STATUS, status=409),
    "conflicts for half of the statuses": Fault(STATUS_WRITES, STATUS, 0.5, status=409),
    "all slow": Fault(delay=0.4),
    "connections break before, half": Fault(drop="before", chance=0.5),
    "connections break after, half": Fault(drop="after", chance=0.5),
    "connections break after every write": Fault(WRITES, drop="after", chance=0.8),
    "watches too old": Fault(WATCHES, gone=True),
    "watches end at once": Fault(WATCHES, cut=0.0),
    "watches end soon": Fault(WATCHES, cut=0.5),
    "watches hang": Fault(WATCHES, hole=True),
    "everything hangs": Fault(hole=True),
}

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


@pytest.fixture
def between(cluster: Cluster) -> Iterator[Proxy]:
    """The way from the operator to its API server."""
    with proxy.running(cluster.server, cluster.ca) as one:
        yield one


@pytest.fixture
def story(
    cluster: Cluster,
    kubelet: Kubelet,
    between: Proxy,
    start_operator: Start,
    namespace: str,
    tmp_path: pathlib.Path,
) -> Story:
    """A story of which the operator hears through the proxy only."""
    kubeconfig = between.kubeconfig(cluster.kubeconfig, tmp_path / "proxied.kubeconfig")
    operator = start_operator("--verbose", kubeconfig=kubeconfig)
    operator.wait_ready()
    told = Story(cluster, kubelet, operator, namespace)
    for task, fates in FATES.items():
        kubelet.at_start(f"{namespace}/{task}", lambda pod, fates=fates: begin(told, pod, fates))
    return told


def begin(story: Story, pod: Json, fates: Sequence[str]) -> None:
    """Start a pod, or let it end as its attempt's turn is."""
    attempt = int(pod["metadata"]["labels"]["capstan.dev/attempt"])
    fate = fates[attempt - 1] if attempt <= len(fates) else ""
    if fate in ("", "deleted"):
        story.kubelet.run(pod)
    if fate:
        suffer(story, pod, fate)


def submit_all(story: Story) -> None:
    for name in ENDS:
        limit = {"backoffLimit": 1} if name == "hopeless" else {}
        kinds = {"ps": replica(1), "worker": replica(2)} if name != "deleted" else {}
        kinds = kinds or {"worker": replica(2)}
        policy = {"restartBackoff": {"initialSeconds": 0.2, "factor": 1}, **limit}
        story.submit(job(name, run_policy=policy, **kinds))


def outcome(status: Json) -> tuple[Any, ...]:
    restarts = status.get("restarts", {})
    attempts = {
        one["name"]: one["attempt"] for one in status.get("tasks", ()) if one["attempt"] > 1
    }
    return (
        status.get("phase"),
        restarts.get("application", 0),
        restarts.get("infrastructure", 0),
        status.get("epoch"),
        attempts,
    )


def come_to_their_ends(story: Story, within: float = PATIENCE_SECONDS) -> None:
    """Let workers 0 finish as soon as all else has happened; see that all is as it must be."""
    for name, end in ENDS.items():
        if end[0] == "Succeeded":
            before = ("Running", *end[1:])
            story.until(lambda status, seen=before: outcome(status) == seen, name, within)
            story.kubelet.exit(story.pod_key("worker-0", name), 0)
    for name, end in ENDS.items():
        status = story.until(
            lambda status: status["phase"] in ("Succeeded", "Failed"), name, within
        )
        assert outcome(status) == end, name
        assert story.find_service(name) is not None
    story.wait(lambda: all(is_over(pod) for pod in story.pods().values()), within)
    assert "worker-0 attempt 2" in story.status("hopeless")["failure"]
    # What has ended stays, each task once, with its last attempt; what lived is gone.
    for pod in story.pods().values():
        labels = pod["metadata"]["labels"]
        task = f"{labels['capstan.dev/replica-type']}-{labels['capstan.dev/replica-index']}"
        shown = row(story.status(labels["capstan.dev/job-name"]), task)
        assert int(labels["capstan.dev/attempt"]) == shown["attempt"]


def is_over(pod: Json) -> bool:
    return pod["status"]["phase"] in ("Succeeded", "Failed")


class Effort:
    """What an operator does from now on; a process that was started again begins at 0."""

    def __init__(self, story: Story, between: Proxy) -> None:
        self._operator = story.operator
        self._between = between
        self._at = time.monotonic()
        self._pid = self._operator.pid
        self._cpu = cpu_seconds(self._pid)

    def is_bounded(self) -> None:
        seconds = time.monotonic() - self._at
        asked = len(self._between.since(self._at)) / seconds
        same, busy = self._operator.pid == self._pid, 0.0
        # It may just have ended.
        with contextlib.suppress(psutil.NoSuchProcess):
            busy = (cpu_seconds(self._pid) - self._cpu) / seconds if same else 0.0
        print(f"{asked:.1f} requests a second, {busy:.0%} of a core, for {seconds:.1f} s")
        assert asked < MOST_A_SECOND
        assert busy < MOST_OF_A_CORE


def cpu_seconds(pid: int) -> float:
    times = psutil.Process(pid).cpu_times()
    return times.user + times.system


def pause(seconds: float) -> None:
    """Let a storm go on for its time: there is nothing to wait for but that."""
    threading.Event().wait(seconds)


@pytest.mark.parametrize("storm", STORMS)
def test_jobs_come_to_the_same_end_in_a_storm(storm: str, story: Story, between: Proxy) -> None:
    print(storm)
    watch = PodWatch(story.cluster, story.namespace)
    with kept(story.operator) as lives, watch:
        with between.fault(STORMS[storm]):
            effort = Effort(story, between)
            submit_all(story)
            pause(SECONDS)
            effort.is_bounded()
        come_to_their_ends(story)
    print(f"{len(lives.ended)} lives of the operator ended")
    assert set(lives.ended) <= {1}
    assert watch.wrong == []


def test_what_is_done_once_is_counted_once(story: Story, between: Proxy) -> None:
    with between.fault(Fault(STATUS_WRITES, STATUS, 0.3, status=409)):
        submit_all(story)
        come_to_their_ends(story)
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
        samples = story.operator.metrics()
        return {name: samples.get(name) for name in expected}

    # Pods that are stopped still go, one after the other, and each is a reason for a pass.
    story.wait(lambda: told() == expected, else_show=lambda: f"{told()}, and not {expected}")
    seen = story.operator.metrics()
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


def test_a_pod_that_vanished_while_nobody_watched_is_missed(story: Story, between: Proxy) -> None:
    """kopf lists again and finds nothing at all, of which it tells nobody."""
    story.started(job("alone", worker=replica(1)))
    pods = frozenset({"pods"})
    with between.fault(Fault(WATCHES, pods, gone=True)):
        with between.fault(Fault(WATCHES, pods, hole=True)):
            pod = story.pod("worker-0", "alone")
            path = f"/api/v1/namespaces/{story.namespace}/pods/alone-worker-0"
            story.cluster.api.delete(path, {"gracePeriodSeconds": 0})
            between.cut_watches()
        story.until(lambda status: row(status, "worker-0")["attempt"] == 2, "alone")
    status = story.until(lambda status: status["phase"] == "Running", "alone")
    assert outcome(status) == ("Running", 0, 1, 1, {"worker-0": 2})
    assert row(status, "worker-0")["reason"] in ("Lost", "Deleted")
    assert row(status, "worker-0")["uid"] != pod["metadata"]["uid"]


@pytest.mark.parametrize("how, seconds", [("stopped", 60.0), ("frozen", 30.0)])
def test_jobs_outlive_an_api_server_that_is_away_for_long(
    how: str, seconds: float, story: Story, cluster: Cluster
) -> None:
    """Longer than a Lease: the operator gives up, is started again, and goes on waiting."""
    with kept(story.operator) as lives:
        submit_all(story)
        if how == "stopped":
            cluster.stop_api_server()
        else:
            cluster.freeze_api_server()
        pause(seconds)
        cluster.recover()
        come_to_their_ends(story, 120)
    print(f"{len(lives.ended)} lives of the operator ended")
    assert set(lives.ended) <= {1}
    # Starting again is not a way of trying again: who has no API server waits for it.
    assert len(lives.ended) <= 2


def test_what_the_server_has_forgotten_is_listed_again(
    story: Story, cluster: Cluster, between: Proxy
) -> None:
    """The API server comes back with no memory of versions: 410, as after long trouble."""
    with kept(story.operator) as lives:
        story.started(job("calm"))
        with between.fault(Fault(hole=True)):
            cluster.stop_api_server()
            cluster.start_api_server()
            of_this = {"gracePeriodSeconds": 0}
            path = f"/api/v1/namespaces/{story.namespace}/pods/calm-worker-1"
            cluster.api.delete(path, of_this)
            cluster.compact()
            cluster.stop_api_server()
            cluster.start_api_server()
            between.cut_watches()
        status = story.until(
            lambda status: outcome(status) == ("Running", 0, 1, 1, {"worker-1": 2}), "calm"
        )
        assert row(status, "worker-1")["state"] == "Running"
    assert set(lives.ended) <= {1}
