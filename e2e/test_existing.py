"""The tests may run on a cluster that other people use: they change and leave nothing there."""

import os
import pathlib
from collections.abc import Iterator

import pytest

from testbed import existing, programs
from testbed.control import Cluster
from testbed.existing import Existing
from testbed.kubernetes import Manifest


@pytest.fixture
def cluster_of_others(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> Iterator[Existing]:
    """The control plane, as a cluster that other people run. The kubectl of the test bed is on
    PATH.
    """
    monkeypatch.setenv("PATH", str(programs.folder()), prepend=os.pathsep)
    others = Existing(cluster.kubeconfig)
    yield others
    others.clear()


def role(name: str, verb: str = "get") -> Manifest:
    return {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRole",
        "metadata": {"name": name},
        "rules": [{"apiGroups": [""], "resources": ["pods"], "verbs": [verb]}],
    }


def test_everything_that_the_tests_made_is_deleted(
    cluster: Cluster, cluster_of_others: Existing
) -> None:
    name = cluster_of_others.namespace()
    inside = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "settings", "namespace": name},
    }
    cluster_of_others.apply(role(name), inside)
    cluster_of_others.apply(role(name))
    cluster_of_others.clear()
    for kind in ("namespace", "clusterrole"):
        assert cluster.kubectl("get", kind, name, check=False).returncode


def test_an_object_that_exists_already_is_refused_and_stays(
    cluster: Cluster, cluster_of_others: Existing
) -> None:
    name = cluster.unused_name()
    theirs = Existing(cluster.kubeconfig)
    theirs.apply(role(name))
    with pytest.raises(AssertionError, match=f"{name} already"):
        cluster_of_others.apply(role(name, verb="delete"))
    cluster_of_others.clear()
    verbs = "jsonpath={.rules[*].verbs[*]}"
    assert cluster.kubectl("get", "clusterrole", name, "-o", verbs).stdout == "get"
    theirs.clear()


@pytest.mark.e2e
def test_a_cluster_that_does_not_answer_is_unavailable(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kubectl = tmp_path / "kubectl"
    kubectl.write_text("#!/bin/sh\necho 'connection refused' >&2\nexit 1\n")
    kubectl.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    running = existing.running(tmp_path / "kubeconfig")
    with pytest.raises(programs.Unavailable, match=r"no cluster answers.*refused"), running:
        pass


def test_only_the_images_of_capstan_come_from_the_registry() -> None:
    containers = [{"image": "capstan/digits:dev"}, {"image": "docker.io/library/busybox:1"}]
    manifest = {"kind": "Pod", "spec": {"containers": containers}}
    changed = existing.with_registry(manifest, "registry.example.com/team/")
    images = [container["image"] for container in changed["spec"]["containers"]]
    assert images == ["registry.example.com/team/digits:dev", "docker.io/library/busybox:1"]
