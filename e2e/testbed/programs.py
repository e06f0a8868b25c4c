"""Build the programs of the test bed, once: Kubernetes, etcd and CoreDNS from pinned Go modules.

They are kept outside the tree, under `$XDG_CACHE_HOME/capstan/testbed` or
`~/.cache/capstan/testbed`, in a folder that is named by all they are made from. Go keeps its own
caches where it always does (`GOCACHE`, `GOMODCACHE`), so that the next version builds fast and Go
itself throws away what is old.
"""

import contextlib
import fcntl
import hashlib
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator

MODULES = pathlib.Path(__file__).parent / "go"
PACKAGES = {
    "etcd": ("etcd", "go.etcd.io/etcd/server/v3"),
    "etcdctl": ("etcd", "go.etcd.io/etcd/etcdctl/v3"),
    "kube-apiserver": ("kubernetes", "k8s.io/kubernetes/cmd/kube-apiserver"),
    "kube-controller-manager": ("kubernetes", "k8s.io/kubernetes/cmd/kube-controller-manager"),
    "kube-scheduler": ("kubernetes", "k8s.io/kubernetes/cmd/kube-scheduler"),
    "kubectl": ("kubernetes", "k8s.io/kubernetes/cmd/kubectl"),
    "kubelet": ("kubernetes", "k8s.io/kubernetes/cmd/kubelet"),
    "kube-proxy": ("kubernetes", "k8s.io/kubernetes/cmd/kube-proxy"),
    "coredns": ("coredns", "github.com/coredns/coredns"),
}
"""Each program, the module in go/ that pins it, and its package."""

CONTROL_PLANE = (
    *("etcd", "etcdctl", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubectl"),
)
NODES = ("kubelet", "kube-proxy", "coredns")

# Kubernetes tells its version from two packages; unset, /version is no version at all.
_STAMPED = ("k8s.io/component-base/version", "k8s.io/client-go/pkg/version")

TICK = 10.0
"""Seconds from one line of progress to the next."""

Tell = Callable[[str], None]


class Unavailable(Exception):
    """This machine cannot have the programs; the message says why, and what would change that."""


class BuildFailed(Exception):
    """The programs do not compile; the message ends with what the compiler said."""


def folder(*names: str, tell: Tell | None = None) -> pathlib.Path:
    """Return a folder that holds at least these programs, and build what it lacks.

    The first build takes about six minutes on two cores. Any number of processes may ask at once:
    one builds, the others wait. `tell` gets a line of progress now and then; without it they are
    written to stderr. Raises Unavailable and BuildFailed.
    """
    tell = tell or to_stderr
    go = _go()
    place = cache() / _key(go)
    if not _missing(place, names):
        return place
    place.mkdir(parents=True, exist_ok=True)
    with locked(place, "builds the programs", tell):
        for module in sorted({PACKAGES[name][0] for name in _missing(place, names)}):
            lacking = [name for name in _missing(place, names) if PACKAGES[name][0] == module]
            _build(go, module, lacking, place, tell)
    return place


def cache() -> pathlib.Path:
    """Where the programs of all versions are kept."""
    base = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return pathlib.Path(base).expanduser() / "capstan/testbed"


def _missing(place: pathlib.Path, names: tuple[str, ...]) -> list[str]:
    return [name for name in names if not (place / name).exists()]


def _go() -> pathlib.Path:
    if sys.platform != "linux":
        raise Unavailable(f"the test bed runs on Linux only, and this is {sys.platform}")
    go = pathlib.Path(sys.executable).parent / "go"
    if not go.exists():
        raise Unavailable(f"{go} is missing: `make programs` installs Go and builds what is needed")
    return go


def _key(go: pathlib.Path) -> str:
    """Name what the programs are made from: the same name, the same programs."""
    made_from = hashlib.sha256(_run(go, "version").encode())
    for path in sorted(MODULES.glob("*/go.*")):
        made_from.update(path.read_bytes())
    made_from.update(repr([PACKAGES, *map(_linked, ("kubernetes", "etcd"))]).encode())
    return made_from.hexdigest()[:16]


def _linked(module: str) -> str:
    """The flags for the linker."""
    if module != "kubernetes":
        return "-s -w"
    pinned = re.search(
        r"k8s\.io/kubernetes v(1\.(\d+)\.\d+)", (MODULES / module / "go.mod").read_text()
    )
    if pinned is None:
        raise BuildFailed(f"{MODULES / module}/go.mod names no version of k8s.io/kubernetes")
    values = {
        "gitVersion": f"v{pinned[1]}",
        "gitMajor": "1",
        "gitMinor": pinned[2],
        "gitTreeState": "clean",
    }
    stamps = [
        f"-X {package}.{key}={value}" for package in _STAMPED for key, value in values.items()
    ]
    return " ".join(["-s -w", *stamps])


@contextlib.contextmanager
def locked(place: pathlib.Path, what: str, tell: Tell) -> Iterator[None]:
    """Hold a folder against other processes, and tell what the one does that must be waited for;
    the system frees it if this one is killed.
    """
    with (place / ".lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            tell(f"another run {what}: waiting for it")
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _build(
    go: pathlib.Path, module: str, names: list[str], place: pathlib.Path, tell: Tell
) -> None:
    """Build several programs of one module, which share most of the work."""
    packages = [PACKAGES[name][1] for name in names]
    what = ", ".join(names)
    status, said = _go_does(go, module, ("list", "-deps", *packages), f"fetching {what}", tell)
    if status:
        raise Unavailable(
            f"the Go modules of {what} cannot be fetched: {said}\n"
            "`make programs` needs a module proxy: set GOPROXY to one that this machine reaches"
        )
    unfinished = place / ".unfinished"
    shutil.rmtree(unfinished, ignore_errors=True)
    unfinished.mkdir()
    flags = ("-trimpath", "-buildvcs=false", f"-ldflags={_linked(module)}", f"-o={unfinished}/")
    status, said = _go_does(go, module, ("build", *flags, *packages), f"building {what}", tell)
    if status:
        raise BuildFailed(f"{what}: go build failed: {said}")
    for name in names:
        # A package of a later major version is built under the name that stands before it.
        made = unfinished / PACKAGES[name][1].removesuffix("/v3").rpartition("/")[2]
        made.rename(place / name)
    shutil.rmtree(unfinished)


def _go_does(
    go: pathlib.Path, module: str, words: tuple[str, ...], what: str, tell: Tell
) -> tuple[int, str]:
    """Run Go in a module, tell how long it takes, return its exit status and its last words."""
    began = time.monotonic()
    with (
        tempfile.TemporaryFile("w+") as output,
        subprocess.Popen(
            [go, *words],
            cwd=MODULES / module,
            # A Go of another version would make other programs than the folder's name says.
            env={**os.environ, "CGO_ENABLED": "0", "GOTOOLCHAIN": "local", "GOWORK": "off"},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=output,
        ) as process,
    ):
        try:
            while process.poll() is None:
                tell(f"{what}: {time.monotonic() - began:.0f} s")
                with contextlib.suppress(subprocess.TimeoutExpired):
                    process.wait(TICK)
        finally:
            process.kill()
        output.seek(0)
        said = [line for line in output.read().splitlines() if not line.startswith("go: downl")]
        return process.returncode, " ".join(dict.fromkeys(said[-5:]))


def _run(*words: object) -> str:
    return subprocess.run([str(word) for word in words], capture_output=True, text=True).stdout


def to_stderr(line: str) -> None:
    print(f"test bed: {line}", file=sys.stderr, flush=True)


def main() -> None:
    """Build the programs that are named, or those of a control plane; say where they are.

    Ends with status 0 where they cannot be had: the tests that need them say so and are skipped.
    """
    try:
        place = folder(*(sys.argv[1:] or CONTROL_PLANE))
    except Unavailable as error:
        to_stderr(f"{error}\nThe tests on a real Kubernetes will be skipped.")
    except BuildFailed as error:
        sys.exit(f"test bed: {error}")
    else:
        to_stderr(f"the programs are in {place}")


if __name__ == "__main__":
    main()
