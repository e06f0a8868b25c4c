"""The process of the operator is killed in the middle of a restart, and another one goes on.

test_cuts.py cuts the operator off at every call of every story, in one process. A real process
adds what no object in memory has: its connections break, its Lease stays, and the next process
lists and watches anew. That does not depend on the number of the call, so the process is killed
around each kind of write of one restart.
"""

import functools
import signal
from dataclasses import replace

from testbed import wait
from testbed.endings import Ending
from testbed.faults import Fault
from testbed.scene import Scene, Scenes, side_by_side
from testbed.story import LEASE, Story, job, replica, row

AT_ONCE = 5
EVENTS = "/apis/events.k8s.io/v1/namespaces/{}/events"
PATCH, DELETE, CREATE = (frozenset({verb}) for verb in ("patch", "delete", "create"))
PODS, STATUS, TOLD = (frozenset({kind}) for kind in ("pods", "trainingjobs/status", "events"))

DEATHS = {
    "before the failure is written down": Fault(PATCH, STATUS, drop="before"),
    "after the failure is written down": Fault(PATCH, STATUS, drop="after"),
    "after the failed pod is deleted": Fault(DELETE, PODS, drop="after"),
    "before the next pod is created": Fault(CREATE, PODS, drop="before"),
    "after the next pod is created": Fault(CREATE, PODS, drop="after"),
    "after the restart is told": Fault(CREATE, TOLD, drop="after"),
    "before the next status is written": Fault(PATCH, STATUS, drop="before", skip=1),
    "after the next status is written": Fault(PATCH, STATUS, drop="after", skip=1),
}
"""At which request the process is killed: before the API server gets it, or after it was done."""

FLAG = "--lease-duration=120"
"""No process here loses its Lease because its machine is busy."""


def is_killed(scenes: Scenes, fault: Fault, uncut: Ending) -> None:
    """Restart a worker, kill the process at this request, and have another one go on."""
    with scenes.open() as scene:
        first = scene.start(FLAG)
        story = runs(scene)
        death = replace(fault, kill=first.kill)
        with scene.proxies[0].fault(death):
            fail(story)
            wait.until(lambda: not first.running(), else_show=first.tail)
        assert first.ended() == -signal.SIGKILL, first.tail()
        # As if it had expired, for which nobody needs to wait: its holder is dead.
        scene.cluster.api.delete(LEASE.format(scene.namespace))
        second = scene.start(FLAG)
        wait.until(lambda: runs_again(story), else_show=second.tail)
        ending(story).assert_like(uncut, fault)


def is_not_killed(scenes: Scenes) -> Ending:
    """Restart a worker, as the others do; return what that comes to."""
    with scenes.open() as scene:
        scene.start(FLAG)
        story = runs(scene)
        fail(story)
        wait.until(lambda: runs_again(story) and told_running(story, 2))
        return ending(story)


def runs(scene: Scene) -> Story:
    """Start a job; returns when it runs and that was told."""
    scene.operators[0].wait_ready()
    story = scene.story(scene.operators[0])
    story.started(job(ps=replica(), worker=replica()))
    wait.until(lambda: told_running(story, 1))
    return story


def fail(story: Story) -> None:
    story.kubelet.exit(story.pod_key("worker-0"), 1, message="so long")


def ending(story: Story) -> Ending:
    events = story.cluster.api.list(EVENTS.format(story.namespace))
    return Ending.of(story.job(), story.pods().values(), story.service(), events)


def told_running(story: Story, times: int) -> bool:
    return [reason for reason, _ in story.news()].count("Running") == times


def runs_again(story: Story) -> bool:
    status = story.status()
    worker = row(status, "worker-0")
    return (status["phase"], worker["attempt"], worker["state"]) == ("Running", 2, "Running")


def test_wherever_the_process_is_killed_the_next_one_brings_the_job_to_the_same_end(
    scenes: Scenes,
) -> None:
    uncut = is_not_killed(scenes)
    side_by_side(
        {
            when: functools.partial(is_killed, scenes, fault, uncut)
            for when, fault in DEATHS.items()
        },
        AT_ONCE,
    )
