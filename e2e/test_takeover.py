"""An operator that takes over in a cluster that is not the one it began to wait in."""

import contextlib
import pathlib
from collections.abc import Iterator

import pytest

from conftest import CRD, users_environment
from testbed import control
from testbed.control import Cluster
from testbed.kubelet import Kubelet
from testbed.operator import Operator
from testbed.story import Story, job


@pytest.fixture
def pair(cluster: Cluster, tmp_path: pathlib.Path) -> Iterator[tuple[Operator, Story]]:
    """The leader, and the story of the one that stands by, in a cluster of their own.

    The other cluster is asked for because who cannot have it cannot have this one.
    """
    with contextlib.ExitStack() as stack:
        own = stack.enter_context(control.running())
        own.apply(CRD)
        kubelet = Kubelet(own.api)
        kubelet.start()
        stack.callback(kubelet.close)
        space = own.namespace()
        operators: list[Operator] = []
        for name in ("leader", "standby"):
            log = tmp_path / f"{name}.log"
            # Who has to share this machine with many others is not to lose its Lease by that.
            flags = (f"--namespace={space}", "--lease-duration=30")
            one = Operator(own.kubeconfig, log, flags, users_environment())
            stack.callback(one.kill)
            one.wait_ready()
            operators.append(one)
            if name == "leader":
                Story(own, kubelet, one, space).started(job("before"))
        yield operators[0], Story(own, kubelet, operators[1], space)


def test_who_takes_over_while_the_crd_is_away_serves_it_when_it_is_back(
    pair: tuple[Operator, Story],
) -> None:
    leader, story = pair
    standby, cluster = story.operator, story.cluster
    assert standby.metrics()["capstan_leader"] == 0
    cluster.kubectl("delete", "crd", "trainingjobs.capstan.dev")
    story.wait(lambda: leader.ended() is not None, else_show=leader.tail)
    story.wait(lambda: standby.metrics()["capstan_leader"] == 1, else_show=standby.tail)
    story.wait(lambda: "waiting for the CRD" in standby.tail(), else_show=standby.tail)
    assert not standby.ready()
    assert standby.healthy()
    cluster.apply(CRD)
    story.wait(standby.ready, else_show=standby.tail)
    story.started(job("after"))
    assert standby.running()
