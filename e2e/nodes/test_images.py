"""The images hold what they need to run, as nobody in particular, and nothing of this machine."""

import json
import os
import pathlib
import re
import tarfile
from collections.abc import Iterator
from typing import Any

import pytest

from testbed import images
from testbed import nodes as real_nodes
from testbed.nodes import Nodes

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(900)]

OURS = ("runtime", "operator", "digits")
# Written apart, so that this file does not name them either.
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
    """An image's configuration and files, as the archive has them."""

    def __init__(self, path: pathlib.Path) -> None:
        """Read what is cheap."""
        self.path = path
        with tarfile.open(path) as archive:
            [manifest] = json.load(self._open(archive, "manifest.json"))
            self.config: dict[str, Any] = json.load(self._open(archive, manifest["Config"]))
        self._layers = manifest["Layers"]

    def files(self) -> Iterator[tuple[str, bytes]]:
        """The path and the content of each file that is not large, of all layers."""
        with tarfile.open(self.path) as archive:
            for layer in self._layers:
                with tarfile.open(fileobj=self._open(archive, layer)) as files:
                    for member in files:
                        small = member.isfile() and member.size < 1 << 20
                        yield member.name, files.extractfile(member).read() if small else b""  # type: ignore[union-attr]

    @staticmethod
    def _open(archive: tarfile.TarFile, name: str) -> Any:
        return archive.extractfile(name)


def test_an_image_has_nothing_of_this_machine(image: str) -> None:
    archive = Archive(images.archive(image))
    # With the image's history. What an engine tells a build of proxies is not to be found there.
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
        # pip's own code knows its index; what counts is what was written while building.
        configures = path.endswith(("pip.conf", ".pth", "direct_url.json", "RECORD", ".cfg"))
        if here.search(content) or (configures and INDEXES.search(content)):
            wrong.append(path)
        if "/.cache/" in path or (pathlib.PurePath(path).name in TOOLS and "/bin/" in path):
            wrong.append(path)
    assert wrong == []


def test_what_a_killed_build_has_left_is_removed_by_the_next(builder: None) -> None:
    images.archive("pause")
    place = images.programs.cache() / "images"
    store = images.Store(place)
    with images.programs.locked(place, "builds images", images.programs.to_stderr):
        left = store._run("from", "--pull=never", images.RECIPES["pause"].name).strip()
        mounted = store._run("mount", left).strip()
        assert os.path.ismount(mounted)
        store.clear()
        assert not os.path.ismount(mounted)
        assert store._run("containers", "--quiet") == ""


def test_an_image_runs_as_nobody_in_particular(image: str) -> None:
    made = images.archive(image)
    config = Archive(made).config["config"]
    assert config["User"] == "65532:65532"
    assert "PYTHONUNBUFFERED=1" in config["Env"]
    assert not [variable for variable in config["Env"] if variable.startswith("PIP_")]
    print(f"{image}: {made.stat().st_size / 1e6:.0f} MB")


@pytest.mark.parametrize("image", OURS)
def test_an_image_runs_with_a_root_that_nobody_can_write(
    nodes: Nodes, namespace: str, image: str
) -> None:
    nodes.import_image(image)
    script = "import os; print(os.getuid(), os.access('/', os.W_OK), os.access('/opt', os.W_OK))"
    programs = [("who", ["python", "-c", script]), ("what", COMMANDS[image])]
    for name, command in programs:
        nodes.apply(restricted(namespace, name, images.RECIPES[image].name, command))
        nodes.until(lambda name=name: ended(nodes, namespace, name), f"{name} has ended")
        log = nodes.kubectl("logs", name, "-n", namespace).stdout
        assert ended(nodes, namespace, name) == "Succeeded", log
        assert name == "what" or log.split() == ["65532", "False", "False"]


def ended(nodes: Nodes, namespace: str, pod: str) -> str:
    phase = nodes.get("pod", pod, namespace=namespace)["status"]["phase"]
    return phase if phase in ("Succeeded", "Failed") else ""


def restricted(namespace: str, name: str, image: str, command: list[str]) -> dict[str, Any]:
    """A pod as a namespace with the strictest standard admits it, and with a read-only root."""
    may = {
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
        "securityContext": may,
    }
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"namespace": namespace, "name": name},
        "spec": {"restartPolicy": "Never", "containers": [container]},
    }
