"""A Kubernetes whose nodes are containers, which kind makes with Docker or Podman.

    with kind.running(gpus=False) as cluster:
        namespace = cluster.namespace()

`make images` builds the images. kind itself is built from a Go module (`tools/kind`).
"""

import contextlib
import os
import pathlib
import secrets
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping

from testbed import existing, tools
from testbed import gpus as fake_gpus
from testbed.existing import Existing
from testbed.programs import Tell, Unavailable, to_stderr

FOLDER = pathlib.Path(__file__).resolve().parents[1] / "kind"
"""The configurations of clusters."""
IMAGES = ("runtime", "operator", "digits")
"""The images that every node gets."""

_ENGINES = ("docker", "podman")


def config(gpus: bool) -> pathlib.Path:
    """Return the configuration of the nodes, with or without a pool of GPUs."""
    return FOLDER / ("cluster-gpu.yaml" if gpus else "cluster.yaml")


def engine() -> str:
    """Return the first container engine that works. Raises Unavailable with the error of each."""
    reasons = []
    for name in _ENGINES:
        if shutil.which(name) is None:
            reasons.append(f"{name} is not installed")
            continue
        asked = subprocess.run([name, "ps", "-q"], capture_output=True, text=True)
        if not asked.returncode:
            return name
        reasons.append(f"{name} does not work: {asked.stderr.strip()}")
    raise Unavailable(f"kind needs docker or podman: {'; '.join(reasons)}")


@contextlib.contextmanager
def running(gpus: bool, tell: Tell | None = None) -> Iterator[Existing]:
    """Run a cluster of kind while the block runs. With `gpus`, one node has two fake GPUs.

    Raises programs.Unavailable without an engine or kubectl, programs.BuildFailed, and
    AssertionError with the output of a command that fails.
    """
    tell = tell or to_stderr
    existing.need_kubectl()
    chosen = engine()
    program = tools.program("kind", tell)
    environment = {**os.environ, "KIND_EXPERIMENTAL_PROVIDER": chosen}
    named = ("--name", f"capstan-e2e-{secrets.token_hex(3)}")
    with tempfile.TemporaryDirectory(prefix="capstan-kind-") as temporary:
        folder = pathlib.Path(temporary)
        kubeconfig = folder / "kubeconfig"
        files = ("--config", config(gpus), "--kubeconfig", kubeconfig)
        tell(f"kind makes a cluster with {chosen}")
        try:
            _run(environment, program, "create", "cluster", *named, *files, "--wait=300s")
            for image in IMAGES:
                tell(f"loading the image {image}")
                archive = folder / f"{image}.tar"
                _run(environment, chosen, "save", "-o", archive, f"docker.io/capstan/{image}:dev")
                _run(environment, program, "load", "image-archive", archive, *named)
                archive.unlink()
            with existing.running(kubeconfig) as cluster:
                if gpus:
                    fake_gpus.install(cluster)
                    cluster.until(lambda: fake_gpus.pools(cluster, 2), "a node has GPUs")
                yield cluster
        finally:
            _run(environment, program, "delete", "cluster", *named, "--kubeconfig", kubeconfig)


def _run(environment: Mapping[str, str], *words: object) -> None:
    command = [str(word) for word in words]
    ran = subprocess.run(command, env=environment, capture_output=True, text=True)
    if ran.returncode:
        raise AssertionError(f"{' '.join(command)}: status {ran.returncode}\n{ran.stderr}")
