"""Only one of two operators acts. The other takes over when the first cannot act any more."""

from functools import partial
from typing import Any

from testbed import wait
from testbed.faults import WRITES, Fault, Request
from testbed.scene import Scene, Scenes, side_by_side
from testbed.story import LEASE, Story, job, replica

Json = dict[str, Any]

LONG_SECONDS = 60
"""The duration of a Lease that its holder does not lose, even on a busy machine."""
SHORT_SECONDS = 15
"""The default duration of a Lease. Such a Lease can expire during the test."""


class Pair:
    """Two operators, each behind a proxy. The first is the leader, the second the standby."""

    def __init__(self, scene: Scene, lease_seconds: int) -> None:
        """Start both operators. Returns when both are ready."""
        self.scene = scene
        flag = f"--lease-duration={lease_seconds}"
        self.leader = scene.start(flag)
        self.leader.wait_leading()
        self.standby = scene.start(flag)
        self.standby.wait_ready()
        self.story = scene.story(self.standby)

    def holder(self) -> str:
        """Return the identity of the operator that holds the Lease, or "" if no operator does."""
        lease = self.scene.cluster.api.find(LEASE.format(self.scene.namespace)) or {"spec": {}}
        return str(lease["spec"].get("holderIdentity") or "")

    def writes(self, number: int) -> list[Request]:
        """Return an operator's writes that reached the API server, without those of its Lease."""
        return [
            request
            for request in list(self.scene.proxies[number].requests)
            if request.verb in WRITES and request.resource != "leases" and request.forwarded
        ]

    def wait_taken_over(self) -> None:
        """Delete a pod, and wait until the standby recreates it."""
        before = self.story.status("first")["tasks"][0]["uid"]
        self.scene.cluster.api.delete(
            f"/api/v1/namespaces/{self.scene.namespace}/pods/first-worker-0",
            {"gracePeriodSeconds": 0},
        )
        wait.until(
            lambda: self.story.status("first")["tasks"][0].get("uid") not in (before, None),
            else_show=self.standby.tail,
        )


def started(story: Story, name: str) -> None:
    policy = {"restartBackoff": {"initialSeconds": 0.2}}
    story.started(job(name, run_policy=policy, worker=replica(2)))


def leader_stops(scenes: Scenes) -> None:
    """The standby writes nothing and watches nothing until the leader releases its Lease. The
    standby then takes the Lease before it would expire.
    """
    with scenes.open() as scene:
        pair = Pair(scene, LONG_SECONDS)
        started(pair.story, "first")
        assert pair.standby.ready()
        assert pair.standby.healthy()
        assert pair.writes(0)
        assert not pair.writes(1)
        leads = [operator.metrics()["capstan_leader"] for operator in scene.operators]
        assert leads == [1.0, 0.0]
        assert {request.verb for request in list(scene.proxies[1].requests)} <= {"get", "update"}
        leader = pair.holder()
        assert pair.leader.stop() == 0
        assert pair.holder() != leader
        pair.wait_taken_over()
        started(pair.story, "second")


def leader_is_killed(scenes: Scenes) -> None:
    with scenes.open() as scene:
        pair = Pair(scene, SHORT_SECONDS)
        started(pair.story, "first")
        leader = pair.holder()
        pair.leader.kill()
        pair.wait_taken_over()
        assert pair.holder() != leader
        started(pair.story, "second")


def leader_is_cut_off(scenes: Scenes) -> None:
    """The leader exits before the standby acts."""
    with scenes.open() as scene:
        pair = Pair(scene, SHORT_SECONDS)
        started(pair.story, "first")
        with scene.proxies[0].fault(Fault(hole=True)):
            pair.wait_taken_over()
            wait.until(lambda: pair.leader.ended() is not None)
        assert pair.leader.ended() == 1
        started(pair.story, "second")
        assert max(asked.at for asked in pair.writes(0)) < min(asked.at for asked in pair.writes(1))


def leader_is_frozen(scenes: Scenes) -> None:
    """The leader writes nothing after it wakes."""
    with scenes.open() as scene:
        pair = Pair(scene, SHORT_SECONDS)
        started(pair.story, "first")
        pair.leader.freeze()
        pair.wait_taken_over()
        writes_before = len(pair.writes(0))
        pair.leader.thaw()
        wait.until(lambda: pair.leader.ended() is not None)
        assert pair.leader.ended() == 1
        assert len(pair.writes(0)) == writes_before
        attempts = [task["attempt"] for task in pair.story.status("first")["tasks"]]
        assert attempts == [2, 1]


def test_the_standby_takes_over_and_two_operators_never_act_at_once(scenes: Scenes) -> None:
    """The cases run in parallel, because most of their time is the wait for Leases to expire."""
    cases = (leader_stops, leader_is_killed, leader_is_cut_off, leader_is_frozen)
    side_by_side({case.__name__: partial(case, scenes) for case in cases}, len(cases))
