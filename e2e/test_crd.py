"""An operator whose API server does not know TrainingJobs yet, or does not know them any more."""

import contextlib
import pathlib
import signal
from collections.abc import Iterator

import pytest
import yaml

from conftest import CRD, users_environment
from testbed import control, wait
from testbed.control import Cluster
from testbed.keeper import kept
from testbed.kubelet import Kubelet
from testbed.operator import LONG_LEASE, Operator
from testbed.story import Story, job


@pytest.fixture
def story(cluster: Cluster, tmp_path: pathlib.Path) -> Iterator[Story]:
    """A story in a cluster of its own without the CRD of TrainingJobs.

    The fixture requests `cluster` only to skip the test if no control plane can run here.
    """
    with contextlib.ExitStack() as stack:
        empty = stack.enter_context(control.running())
        kubelet = Kubelet(empty.api)
        kubelet.start()
        stack.callback(kubelet.close)
        space = empty.namespace()
        flags = (f"--namespace={space}", LONG_LEASE)
        log = tmp_path / "operator.log"
        operator = Operator(empty.kubeconfig, log, flags, users_environment())
        stack.callback(operator.kill)
        yield Story(empty, kubelet, operator, space)


def older(folder: pathlib.Path) -> pathlib.Path:
    """Return the file of a CRD that lacks a field of the status."""
    crd = yaml.safe_load(CRD.read_text())
    (version,) = crd["spec"]["versions"]
    del version["schema"]["openAPIV3Schema"]["properties"]["status"]["properties"]["removed"]
    path = folder / "older.yaml"
    path.write_text(yaml.safe_dump(crd))
    return path


def test_an_operator_waits_for_the_crd_and_then_serves_jobs(
    story: Story, tmp_path: pathlib.Path
) -> None:
    cluster, operator = story.cluster, story.operator
    with kept(operator) as lives:
        wait.until(lambda: "waiting for the CRD" in operator.tail(), else_show=operator.tail)
        assert operator.healthy()
        assert not operator.ready()
        cluster.apply(older(tmp_path))
        wait.until(lambda: "lacks status.removed" in operator.tail(), else_show=operator.tail)
        assert not operator.ready()
        cluster.apply(CRD)
        operator.wait_ready()
        story.started()
        _shows_an_older_crd(story, tmp_path)
        assert lives.ended == []
        cluster.kubectl("delete", "crd", "trainingjobs.capstan.dev")
        wait.until(lambda: not operator.ready(), else_show=operator.tail)
        cluster.apply(CRD)
        wait.until(operator.ready, else_show=operator.tail)
        story.started(job("again"))
        # The operator exits in order, or kills itself if a watch does not end.
        assert set(lives.ended) <= {1, -signal.SIGKILL}


def _shows_an_older_crd(story: Story, folder: pathlib.Path) -> None:
    """Install an older CRD while the operator leads, and then the right one again."""
    story.cluster.apply(older(folder))
    story.kubectl("scale", "tjob/train", "--replicas=1")
    assert "lacks .status.removed" in story.wait_note("DefinitionOutdated")
    gauge = "capstan_refused_statuses"
    wait.until(lambda: story.operator.metrics()[gauge] == 1, else_show=story.operator.tail)
    assert len(story.pods()) == 3
    story.cluster.apply(CRD)
    story.until(lambda status: status.get("removed") == {"worker-1": 1})
    wait.until(lambda: story.operator.metrics()[gauge] == 0, else_show=story.operator.tail)
    assert len(story.notes("DefinitionOutdated")) == 1
