"""containerd on a machine, and the images that it has from the start.

The import of an image takes seconds, because containerd hashes and unpacks each layer. The images
of a cluster are therefore imported once, into an `ImageStore`. Every node's containerd starts with
hard links to the files of that store. Nothing writes to these files: the changes of a container go
to a directory of its own.
"""

import contextlib
import io
import json
import pathlib
import shutil
import subprocess
import tarfile
from collections.abc import Sequence

from testbed.images import RECIPES
from testbed.machine import Machine
from testbed.process import Daemon

_SOCKET = "/run/containerd/containerd.sock"
_CTR = f"ctr --address {_SOCKET} --namespace k8s.io"
_IMPORT = f"""\
until {_CTR} version >/dev/null 2>&1; do sleep 0.1; done
{_CTR} images import "$1"
"""
_IMPORT_SECONDS = 600
_DATABASES = ("meta.db", "metadata.db")
"""The files to which containerd writes. Each node needs its own copies of them."""

ENDPOINT = f"unix://{_SOCKET}"
"""The address of a machine's containerd, for the configuration of a kubelet."""


def start(machine: Machine) -> Daemon:
    """Start containerd on a machine. It keeps its images in `machine.folder / "containerd"`."""
    networks = machine.folder / "net.d"
    networks.mkdir(exist_ok=True)
    config = machine.folder / "containerd.toml"
    config.write_text(_config(_root(machine), networks))
    return machine.start("containerd", "--config", config)


def version(machine: Machine) -> str:
    """Return the version of a machine's containerd. Raises AssertionError if it does not answer."""
    return machine.run(f"{_CTR} version")


class ImageStore:
    """The images that all nodes of a cluster share."""

    def __init__(self, machine: Machine, archives: Sequence[pathlib.Path]) -> None:
        """Begin to import these archives of `images` on a machine that serves no other purpose.

        Returns when the import has begun. `wait` waits for its end.
        """
        self._machine = machine
        self._containerd = start(machine)
        self._merged = machine.folder / "images.tar"
        _merge(archives, self._merged)
        self._import = machine.start("sh", "-ec", _IMPORT, "sh", self._merged)

    def wait(self) -> None:
        """Wait until all images are imported, and end the machine.

        Raises AssertionError with the logs if containerd refuses an image or ends, or after
        _IMPORT_SECONDS.
        """
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._import.process.wait(_IMPORT_SECONDS)
        imported = self._import.process.poll() == 0
        logs = f"{self._import.tail()}\n{self._containerd.tail()}"
        self.stop()
        self._merged.unlink()
        assert imported, f"the images were not imported within {_IMPORT_SECONDS} s\n{logs}"

    def stop(self) -> None:
        """End the machine. The images remain."""
        if self._machine.running():
            self._machine.kill()
        for daemon in (self._containerd, self._import):
            daemon.kill()

    def link(self, machine: Machine) -> None:
        """Link all images into the folder of a machine. Its containerd must not run yet."""
        root = _root(machine)
        subprocess.run(["cp", "-a", "--link", _root(self._machine), root], check=True)
        for name in _DATABASES:
            for database in root.glob(f"*/{name}"):
                copy = database.with_suffix(".copy")
                shutil.copy2(database, copy)
                copy.replace(database)


def _merge(archives: Sequence[pathlib.Path], to: pathlib.Path) -> None:
    """Write one archive with all images. It contains each layer once, because images share most
    layers.
    """
    images: list[object] = []
    written = set()
    with tarfile.open(to, "w") as merged:
        for path in archives:
            with tarfile.open(path) as archive:
                for member in archive:
                    content = archive.extractfile(member) if member.isfile() else None
                    if content is None or member.name in written:
                        continue
                    if member.name == "manifest.json":
                        images += json.load(content)
                    elif member.name.endswith((".tar", ".json")):
                        merged.addfile(member, content)
                        written.add(member.name)
        manifest = json.dumps(images).encode()
        member = tarfile.TarInfo("manifest.json")
        member.size = len(manifest)
        merged.addfile(member, io.BytesIO(manifest))


def _root(machine: Machine) -> pathlib.Path:
    return machine.folder / "containerd"


def plugins() -> pathlib.Path:
    """Return the folder in which the plugins for pods' networks are installed."""
    places = [pathlib.Path("/usr/lib/cni"), pathlib.Path("/opt/cni/bin")]
    return next((place for place in places if (place / "bridge").exists()), places[0])


def _config(root: pathlib.Path, networks: pathlib.Path) -> str:
    cri = '[plugins."io.containerd.grpc.v1.cri"'
    return f"""\
version = 2
root = "{root}"
state = "/run/containerd"
[grpc]
  address = "{_SOCKET}"
{cri}]
  sandbox_image = "{RECIPES["pause"].name}"
  disable_apparmor = true
  # Most sandboxes do not let a process make itself less likely to be killed than others.
  restrict_oom_score_adj = true
{cri}.containerd.runtimes.runc]
  runtime_type = "io.containerd.runc.v2"
{cri}.containerd.runtimes.runc.options]
  SystemdCgroup = false
{cri}.cni]
  bin_dir = "{plugins()}"
  conf_dir = "{networks}"
"""
