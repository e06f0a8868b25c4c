"""An existing Kubernetes, given by its kubeconfig.

    with existing.running(kubeconfig) as cluster:
        namespace = cluster.namespace()

The tests change nothing that was there before, and remove everything that they made. They need an
administrator's rights, and nodes that can get Capstan's images.
"""

import contextlib
import json
import os
import pathlib
import secrets
import shutil
import subprocess
from collections.abc import Callable, Iterator
from typing import Any

import yaml

from testbed import wait
from testbed.kubernetes import Manifest
from testbed.programs import Unavailable

OURS = "capstan/"
"""The beginning of the names of Capstan's images in the manifests of this repository."""
LABEL = "capstan.dev/e2e"
"""The label of each namespace that the tests make, with the name of the run."""
_TICK_SECONDS = 0.5
"""The pause between two looks at a condition. A look is a process of kubectl."""


class Existing:
    """A cluster that was there before, and the tests' operations on it."""

    def __init__(self, kubeconfig: pathlib.Path, registry: str = OURS) -> None:
        """Begin without objects. `registry` replaces `capstan/` in the names of images."""
        self.kubeconfig = kubeconfig
        self._registry = f"{registry.rstrip('/')}/"
        self._run = f"capstan-e2e-{secrets.token_hex(3)}"
        self._namespaces: list[str] = []
        self._made: list[Manifest] = []

    def kubectl(
        self,
        *words: object,
        input: str | None = None,  # noqa: A002 - as subprocess names it
        check: bool = True,
    ) -> subprocess.CompletedProcess[str]:
        """Run the kubectl of this machine. Raises AssertionError with its errors if it fails."""
        ran = subprocess.run(
            ["kubectl", f"--kubeconfig={self.kubeconfig}", *map(str, words)],
            input=input,
            stdin=subprocess.DEVNULL if input is None else None,
            capture_output=True,
            text=True,
            timeout=330,
        )
        if check and ran.returncode:
            arguments = " ".join(map(str, words))
            raise AssertionError(f"kubectl {arguments}: status {ran.returncode}\n{ran.stderr}")
        return ran

    def apply(self, *manifests: Manifest) -> None:
        """Apply manifests, with images from the registry.

        Raises AssertionError if an object outside the namespaces of this run exists already.
        """
        for manifest in manifests:
            metadata = manifest["metadata"]
            if metadata.get("namespace") not in self._namespaces:
                self._note(manifest)
        pulled = [with_registry(manifest, self._registry) for manifest in manifests]
        self.kubectl("apply", "-f", "-", input="\n---\n".join(map(json.dumps, pulled)))

    def apply_kinds(self, path: pathlib.Path) -> None:
        """Apply a file of CRDs, and wait until the API server serves their kinds."""
        crds = list(yaml.safe_load_all(path.read_text(encoding="utf-8")))
        self.apply(*crds)
        for crd in crds:
            plural = f"{crd['spec']['names']['plural']}.{crd['spec']['group']}"
            self.until(
                lambda plural=plural: not self.kubectl("get", plural, check=False).returncode,
                f"the API server serves {plural}",
            )

    def get(self, kind: str, named: str, *, namespace: str) -> Manifest:
        """Return an object. Raises AssertionError if it does not exist."""
        place = ("-n", namespace) if namespace else ()
        found: Manifest = json.loads(self.kubectl("get", kind, named, *place, "-o", "json").stdout)
        return found

    def log(self, pod: str, *, namespace: str) -> str:
        """Return the log of a pod's trainer, or an empty string if the pod has no log yet."""
        return self.kubectl("logs", pod, "-c", "trainer", "-n", namespace, check=False).stdout

    def namespace(self) -> str:
        """Make a namespace in which pods can be created, and return its name."""
        name = f"{self._run}-{len(self._namespaces)}"
        labels = {LABEL: self._run}
        self.apply(
            {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": labels}}
        )
        account = ("get", "serviceaccount", "default", "-n", name)
        self.until(
            lambda: not self.kubectl(*account, check=False).returncode,
            f"namespace {name} has its account",
        )
        return name

    def until(self, condition: Callable[[], object], goal: str, within: float = 180) -> None:
        """Wait for a condition. Raises AssertionError with `goal` after `within` seconds."""
        wait.until(
            lambda: bool(condition()), within, lambda: f"not yet: {goal}", tick=_TICK_SECONDS
        )

    def clear(self) -> None:
        """Delete everything that this object made, and wait until it is gone."""
        namespaces = [made for made in self._made if made["kind"] == "Namespace"]
        # A namespace may hold objects of the CRDs, so it goes first.
        for some in (namespaces, [made for made in self._made if made["kind"] != "Namespace"]):
            if some:
                words = ("delete", "--ignore-not-found", "--wait", "--timeout=300s", "-f", "-")
                self.kubectl(*words, input="\n---\n".join(map(json.dumps, some)))
        self._namespaces.clear()
        self._made.clear()

    def _note(self, manifest: Manifest) -> None:
        """Remember an object, so that `clear` deletes it. Refuse an object that exists."""
        words = ("get", "--ignore-not-found", "-o", "name", "-f", "-")
        found = self.kubectl(*words, input=json.dumps(manifest)).stdout.strip()
        # The tests may apply their own object again.
        if found and manifest not in self._made:
            raise AssertionError(
                f"the cluster has {found} already, which the tests would change: use a cluster"
                " without Capstan"
            )
        if manifest["kind"] == "Namespace":
            self._namespaces.append(manifest["metadata"]["name"])
        if manifest not in self._made:
            self._made.append(manifest)


def with_registry(content: Any, registry: str) -> Any:
    """Return a manifest whose images `capstan/NAME` come from a registry: `REGISTRY/NAME`."""
    if isinstance(content, list):
        return [with_registry(member, registry) for member in content]
    if not isinstance(content, dict):
        return content
    return {
        key: registry + field.removeprefix(OURS)
        if key == "image" and isinstance(field, str) and field.startswith(OURS)
        else with_registry(field, registry)
        for key, field in content.items()
    }


@contextlib.contextmanager
def running(kubeconfig: pathlib.Path, registry: str = OURS) -> Iterator[Existing]:
    """Use a cluster while the block runs. Afterwards everything that the block made is deleted.

    Raises Unavailable if kubectl is missing or does not reach the cluster.
    """
    need_kubectl()
    cluster = Existing(kubeconfig, registry)
    asked = cluster.kubectl("get", "--raw=/readyz", "--request-timeout=20s", check=False)
    if asked.returncode:
        last = asked.stderr.strip().splitlines()[-1:]
        raise Unavailable(f"no cluster answers at {kubeconfig}: {os.linesep.join(last)}")
    try:
        yield cluster
    finally:
        cluster.clear()


def need_kubectl() -> None:
    """Raises Unavailable if kubectl is not installed."""
    if shutil.which("kubectl") is None:
        raise Unavailable("kubectl is not on PATH: install it, for example from your distribution")
