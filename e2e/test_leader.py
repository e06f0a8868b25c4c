"""Of two operators one acts, and when it cannot the other does: never both."""

import contextlib
import pathlib
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from conftest import wait_until
from testbed import proxy
from testbed.control import Cluster
from testbed.faults import WRITES, Asked, Fault
from testbed.kubelet import Kubelet
from testbed.operator import Operator
from testbed.proxy import Proxy
from testbed.story import LEASE, Story, job, replica

Json = dict[str, Any]
Start = Callable[..., Operator]


class Pair:
    """Two operators, each behind a proxy of its own, and whoever of them leads."""

    def __init__(
        self, start: Start, cluster: Cluster, folder: pathlib.Path, space: str, lease_seconds: int
    ) -> None:
        self._stack = contextlib.ExitStack()
        self._lease = LEASE.format(space)
        self._flag = f"--lease-duration={lease_seconds}"
        self._cluster = cluster
        self._start = start
        self._folder = folder
        self.operators: list[Operator] = []
        self.proxies: list[Proxy] = []

    def add(self) -> Operator:
        """Start one more; returns when it is ready."""
        between = self._stack.enter_context(
            proxy.running(self._cluster.server, self._cluster.ca, seed=len(self.proxies))
        )
        place = self._folder / f"{len(self.proxies)}.kubeconfig"
        kubeconfig = between.kubeconfig(self._cluster.kubeconfig, place)
        one = self._start(self._flag, kubeconfig=kubeconfig)
        self.proxies.append(between)
        self.operators.append(one)
        one.wait_ready()
        return one

    def close(self) -> None:
        for one in self.operators:
            one.kill()
        self._stack.close()

    def holder(self) -> str:
        lease = self._cluster.api.find(self._lease) or {"spec": {}}
        return str(lease["spec"].get("holderIdentity") or "")

    def writes(self, number: int) -> list[Asked]:
        """What one of them had done, its Lease and what never arrived aside."""
        return [
            one
            for one in self.proxies[number].since(0)
            if one.verb in WRITES and one.resource != "leases" and one.forwarded
        ]


@pytest.fixture
def lease_seconds() -> int:
    """As operators have it by default: a leader must renew it within ten seconds, and has two to
    give it back. A test whose leader must do that says more, for a machine that is busy."""
    return 15


@pytest.fixture
def pair(
    start_operator: Start,
    cluster: Cluster,
    namespace: str,
    tmp_path: pathlib.Path,
    lease_seconds: int,
) -> Iterator[Pair]:
    """The first leads, the second stands by."""
    both = Pair(start_operator, cluster, tmp_path, namespace, lease_seconds)
    both.add()
    wait_until(both.holder)
    both.add()
    yield both
    both.close()


@pytest.fixture
def story(cluster: Cluster, kubelet: Kubelet, pair: Pair, namespace: str) -> Story:
    return Story(cluster, kubelet, pair.operators[1], namespace)


def started(story: Story, name: str) -> None:
    policy = {"restartBackoff": {"initialSeconds": 0.2}}
    story.started(job(name, run_policy=policy, worker=replica(2)))


def taken_over(story: Story, since: float) -> None:
    """Wait until the second acts: a pod that is deleted is there again."""
    before = story.status("first")["tasks"][0]["uid"]
    story.cluster.api.delete(
        f"/api/v1/namespaces/{story.namespace}/pods/first-worker-0", {"gracePeriodSeconds": 0}
    )
    story.wait(lambda: story.status("first")["tasks"][0].get("uid") not in (before, None))
    print(f"taken over after {time.monotonic() - since:.1f} s")


@pytest.mark.parametrize("lease_seconds", [60])
def test_of_two_operators_one_acts_and_both_are_ready(story: Story, pair: Pair) -> None:
    started(story, "first")
    assert pair.operators[1].ready()
    assert pair.operators[1].healthy()
    assert pair.writes(0)
    assert not pair.writes(1)
    assert [one.metrics()["capstan_leader"] for one in pair.operators] == [1.0, 0.0]
    watched = {one.verb for one in pair.proxies[1].since(0)}
    assert watched <= {"get", "update"}


def test_a_leader_that_is_killed_is_followed(story: Story, pair: Pair) -> None:
    started(story, "first")
    leader = pair.holder()
    killed_at = time.monotonic()
    pair.operators[0].kill()
    taken_over(story, killed_at)
    assert pair.holder() != leader
    started(story, "second")


@pytest.mark.parametrize("lease_seconds", [60])
def test_a_leader_that_is_told_to_stop_is_followed_at_once(story: Story, pair: Pair) -> None:
    started(story, "first")
    leader = pair.holder()
    stopped_at = time.monotonic()
    assert pair.operators[0].stop() == 0
    # Nobody has to wait until its Lease has run out.
    assert pair.holder() != leader
    taken_over(story, stopped_at)
    started(story, "second")


def test_a_leader_that_hears_nothing_stops_before_another_acts(story: Story, pair: Pair) -> None:
    started(story, "first")
    with pair.proxies[0].fault(Fault(hole=True)):
        taken_over(story, time.monotonic())
        story.wait(lambda: pair.operators[0].ended() is not None)
    assert pair.operators[0].ended() == 1
    started(story, "second")
    assert max(one.at for one in pair.writes(0)) < min(one.at for one in pair.writes(1))


def test_a_leader_that_slept_does_nothing_when_it_wakes(story: Story, pair: Pair) -> None:
    started(story, "first")
    pair.operators[0].freeze()
    taken_over(story, time.monotonic())
    asleep = len(pair.writes(0))
    pair.operators[0].thaw()
    story.wait(lambda: pair.operators[0].ended() is not None)
    assert pair.operators[0].ended() == 1
    assert len(pair.writes(0)) == asleep
    attempts = [task["attempt"] for task in story.status("first")["tasks"]]
    assert attempts == [2, 1]


def test_the_exit_status_says_what_to_do(
    start_operator: Start, cluster: Cluster, eventually: Callable[..., None]
) -> None:
    wrong = start_operator("--lease-duration=0")
    eventually(lambda: wrong.ended() == 2)
    assert "--lease-duration" in wrong.tail()
    nowhere = start_operator(kubeconfig=pathlib.Path("/nowhere/kubeconfig"))
    eventually(lambda: nowhere.ended() == 2)
    assert "/nowhere/kubeconfig" in nowhere.tail()
    one = start_operator()
    one.wait_ready()
    assert one.stop() == 0
