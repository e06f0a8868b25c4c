"""Kueue beside a control plane, with its own webhooks and the manifests of its Go module.

Kueue makes the certificate of its webhooks and writes it to a Secret, which a kubelet mounts in a
cluster. Here the test bed copies the certificate to a folder. The API server finds the webhooks
through a Service whose external name is the loopback address, because no kube-proxy runs.
"""

import base64
import contextlib
import json
import pathlib
import stat
from collections.abc import Iterator
from typing import Any

import yaml

from testbed import process, tools, wait
from testbed.control import Cluster
from testbed.flags import LOOPBACK
from testbed.process import Daemon, HasEnded

Json = dict[str, Any]

API = "/apis/kueue.x-k8s.io/v1beta2"
NAMESPACE = "kueue-system"
QUEUE = "training"
"""The name of the LocalQueue that `queue` makes."""

_MODULE = "sigs.k8s.io/kueue"
_SERVICE = "kueue-webhook-service"
_SECRET = "kueue-webhook-server-cert"
_OURS = frozenset({"", "kueue.x-k8s.io"})
"""The API groups whose webhooks are switched on: pods, and Kueue's own kinds."""
_CONVERTED = frozenset(
    {"clusterqueues", "cohorts", "localqueues", "multikueueclusters", "workloads"}
)
"""The kinds of Kueue whose versions its webhook converts."""


@contextlib.contextmanager
def running(cluster: Cluster) -> Iterator[None]:
    """Run Kueue with its integration of plain pods. Returns when it admits jobs.

    Raises programs.Unavailable and programs.BuildFailed, and HasEnded and AssertionError if Kueue
    does not start.
    """
    program = tools.program("kueue")
    components = tools.sources("kueue", _MODULE) / "config/components"
    webhook, health = process.free_ports(2)
    folder = cluster.folder / "kueue"
    certificates = folder / "certificates"
    certificates.mkdir(parents=True)
    config = folder / "config.json"
    config.write_text(json.dumps(_configuration(webhook, health, certificates)))
    _install(cluster, components, webhook)
    kueue = Daemon(
        [program, f"--config={config}", f"--kubeconfig={cluster.kubeconfig}"],
        folder / "kueue.log",
        mark=cluster.folder,
    )
    try:
        _wait_working(cluster, kueue, certificates)
        yield
    finally:
        kueue.kill()


def queue(cluster: Cluster, namespace: str, cpus: int) -> None:
    """Make the LocalQueue `training` of a namespace, with a quota of its own."""
    _make(cluster, f"{API}/resourceflavors", "ResourceFlavor", namespace, {})
    quota = {"name": namespace, "resources": [{"name": "cpu", "nominalQuota": str(cpus)}]}
    spec = {
        "namespaceSelector": {},
        "preemption": {"withinClusterQueue": "LowerPriority"},
        "resourceGroups": [{"coveredResources": ["cpu"], "flavors": [quota]}],
    }
    _make(cluster, f"{API}/clusterqueues", "ClusterQueue", namespace, spec)
    path = f"{API}/namespaces/{namespace}/localqueues"
    _make(cluster, path, "LocalQueue", QUEUE, {"clusterQueue": namespace})


def priority(cluster: Cluster, name: str, value: int) -> None:
    """Make a WorkloadPriorityClass."""
    body = {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "WorkloadPriorityClass"}
    cluster.api.post(
        f"{API}/workloadpriorityclasses", {**body, "metadata": {"name": name}, "value": value}
    )


def _make(cluster: Cluster, path: str, kind: str, name: str, spec: Json) -> None:
    body = {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": kind}
    cluster.api.post(path, {**body, "metadata": {"name": name}, "spec": spec})


def _configuration(webhook: int, health: int, certificates: pathlib.Path) -> Json:
    return {
        "apiVersion": "config.kueue.x-k8s.io/v1beta2",
        "kind": "Configuration",
        "namespace": NAMESPACE,
        "health": {"healthProbeBindAddress": f"{LOOPBACK}:{health}"},
        "metrics": {"bindAddress": "0"},
        "webhook": {"host": LOOPBACK, "port": webhook, "certDir": str(certificates)},
        "leaderElection": {"leaderElect": False},
        "internalCertManagement": {
            "enable": True,
            "webhookServiceName": _SERVICE,
            "webhookSecretName": _SECRET,
        },
        "clientConnection": {"qps": 300, "burst": 500},
        "integrations": {"frameworks": ["pod"]},
        # Its server would listen on a fixed port.
        "featureGates": {"VisibilityOnDemand": False},
    }


def _install(cluster: Cluster, components: pathlib.Path, webhook: int) -> None:
    service = {"namespace": NAMESPACE, "name": _SERVICE, "port": webhook}
    cluster.make_namespace(NAMESPACE)
    namespace = f"/api/v1/namespaces/{NAMESPACE}"
    cluster.api.post(f"{namespace}/secrets", {"metadata": {"name": _SECRET}})
    spec = {"type": "ExternalName", "externalName": LOOPBACK, "ports": [{"port": webhook}]}
    cluster.api.post(f"{namespace}/services", {"metadata": {"name": _SERVICE}, "spec": spec})
    definitions = [
        _converted(definition, service)
        for file in sorted((components / "crd/bases").glob("*.yaml"))
        for definition in yaml.safe_load_all(file.read_text())
    ]
    registered = [
        _registered(configuration, service)
        for configuration in yaml.safe_load_all((components / "webhook/manifests.yaml").read_text())
    ]
    items = {"apiVersion": "v1", "kind": "List", "items": [*definitions, *registered]}
    cluster.kubectl("apply", "--server-side", "-f-", input=json.dumps(items))
    cluster.wait_served()


def _converted(definition: Json, service: Json) -> Json:
    """Return a CRD whose versions Kueue converts, if Kueue can convert them."""
    if definition["spec"]["names"]["plural"] not in _CONVERTED:
        return definition
    client = {"service": {**service, "path": "/convert"}}
    conversion = {
        "strategy": "Webhook",
        "webhook": {"clientConfig": client, "conversionReviewVersions": ["v1"]},
    }
    return {**definition, "spec": {**definition["spec"], "conversion": conversion}}


def _registered(configuration: Json, service: Json) -> Json:
    """Return the webhooks of the kinds that a job of Capstan needs."""
    name = f"kueue-{configuration['metadata']['name']}"
    webhooks = []
    for webhook in configuration["webhooks"]:
        if {group for rule in webhook["rules"] for group in rule["apiGroups"]} <= _OURS:
            client = {"service": {**service, "path": webhook["clientConfig"]["service"]["path"]}}
            webhooks.append({**webhook, "clientConfig": client})
    return {**configuration, "metadata": {"name": name}, "webhooks": webhooks}


def _wait_working(cluster: Cluster, kueue: Daemon, certificates: pathlib.Path) -> None:
    """Copy the certificate, and wait until Kueue's webhooks answer."""
    secret = f"/api/v1/namespaces/{NAMESPACE}/secrets/{_SECRET}"

    def certified() -> bool:
        if not kueue.running():
            raise HasEnded(f"Kueue has ended\n{kueue.tail()}")
        data: dict[str, str] = cluster.api.get(secret).get("data") or {}
        # Kueue reads the folder as soon as it has the certificate.
        for name in sorted(data, reverse=True):
            file = certificates / name
            file.touch(stat.S_IRUSR | stat.S_IWUSR)
            file.write_bytes(base64.b64decode(data[name]))
        return "tls.crt" in data

    def answers() -> bool:
        if not kueue.running():
            raise HasEnded(f"Kueue has ended\n{kueue.tail()}")
        flavor = {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "ResourceFlavor"}
        manifest = json.dumps({**flavor, "metadata": {"name": "trial"}, "spec": {}})
        trial = ("create", "--dry-run=server", "-f-")
        return cluster.kubectl(*trial, input=manifest, check=False).returncode == 0

    wait.until(certified, else_show=kueue.tail)
    wait.until(answers, else_show=kueue.tail)
