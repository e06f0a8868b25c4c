"""Of two operators one acts, and when it cannot the other does: never both."""

from functools import partial
from typing import Any

from testbed import wait
from testbed.faults import WRITES, Asked, Fault
from testbed.scene import Scene, Scenes, side_by_side
from testbed.story import LEASE, Story, job, replica

Json = dict[str, Any]

LONG_SECONDS = 60
"""A Lease that a leader keeps, and can give back, however busy its machine is."""
SHORT_SECONDS = 15
"""A Lease that expires in the test: the default."""


class Pair:
    """Two operators, each behind a proxy: the first leads, the second stands by."""

    def __init__(self, scene: Scene, lease_seconds: int) -> None:
        """Start both; returns when both are ready."""
        self.scene = scene
        flag = f"--lease-duration={lease_seconds}"
        self.leader = scene.start(flag)
        self.leader.wait_leading()
        self.standby = scene.start(flag)
        self.standby.wait_ready()
        self.story = scene.story(self.standby)

    def holder(self) -> str:
        """The identity of the operator that has the Lease, empty if none has."""
        lease = self.scene.cluster.api.find(LEASE.format(self.scene.namespace)) or {"spec": {}}
        return str(lease["spec"].get("holderIdentity") or "")

    def writes(self, number: int) -> list[Asked]:
        """The writes of one operator that reached the API server, but for those of its Lease."""
        return [
            asked
            for asked in list(self.scene.proxies[number].asked)
            if asked.verb in WRITES and asked.resource != "leases" and asked.forwarded
        ]

    def taken_over(self) -> None:
        """Wait until the second operator acts: it makes a pod anew that is deleted."""
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


def is_told_to_stop(scenes: Scenes) -> None:
    """The second operator writes nothing and watches nothing until the first gives its Lease back,
    and nobody waits until that has expired."""
    with scenes.open() as scene:
        pair = Pair(scene, LONG_SECONDS)
        started(pair.story, "first")
        assert pair.standby.ready()
        assert pair.standby.healthy()
        assert pair.writes(0)
        assert not pair.writes(1)
        leads = [operator.metrics()["capstan_leader"] for operator in scene.operators]
        assert leads == [1.0, 0.0]
        assert {asked.verb for asked in list(scene.proxies[1].asked)} <= {"get", "update"}
        leader = pair.holder()
        assert pair.leader.stop() == 0
        assert pair.holder() != leader
        pair.taken_over()
        started(pair.story, "second")


def is_killed(scenes: Scenes) -> None:
    with scenes.open() as scene:
        pair = Pair(scene, SHORT_SECONDS)
        started(pair.story, "first")
        leader = pair.holder()
        pair.leader.kill()
        pair.taken_over()
        assert pair.holder() != leader
        started(pair.story, "second")


def hears_nothing(scenes: Scenes) -> None:
    """It ends before the other one acts."""
    with scenes.open() as scene:
        pair = Pair(scene, SHORT_SECONDS)
        started(pair.story, "first")
        with scene.proxies[0].fault(Fault(hole=True)):
            pair.taken_over()
            wait.until(lambda: pair.leader.ended() is not None)
        assert pair.leader.ended() == 1
        started(pair.story, "second")
        assert max(asked.at for asked in pair.writes(0)) < min(asked.at for asked in pair.writes(1))


def sleeps(scenes: Scenes) -> None:
    """It does nothing when it wakes."""
    with scenes.open() as scene:
        pair = Pair(scene, SHORT_SECONDS)
        started(pair.story, "first")
        pair.leader.freeze()
        pair.taken_over()
        asleep = len(pair.writes(0))
        pair.leader.thaw()
        wait.until(lambda: pair.leader.ended() is not None)
        assert pair.leader.ended() == 1
        assert len(pair.writes(0)) == asleep
        attempts = [task["attempt"] for task in pair.story.status("first")["tasks"]]
        assert attempts == [2, 1]


def test_a_leader_is_followed_and_never_acts_beside_the_next(scenes: Scenes) -> None:
    """Side by side, for most of the time is that of Leases which expire."""
    fates = (is_told_to_stop, is_killed, hears_nothing, sleeps)
    side_by_side({fate.__name__: partial(fate, scenes) for fate in fates}, len(fates))
