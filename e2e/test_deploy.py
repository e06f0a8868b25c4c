"""A user applies crds/ and deploy/ to a cluster that knows nothing of Capstan."""

import json
import pathlib
import re
from collections.abc import Iterator
from typing import Any

import pytest
import yaml

from conftest import ROOT, users_environment
from testbed import control, wait
from testbed.control import Cluster
from testbed.kubelet import Kubelet
from testbed.operator import Operator
from testbed.story import Story, job

FILES = ("-f", ROOT / "crds", "-f", ROOT / "deploy")
SYSTEM = "capstan-system"
DEPLOYMENT = f"/apis/apps/v1/namespaces/{SYSTEM}/deployments/capstan-operator"


@pytest.fixture(scope="module")
def fresh(cluster: Cluster) -> Iterator[Cluster]:
    """A cluster of this file alone, to which one command applied both folders.

    It depends on `cluster` only to be skipped where no control plane can run.
    """
    with control.running() as one:
        one.kubectl("apply", *FILES)
        one.wait_served()
        yield one


@pytest.fixture(scope="module")
def its_kubelet(fresh: Cluster) -> Iterator[Kubelet]:
    one = Kubelet(fresh.api)
    one.start()
    yield one
    one.close()


def test_one_command_installs_the_operator_and_its_pod_is_restricted(
    fresh: Cluster, its_kubelet: Kubelet
) -> None:
    labels = fresh.api.get(f"/api/v1/namespaces/{SYSTEM}")["metadata"]["labels"]
    assert labels["pod-security.kubernetes.io/enforce"] == "restricted"
    fresh.kubectl(
        "rollout", "status", "deployment/capstan-operator", "-n", SYSTEM, "--timeout=110s"
    )


def test_a_pod_that_is_not_restricted_is_not_let_into_the_namespace_of_the_operator(
    fresh: Cluster,
) -> None:
    pod = fresh.api.get(DEPLOYMENT)["spec"]["template"]
    del pod["spec"]["containers"][0]["securityContext"]["capabilities"]
    pod |= {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "free", "namespace": SYSTEM}}
    refused = fresh.kubectl("create", "-f-", input=json.dumps(pod), check=False)
    assert 'violates PodSecurity "restricted' in refused.stderr


def test_the_server_finds_no_field_that_it_does_not_know(fresh: Cluster) -> None:
    ran = fresh.kubectl("apply", "--dry-run=server", "--validate=strict", *FILES)
    assert not ran.stderr
    applied = re.findall(r"^\S+/(\S+) ", ran.stdout, re.MULTILINE)
    files = [path for folder in ("crds", "deploy") for path in (ROOT / folder).glob("*.yaml")]
    assert sorted(applied) == sorted(
        name for file in files for _, name in by_name(file.read_text())
    )


def test_the_operator_serves_all_namespaces_with_the_rights_that_it_was_given(
    fresh: Cluster, its_kubelet: Kubelet, tmp_path: pathlib.Path
) -> None:
    who = fresh.service_account(SYSTEM, "capstan-operator")
    flags = (f"--lease-namespace={SYSTEM}",)
    operator = Operator(who, tmp_path / "operator.log", flags, users_environment())
    try:
        for space in (fresh.namespace(), fresh.namespace()):
            story = Story(fresh, its_kubelet, operator, space)
            story.started(job())
            its_kubelet.exit(story.pod_key("worker-1"), 1)
            story.until_running("worker-1", 2)
            wait.until(lambda story=story: "Restarting" in [reason for reason, _ in story.events()])
        assert not operator.refused()
        assert operator.stop() == 0
    finally:
        operator.kill()


def test_the_documented_folder_serves_one_namespace_and_changes_nothing_else(
    cluster: Cluster, tmp_path: pathlib.Path
) -> None:
    section = (ROOT / "docs" / "operator.md").read_text().split("### Single namespaces\n")[1]
    own = re.findall(r"```yaml\n(.*?)```", section, re.DOTALL)[:2]
    for name, text in zip(("kustomization.yaml", "team-a.yaml"), own, strict=True):
        (tmp_path / name).write_text(text)
    files = {}
    for file in (ROOT / "deploy").glob("*.yaml"):
        (tmp_path / file.name).write_text(file.read_text())
        files |= by_name(file.read_text())
    built = by_name(cluster.kubectl("kustomize", tmp_path).stdout)
    assert files.keys() - built.keys() == {("ClusterRoleBinding", "capstan-operator")}
    assert built.keys() - files.keys() == {("RoleBinding", "capstan-operator")}
    assert built["RoleBinding", "capstan-operator"]["metadata"]["namespace"] == "team-a"
    changed = {key for key in files.keys() & built.keys() if files[key] != built[key]}
    assert changed == {("Deployment", "capstan-operator")}
    (container,) = built["Deployment", "capstan-operator"]["spec"]["template"]["spec"]["containers"]
    assert container["args"].pop() == "--namespace=team-a"
    assert built["Deployment", "capstan-operator"] == files["Deployment", "capstan-operator"]


def by_name(text: str) -> dict[tuple[str, str], dict[str, Any]]:
    return {(one["kind"], one["metadata"]["name"]): one for one in yaml.safe_load_all(text) if one}
