"""The images run as an unprivileged user and contain nothing of the machine that built them."""

import json
import os
import pathlib
import re
import tarfile
from collections.abc import Iterator
from typing import Any

import pytest

from testbed import images, wait
from testbed import nodes as real_nodes
from testbed.nodes import Nodes

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(900)]

OURS = ("runtime", "operator", "digits")
# The words are in pieces, because this file may not contain them.
INDEXES = re.compile(rb"py" rb"pi\.org|index" rb"-url|extra-index|trusted" rb"-host")
TOOLS = {"gcc", "cc", "g++", "make", "git"}
COMMANDS = {
    "runtime": ["python", "-c", "import capstan; print(capstan.constant(1))"],
    "operator": ["python", "-m", "capstan_operator", "--help"],
    "digits": ["python", "-c", "import digits; print(len(digits.load()[0].images))"],
}


@pytest.fixture
def builder() -> None:
    if reason := real_nodes.unavailable():
        pytest.skip(reason)


@pytest.fixture(params=OURS)
def image(request: pytest.FixtureRequest, builder: None) -> str:
    name: str = request.param
    return name


class Archive:
    """The configuration and the files of an image, read from its archive."""

    def __init__(self, path: pathlib.Path) -> None:
        """Read the configuration from this archive."""
        self.path = path
        with tarfile.open(path) as archive:
            [manifest] = json.load(self._open(archive, "manifest.json"))
            self.config: dict[str, Any] = json.load(self._open(archive, manifest["Config"]))
        self._layers = manifest["Layers"]

    def files(self) -> Iterator[tuple[str, bytes]]:
        """Yield the path of each file of all layers, with its content if it is below 1 MiB."""
        with tarfile.open(self.path) as archive:
            for layer in self._layers:
                with tarfile.open(fileobj=self._open(archive, layer)) as files:
                    for member in files:
                        small = member.isfile() and member.size < 1 << 20
                        yield member.name, files.extractfile(member).read() if small else b""  # type: ignore[union-attr]

    @staticmethod
    def _open(archive: tarfile.TarFile, name: str) -> Any:
        return archive.extractfile(name)


def test_an_image_contains_nothing_of_this_machine(image: str) -> None:
    archive = Archive(images.archive(image))
    # The configuration includes the history of the build, with its arguments.
    configured = json.dumps(archive.config).encode()
    assert not INDEXES.search(configured)
    assert b"_proxy" not in configured.lower()
    here = re.compile(
        b"|".join(
            re.escape(os.fsencode(path)) for path in (images.ROOT, pathlib.Path.home() / ".cache")
        )
    )
    wrong = []
    for path, content in archive.files():
        # pip's own code names its index. Only configuration files that the build wrote matter.
        configures = path.endswith(("pip.conf", ".pth", "direct_url.json", "RECORD", ".cfg"))
        if here.search(content) or (configures and INDEXES.search(content)):
            wrong.append(path)
        if "/.cache/" in path or (pathlib.PurePath(path).name in TOOLS and "/bin/" in path):
            wrong.append(path)
    assert wrong == []


def test_clear_removes_the_containers_and_mounts_of_a_killed_build(builder: None) -> None:
    images.archive("pause")
    folder = images.programs.cache() / "images"
    store = images.Store(folder)
    with images.programs.locked(folder, "builds images", images.programs.to_stderr):
        container = store._run("from", "--pull=never", images.RECIPES["pause"].name).strip()
        mounted = store._run("mount", container).strip()
        assert os.path.ismount(mounted)
        store.clear()
        assert not os.path.ismount(mounted)
        assert store._run("containers", "--quiet") == ""


def test_an_image_has_a_numeric_user_a_version_and_no_settings_of_pip(image: str) -> None:
    config = Archive(images.archive(image)).config["config"]
    assert config["User"] == "65532:65532"
    assert "PYTHONUNBUFFERED=1" in config["Env"]
    assert not [variable for variable in config["Env"] if variable.startswith("PIP_")]
    assert config["Labels"]["org.opencontainers.image.version"] == "dev"


@pytest.mark.parametrize("image", OURS)
def test_an_image_runs_with_a_read_only_root(nodes: Nodes, namespace: str, image: str) -> None:
    script = "import os; print(os.getuid(), os.access('/', os.W_OK), os.access('/opt', os.W_OK))"
    commands = {"user": ["python", "-c", script], "program": COMMANDS[image]}
    name = images.RECIPES[image].name
    nodes.apply(*(restricted(namespace, pod, name, commands[pod]) for pod in commands))
    for pod in commands:
        nodes.until(lambda pod=pod: ended(nodes, namespace, pod), f"{pod} has ended")
        log = nodes.log(pod, namespace=namespace)
        assert ended(nodes, namespace, pod) == "Succeeded", log
    # On a busy machine, a node may answer late.
    user = wait.until(lambda: nodes.log("user", namespace=namespace))
    assert user.split() == ["65532", "False", "False"]


def ended(nodes: Nodes, namespace: str, pod: str) -> str:
    """Return the phase of a pod if the pod has ended, else an empty string."""
    phase = nodes.get("pod", pod, namespace=namespace)["status"]["phase"]
    return phase if phase in ("Succeeded", "Failed") else ""


def restricted(namespace: str, name: str, image: str, command: list[str]) -> dict[str, Any]:
    """Return a pod with a read-only root that meets the pod security standard `restricted`."""
    security = {
        "readOnlyRootFilesystem": True,
        "allowPrivilegeEscalation": False,
        "runAsNonRoot": True,
        "capabilities": {"drop": ["ALL"]},
        "seccompProfile": {"type": "RuntimeDefault"},
    }
    container = {
        "name": "trainer",
        "image": image,
        "imagePullPolicy": "Never",
        "command": command,
        "securityContext": security,
    }
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"namespace": namespace, "name": name},
        "spec": {"restartPolicy": "Never", "containers": [container]},
    }
