"""The operator is killed before and after every single call of a restart; another one goes on."""

import contextlib
import pathlib
import signal
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from conftest import users_environment
from testbed import proxy
from testbed.control import Cluster
from testbed.endings import Ending
from testbed.faults import Fault
from testbed.kubelet import Kubelet
from testbed.operator import Operator
from testbed.proxy import Proxy
from testbed.story import LEASE, Story, job, replica, row

AT_ONCE = 6
SIDES = ("before", "after")
EVENTS = "/apis/events.k8s.io/v1/namespaces/{}/events"
CALLS = frozenset({"get", "create", "patch", "delete"})
"""Lists are of a comparison with the cluster, which may come at any time."""
RESOURCES = frozenset({"pods", "services", "trainingjobs", "trainingjobs/status", "events"})


@dataclass(frozen=True)
class Cut:
    """Where the process is killed: before its n-th call is forwarded, or after it was done."""

    call: int
    side: str

    def __str__(self) -> str:
        return f"{self.side} call {self.call}"


@dataclass
class Played:
    """What became of a job, and of the process."""

    ending: Ending
    calls: int
    was_cut: bool


@dataclass
class Stage:
    """Plays the restart of a worker, each time in a namespace of its own."""

    cluster: Cluster
    kubelet: Kubelet
    folder: pathlib.Path

    def play(self, cut: Cut | None) -> Played:
        """Kill the process at the cut, and have another one go on."""
        with contextlib.ExitStack() as stack:
            way = stack.enter_context(proxy.running(self.cluster.server, self.cluster.ca))
            namespace = self.cluster.namespace()
            stack.callback(self.cluster.api.delete, f"/api/v1/namespaces/{namespace}")
            kubeconfig = way.kubeconfig(self.cluster.kubeconfig, self.folder / f"{namespace}.way")
            first = stack.enter_context(self._operator(namespace, kubeconfig))
            story = Story(self.cluster, self.kubelet, first, namespace)
            story.started(job(ps=replica(), worker=replica()))
            story.wait(lambda: told_running(story, 1))
            before = len(calls(way))
            stack.enter_context(way.fault(death(first, cut)) if cut else contextlib.nullcontext())
            story.kubelet.exit(story.pod_key("worker-0"), 1, message="so long")
            story.wait(lambda: told_running(story, 2) or not first.running(), else_show=first.tail)
            was_cut = not first.running()
            if was_cut:
                assert first.ended() == -signal.SIGKILL, first.tail()
                # As if its time had run out, which nobody needs to wait for: it is dead.
                self.cluster.api.delete(LEASE.format(namespace))
                next_one = stack.enter_context(self._operator(namespace, self.cluster.kubeconfig))
                story.wait(lambda: runs_again(story), else_show=next_one.tail)
            return Played(self._ending(story), len(calls(way)) - before, was_cut)

    @contextlib.contextmanager
    def _operator(self, namespace: str, kubeconfig: pathlib.Path) -> Iterator[Operator]:
        log = self.folder / f"{namespace}.log"
        # It shares this machine with many others, and is not to lose its Lease by that.
        flags = (f"--namespace={namespace}", "--lease-duration=60")
        operator = Operator(kubeconfig, log, flags, users_environment())
        try:
            yield operator
        finally:
            operator.kill()

    def _ending(self, story: Story) -> Ending:
        events = self.cluster.api.list(EVENTS.format(story.namespace))
        return Ending.of(story.job(), story.pods().values(), story.service(), events)


def death(operator: Operator, cut: Cut) -> Fault:
    return Fault(CALLS, RESOURCES, drop=cut.side, skip=cut.call - 1, kill=operator.kill)


def calls(way: Proxy) -> list[str]:
    """What counts of what an operator asked."""
    return [
        f"{one.verb} {one.resource}"
        for one in list(way.asked)
        if one.verb in CALLS and one.resource in RESOURCES
    ]


def told_running(story: Story, times: int) -> bool:
    return [reason for reason, _ in story.news()].count("Running") == times


def runs_again(story: Story) -> bool:
    status = story.status()
    worker = row(status, "worker-0")
    return (status["phase"], worker["attempt"], worker["state"]) == ("Running", 2, "Running")


def test_wherever_the_process_is_killed_the_next_one_brings_the_job_to_the_same_end(
    cluster: Cluster, crd: None, kubelet: Kubelet, tmp_path: pathlib.Path
) -> None:
    stage = Stage(cluster, kubelet, tmp_path)
    with ThreadPoolExecutor(AT_ONCE) as pool:
        uncut = stage.play(None)
        assert not uncut.was_cut
        first, last = 1, uncut.calls
        was_cut = True
        while was_cut:
            cuts = [Cut(call, side) for call in range(first, last + 1) for side in SIDES]
            played = list(pool.map(stage.play, cuts))
            for cut, one in zip(cuts, played, strict=True):
                one.ending.assert_like(uncut.ending, cut)
            was_cut = any(one.was_cut for one in played[-len(SIDES) :])
            first, last = last + 1, last + 1
