"""A user applies crds/ and deploy/ to a cluster without Capstan."""

import json
import pathlib
import re
from collections.abc import Iterator
from typing import Any

import pytest
import yaml

from conftest import ROOT, users_environment
from testbed import control, tools, wait
from testbed.chart import CHART, Helm
from testbed.control import Cluster
from testbed.kubelet import Kubelet
from testbed.operator import LONG_LEASE, Operator
from testbed.story import Story, job

FILES = ("-f", ROOT / "crds", "-f", ROOT / "deploy")
SYSTEM = "capstan-system"
DEPLOYMENT = f"/apis/apps/v1/namespaces/{SYSTEM}/deployments/capstan-operator"


@pytest.fixture(scope="module")
def fresh(cluster: Cluster) -> Iterator[Cluster]:
    """A cluster for this file, to which one command has applied both folders.

    The fixture requests `cluster` only to skip the tests if no control plane can run here.
    """
    with control.running() as installed:
        installed.kubectl("apply", *FILES)
        installed.wait_served()
        yield installed


@pytest.fixture(scope="module")
def fresh_kubelet(fresh: Cluster) -> Iterator[Kubelet]:
    """The fake kubelet of `fresh`."""
    kubelet = Kubelet(fresh.api)
    kubelet.start()
    yield kubelet
    kubelet.close()


def test_one_command_installs_the_operator_and_its_pod_is_restricted(
    fresh: Cluster, fresh_kubelet: Kubelet
) -> None:
    labels = fresh.api.get(f"/api/v1/namespaces/{SYSTEM}")["metadata"]["labels"]
    assert labels["pod-security.kubernetes.io/enforce"] == "restricted"
    fresh.kubectl(
        "rollout", "status", "deployment/capstan-operator", "-n", SYSTEM, "--timeout=110s"
    )


def test_the_namespace_of_the_operator_refuses_a_pod_that_is_not_restricted(
    fresh: Cluster,
) -> None:
    pod = fresh.api.get(DEPLOYMENT)["spec"]["template"]
    del pod["spec"]["containers"][0]["securityContext"]["capabilities"]
    pod |= {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "free", "namespace": SYSTEM}}
    refused = fresh.kubectl("create", "-f-", input=json.dumps(pod), check=False)
    assert 'violates PodSecurity "restricted' in refused.stderr


def test_the_manifests_have_no_field_that_the_server_does_not_know(fresh: Cluster) -> None:
    ran = fresh.kubectl("apply", "--dry-run=server", "--validate=strict", *FILES)
    assert not ran.stderr
    applied = re.findall(r"^\S+/(\S+) ", ran.stdout, re.MULTILINE)
    files = [path for folder in ("crds", "deploy") for path in (ROOT / folder).glob("*.yaml")]
    assert sorted(applied) == sorted(
        name for file in files for _, name in by_name(file.read_text())
    )


def test_the_operator_serves_all_namespaces_with_the_rights_of_the_manifests(
    fresh: Cluster, fresh_kubelet: Kubelet, tmp_path: pathlib.Path
) -> None:
    account = fresh.service_account(SYSTEM, "capstan-operator")
    flags = (f"--lease-namespace={SYSTEM}", LONG_LEASE)
    operator = Operator(account, tmp_path / "operator.log", flags, users_environment())
    try:
        for space in (fresh.namespace(), fresh.namespace()):
            story = Story(fresh, fresh_kubelet, operator, space)
            story.started(job())
            fresh_kubelet.exit(story.pod_key("worker-1"), 1)
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
    documented = re.findall(r"```yaml\n(.*?)```", section, re.DOTALL)[:2]
    for name, text in zip(("kustomization.yaml", "team-a.yaml"), documented, strict=True):
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


def test_helm_adopts_what_kubectl_has_installed(
    fresh: Cluster, fresh_kubelet: Kubelet, helm: Helm
) -> None:
    """The fixture `helm` is offline, so it only says whether Helm can run here."""
    before = fresh.api.get(DEPLOYMENT)
    options = ("--take-ownership", "--force-conflicts", f"--namespace={SYSTEM}")
    online = Helm(tools.program("helm"), fresh.folder, fresh.kubeconfig)
    online.run("install", "capstan", CHART, *options)
    after = fresh.api.get(DEPLOYMENT)
    assert after["metadata"]["uid"] == before["metadata"]["uid"]
    assert after["metadata"]["annotations"]["meta.helm.sh/release-name"] == "capstan"
    assert after["spec"] == before["spec"], "the pods of the operator keep running"


def by_name(text: str) -> dict[tuple[str, str], dict[str, Any]]:
    """Return the manifests of a YAML text, by their kinds and names."""
    manifests = [manifest for manifest in yaml.safe_load_all(text) if manifest]
    return {(manifest["kind"], manifest["metadata"]["name"]): manifest for manifest in manifests}
