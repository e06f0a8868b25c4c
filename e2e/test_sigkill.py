"""The operator's process is killed in the middle of a restart, and another process takes over.

test_cuts.py lets the operator die at every call of every script, all in one process. A real process
adds three things: its connections break, its Lease remains, and the next process begins new lists
and watches. These do not depend on the number of the call. The process is therefore killed around
each kind of write of one restart.
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
PODS, STATUS, EVENT = (frozenset({kind}) for kind in ("pods", "trainingjobs/status", "events"))

DEATHS = {
    "before the status counts the failure": Fault(PATCH, STATUS, drop="before"),
    "after the status counts the failure": Fault(PATCH, STATUS, drop="after"),
    "after the failed pod is deleted": Fault(DELETE, PODS, drop="after"),
    "before the next pod is created": Fault(CREATE, PODS, drop="before"),
    "after the next pod is created": Fault(CREATE, PODS, drop="after"),
    "after the restart is reported": Fault(CREATE, EVENT, drop="after"),
    "before the next status is written": Fault(PATCH, STATUS, drop="before", skip=1),
    "after the next status is written": Fault(PATCH, STATUS, drop="after", skip=1),
}
"""The request at which the process is killed, before or after the API server has carried it out."""

FLAG = "--lease-duration=120"
"""The flag for a Lease so long that no process loses it on a busy machine."""


def restart_with_kill(scenes: Scenes, fault: Fault, uncut: Ending) -> None:
    """Fail a worker, kill the process at this request, and start another process. Assert that the
    job ends like `uncut`.
    """
    with scenes.open() as scene:
        first = scene.start(FLAG)
        story = start_job(scene)
        death = replace(fault, kill=first.kill)
        with scene.proxies[0].fault(death):
            fail_worker(story)
            wait.until(lambda: not first.running(), else_show=first.tail)
        assert first.ended() == -signal.SIGKILL, first.tail()
        # The holder is dead. Deleting its Lease saves the wait until the Lease expires.
        scene.cluster.api.delete(LEASE.format(scene.namespace))
        second = scene.start(FLAG)
        wait.until(lambda: runs_again(story), else_show=second.tail)
        ending(story).assert_like(uncut, fault)


def restart_without_kill(scenes: Scenes) -> Ending:
    """Fail a worker, wait for its restart, and return the end of the job."""
    with scenes.open() as scene:
        scene.start(FLAG)
        story = start_job(scene)
        fail_worker(story)
        wait.until(lambda: runs_again(story) and has_running_events(story, 2))
        return ending(story)


def start_job(scene: Scene) -> Story:
    """Start a job. Returns when the job runs and an event has reported it."""
    scene.operators[0].wait_ready()
    story = scene.story(scene.operators[0])
    story.started(job(ps=replica(), worker=replica()))
    wait.until(lambda: has_running_events(story, 1))
    return story


def fail_worker(story: Story) -> None:
    story.kubelet.exit(story.pod_key("worker-0"), 1, message="so long")


def ending(story: Story) -> Ending:
    events = story.cluster.api.list(EVENTS.format(story.namespace))
    return Ending.of(story.job(), story.pods().values(), story.service(), events)


def has_running_events(story: Story, number: int) -> bool:
    return [reason for reason, _ in story.events()].count("Running") == number


def runs_again(story: Story) -> bool:
    status = story.status()
    worker = row(status, "worker-0")
    return (status["phase"], worker["attempt"], worker["state"]) == ("Running", 2, "Running")


def test_a_job_ends_in_the_same_way_wherever_the_process_is_killed(scenes: Scenes) -> None:
    uncut = restart_without_kill(scenes)
    side_by_side(
        {
            when: functools.partial(restart_with_kill, scenes, fault, uncut)
            for when, fault in DEATHS.items()
        },
        AT_ONCE,
    )
