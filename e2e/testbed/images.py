"""Build the container images of the nodes without a registry: Capstan's own, a base and `pause`.

`archive("digits")` returns a file that containerd imports. buildah builds the image from the
Dockerfiles that users build, in a store of its own beside the test bed's programs. The name of the
file has a hash of everything that the image is made from, so each version is built once. Nothing of
this machine gets into an image: the settings of pip are only mounted during the build.
"""

import contextlib
import hashlib
import os
import pathlib
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass

from testbed import programs
from testbed.programs import Tell

ROOT = pathlib.Path(__file__).resolve().parents[2]
COMMANDS = {"buildah": "buildah", "mmdebstrap": "mmdebstrap"}
"""The commands that a build needs, and the Debian package of each."""

_BASE = """\
FROM scratch
ADD base.tar /
ENV PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin LANG=C.UTF-8
RUN ln -sf python3 /usr/bin/python && rm -f /usr/lib/python3.*/EXTERNALLY-MANAGED
CMD ["python3"]
"""
_BASE_PACKAGES = "python3,python3-venv,python3-pip,ca-certificates"
_UNWANTED = ("doc", "info", "locale", "man")
# The container of this image holds the namespaces of a pod. The image starts from the base, because
# every node has the layers of the base.
_PAUSE = 'FROM python:3.11-slim\nUSER 65532:65532\nENTRYPOINT ["sleep", "infinity"]\n'
_KEPT = 3
"""The number of archives that are kept for one image. Several checkouts may use them."""
_LABEL = "capstan.dev/made-from"


@dataclass(frozen=True)
class _Recipe:
    """One image: its name, its Dockerfile, its input files and the image that it starts from."""

    name: str
    dockerfile: str | pathlib.Path
    context: pathlib.Path | None = None
    inputs: tuple[str, ...] = ()
    made_from: str = "base"


_HALF = ("{0}/pyproject.toml", "{0}/src/**/*", "requirements/build.txt", "requirements/{0}.txt")
RECIPES = {
    "base": _Recipe("docker.io/library/python:3.11-slim", _BASE, made_from=""),
    "pause": _Recipe("docker.io/capstan/pause:dev", _PAUSE),
    "digits": _Recipe(
        "docker.io/capstan/digits:dev",
        ROOT / "examples/digits/Dockerfile",
        ROOT / "examples/digits",
        ("*.py", "requirements.txt"),
        made_from="runtime",
    ),
} | {
    half: _Recipe(
        f"docker.io/capstan/{half}:dev",
        ROOT / f"images/{half}.Dockerfile",
        ROOT,
        (*(name.format(half) for name in _HALF), ".dockerignore", "LICENSE", "NOTICE"),
    )
    for half in ("runtime", "operator")
}


class BuildFailed(Exception):
    """An image cannot be built. The message ends with the last lines of the failed command."""


def archive(image: str, tell: Tell | None = None) -> pathlib.Path:
    """Return the archive of an image. Build the image, and the image that it starts from, if
    necessary.

    The first build takes a minute, each later one seconds. Any number of processes may call this at
    once. Raises BuildFailed. Needs root and the COMMANDS.
    """
    tell = tell or programs.to_stderr
    place = programs.cache() / "images"
    made = place / f"{image}-{_key(image)}.tar"
    if not made.exists():
        place.mkdir(parents=True, exist_ok=True)
        with programs.locked(place, "builds images", tell):
            if not made.exists():
                store = Store(place)
                store.clear()
                store.ensure(image, tell)
                store.save(image, made)
            _remove_old(place, image)
    os.utime(made)
    return made


def _key(image: str) -> str:
    """Return a hash of everything that an image is made from. Equal keys mean equal images."""
    recipe = RECIPES[image]
    made_from = hashlib.sha256(_key(recipe.made_from).encode() if recipe.made_from else b"")
    made_from.update(_dockerfile(recipe).encode())
    made_from.update(repr((recipe.name, _BASE_PACKAGES, _UNWANTED)).encode())
    for path in _inputs(recipe):
        made_from.update(f"{path.name} {path.stat().st_size} ".encode() + path.read_bytes())
    return made_from.hexdigest()[:16]


def _inputs(recipe: _Recipe) -> Iterator[pathlib.Path]:
    for pattern in recipe.inputs:
        for path in sorted((recipe.context or ROOT).glob(pattern)):
            if path.is_file() and "__pycache__" not in path.parts:
                yield path


def _dockerfile(recipe: _Recipe) -> str:
    written = recipe.dockerfile
    return written if isinstance(written, str) else written.read_text(encoding="utf-8")


class Store:
    """A store of images and layers, apart from the stores of the machine's own tools."""

    def __init__(self, place: pathlib.Path) -> None:
        self._place = place
        self._options = (
            *("--root", str(place / "store"), "--runroot", str(place / "run")),
            *("--storage-driver", "overlay"),
        )

    def clear(self) -> None:
        """Remove the containers and the mounts of killed builds. No build may run meanwhile."""
        self._run("rm", "--all")

    def ensure(self, image: str, tell: Tell) -> None:
        """Build an image if the store does not have it. Unchanged layers are not built again."""
        recipe = RECIPES[image]
        if self._made_from(recipe.name) == _key(image):
            return
        if recipe.made_from:
            self.ensure(recipe.made_from, tell)
        tell(f"building the image {recipe.name}")
        folder = self._place / "context"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        try:
            self._build(image, folder)
        finally:
            # The folder may contain the password of a package index.
            shutil.rmtree(folder)

    def _build(self, image: str, folder: pathlib.Path) -> None:
        recipe = RECIPES[image]
        if not recipe.made_from:
            _bootstrap(folder / "base.tar")
        dockerfile = folder / "Dockerfile"
        dockerfile.write_text(_dockerfile(recipe), encoding="utf-8")
        self._run(
            # Other kinds of isolation need a bridge and rules in the machine's own network.
            *("build", "--quiet", "--layers", "--pull=never", "--isolation", "chroot"),
            *(*_pip_mounts(folder), "--label", f"{_LABEL}={_key(image)}"),
            *("--tag", recipe.name, "--file", dockerfile, recipe.context or folder),
        )

    def save(self, image: str, to: pathlib.Path) -> None:
        """Write an image as an archive. The archive appears only when it is complete."""
        unfinished = to.with_name(f".{to.name}")
        unfinished.unlink(missing_ok=True)
        name = RECIPES[image].name
        self._run("push", "--quiet", name, f"docker-archive:{unfinished}:{name}")
        unfinished.rename(to)

    def _made_from(self, name: str) -> str:
        with contextlib.suppress(BuildFailed):
            labels = f'{{{{index .OCIv1.Config.Labels "{_LABEL}"}}}}'
            return self._run("inspect", "--type", "image", "--format", labels, name).strip()
        return ""

    def _run(self, command: str, *words: object) -> str:
        return _output("buildah", *self._options, command, *words)


def _bootstrap(to: pathlib.Path) -> None:
    """Make a root file system of this machine's Debian with its Python."""
    listed = [
        pathlib.Path("/etc/apt/sources.list.d/debian.sources"),
        pathlib.Path("/etc/apt/sources.list"),
    ]
    sources = [path for path in listed if path.exists()]
    without = [f"--dpkgopt=path-exclude=/usr/share/{name}/*" for name in _UNWANTED]
    _output(
        *("mmdebstrap", "--quiet", "--variant=minbase", f"--include={_BASE_PACKAGES}", *without),
        *("", to, *sources[:1]),
    )


def _pip_mounts(folder: pathlib.Path) -> list[str]:
    """Return the options that mount this machine's settings of pip, and the authorities that pip
    trusts.
    """
    listed = _output(sys.executable, "-m", "pip", "config", "list")
    options = dict(line.rstrip("'").split("='", 1) for line in listed.splitlines() if "='" in line)
    known = {key.rpartition(".")[2]: value for key, value in options.items()}
    authorities = known.pop("cert", "/etc/ssl/certs/ca-certificates.crt")
    lines = [
        f"{key} = {known[key]}"
        for key in ("index-url", "extra-index-url", "trusted-host", "timeout", "retries", "proxy")
        if key in known
    ]
    pip_conf = folder / "pip.conf"
    pip_conf.write_text("\n".join(["[global]", "cert = /run/ca.crt", *lines, ""]))
    mounts = {authorities: "/run/ca.crt", pip_conf: "/etc/pip.conf"}
    return [f"--volume={source}:{target}:ro" for source, target in mounts.items()]


def _output(*words: object) -> str:
    """Run a command with low priority and return its output. Raises BuildFailed."""
    command = ["nice", *(str(word) for word in words)]
    ran = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    if ran.returncode:
        last = "\n".join((ran.stderr or ran.stdout).strip().splitlines()[-15:])
        raise BuildFailed(f"{' '.join(command)}: exit code {ran.returncode}:\n{last}")
    return ran.stdout


def _remove_old(place: pathlib.Path, image: str) -> None:
    """Remove the archives of an image, except for the `_KEPT` archives that were used last."""
    made = sorted(place.glob(f"{image}-*.tar"), key=lambda path: path.stat().st_mtime)
    for path in made[:-_KEPT]:
        path.unlink()


def main() -> None:
    """Build the named images, or all, and print the paths of their archives."""
    for image in sys.argv[1:] or RECIPES:
        print(archive(image))


if __name__ == "__main__":
    main()
