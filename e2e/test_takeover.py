"""A standby takes over in a cluster that has lost the CRD in the meantime."""

import contextlib
import pathlib
from collections.abc import Iterator

import pytest

from conftest import CRD
from testbed import control, wait
from testbed.control import Cluster
from testbed.kubelet import Kubelet
from testbed.operator import Operator
from testbed.shell import users_environment
from testbed.story import Story, job


@pytest.fixture
def pair(cluster: Cluster, tmp_path: pathlib.Path) -> Iterator[tuple[Operator, Story]]:
    """The leader, and the story of the standby, in a cluster of their own.

    The fixture requests `cluster` only to skip the test if no control plane can run here.
    """
    with contextlib.ExitStack() as stack:
        own = stack.enter_context(control.running())
        own.apply(CRD)
        kubelet = Kubelet(own.api)
        kubelet.start()
        stack.callback(kubelet.close)
        space = own.namespace()

        def start(name: str) -> Operator:
            # The Lease is long, so that the leader does not lose it on a busy machine.
            flags = (f"--namespace={space}", "--lease-duration=60")
            log = tmp_path / f"{name}.log"
            operator = Operator(own.kubeconfig, log, flags, users_environment())
            stack.callback(operator.kill)
            return operator

        leader = start("leader")
        leader.wait_leading()
        standby = start("standby")
        Story(own, kubelet, leader, space).started(job("before"))
        standby.wait_ready()
        yield leader, Story(own, kubelet, standby, space)


def test_a_standby_that_takes_over_without_the_crd_serves_jobs_when_the_crd_is_back(
    pair: tuple[Operator, Story],
) -> None:
    leader, story = pair
    standby, cluster = story.operator, story.cluster
    assert standby.metrics()["capstan_leader"] == 0
    cluster.kubectl("delete", "crd", "trainingjobs.capstan.dev")
    wait.until(lambda: leader.ended() is not None, else_show=leader.tail)
    wait.until(lambda: standby.metrics()["capstan_leader"] == 1, else_show=standby.tail)
    wait.until(lambda: "waiting for the CRD" in standby.tail(), else_show=standby.tail)
    assert not standby.ready()
    assert standby.healthy()
    cluster.apply(CRD)
    standby.wait_ready()
    story.started(job("after"))
    assert standby.running()
