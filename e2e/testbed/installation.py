"""The operator on a real cluster, installed as users install it."""

import pathlib

import yaml

from testbed import chart, tools
from testbed.chart import Helm
from testbed.kubernetes import Kubernetes
from testbed.nodes import Nodes

ROOT = pathlib.Path(__file__).parents[2]
OPERATOR = "capstan-system"
"""The namespace of the operator."""
NODE_LOST_SECONDS = 5
"""The operator waits less for a lost node than by default."""


def install(kubernetes: Kubernetes) -> str:
    """Install the operator if the cluster does not have it, and wait until it is available. Return
    the notes of Helm.

    On other clusters than the test bed's, kubectl installs the operator, and there are no notes.
    """
    notes = ""
    words = ("get", "deployment/capstan-operator", "-n", OPERATOR, "--ignore-not-found")
    is_installed = bool(kubernetes.kubectl(*words, "-o", "name").stdout)
    if isinstance(kubernetes, Nodes):
        notes = notes_of_helm(kubernetes) if is_installed else install_with_helm(kubernetes)
    elif not is_installed:
        install_with_kubectl(kubernetes)
    kubernetes.kubectl(
        *("rollout", "status", "deployment/capstan-operator", "-n", OPERATOR, "--timeout=240s")
    )
    return notes


def install_with_helm(nodes: Nodes) -> str:
    """Install the chart as the README says, and return the notes."""
    words = ("install", "capstan", chart.CHART, "--namespace", OPERATOR, "--create-namespace")
    with nodes.network.entered():
        return helm_of(nodes).run(*words, nodeLostSeconds=NODE_LOST_SECONDS)


def notes_of_helm(nodes: Nodes) -> str:
    """Return the notes of the installed chart."""
    with nodes.network.entered():
        return helm_of(nodes).run("get", "notes", "capstan", "--namespace", OPERATOR)


def helm_of(nodes: Nodes) -> Helm:
    return Helm(tools.program("helm"), nodes.folder, nodes.kubeconfig)


def install_with_kubectl(kubernetes: Kubernetes) -> None:
    """Apply crds/ and deploy/, with images from the registry of the cluster."""
    kubernetes.apply_kinds(ROOT / "crds/trainingjobs.capstan.dev.yaml")
    manifests = [
        manifest
        for path in sorted((ROOT / "deploy").glob("*.yaml"))
        for manifest in yaml.safe_load_all(path.read_text())
    ]
    manifests.sort(key=lambda manifest: manifest["kind"] != "Namespace")
    [deployment] = [manifest for manifest in manifests if manifest["kind"] == "Deployment"]
    [operator] = deployment["spec"]["template"]["spec"]["containers"]
    operator["args"].append(f"--node-lost-seconds={NODE_LOST_SECONDS}")
    kubernetes.apply(*manifests)
