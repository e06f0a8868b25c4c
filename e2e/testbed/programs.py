"""Build the programs of the test bed once: Kubernetes, etcd and CoreDNS from pinned Go modules.

All programs are one file, with a link for each name. The file acts as the program by whose name it
is called (`go/main.go`). The file and its links are kept outside the tree, under
`$XDG_CACHE_HOME/capstan/testbed` or `~/.cache/capstan/testbed`. The name of their folder is a hash
of everything they are made from. Go uses its normal caches (`GOCACHE`, `GOMODCACHE`), so the next
version builds fast, and Go itself removes old entries.
"""

import contextlib
import fcntl
import hashlib
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator

MODULE = pathlib.Path(__file__).parent / "go"
"""The Go module that pins every version, and its main package."""

NAMES = (
    *("etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubectl"),
    *("kubelet", "kube-proxy", "coredns"),
)
"""The programs, by the names that `go/main.go` knows."""

TICK = 10.0
"""The seconds between two lines of progress."""

SETTINGS = {
    "CGO_ENABLED": "0",
    # A Go of another version would not make the programs that the folder's name promises.
    "GOTOOLCHAIN": "local",
    "GOWORK": "off",
    # The compiler collects its garbage less often, which saves a tenth of its time.
    "GOGC": "400",
}
"""The environment of Go."""

_BINARY = "testbed"
"""The name of the file that contains all programs."""

# Kubernetes reads its version from these two packages. Without linker flags /version is empty.
_STAMPED = ("k8s.io/component-base/version", "k8s.io/client-go/pkg/version")

Tell = Callable[[str], None]


class Unavailable(Exception):
    """This machine cannot build the programs. The message says why and how to enable the build."""


class BuildFailed(Exception):
    """The programs do not compile. The message ends with the compiler's last lines."""


def folder(tell: Tell | None = None) -> pathlib.Path:
    """Return the folder with the programs, each under its name. Build them if necessary.

    The first build takes minutes. Any number of processes may call this at once: one builds, the
    others wait. `tell` is called with each line of progress. Without `tell` the lines go to
    stderr. Raises Unavailable and BuildFailed.
    """
    tell = tell or to_stderr
    go = compiler()
    flags = _flags()
    place = cache() / _key(go, flags)
    if not (place / _BINARY).exists():
        place.mkdir(parents=True, exist_ok=True)
        with locked(place, "builds the programs", tell):
            if not (place / _BINARY).exists():
                _build(go, flags, place, tell)
    return place


def cache() -> pathlib.Path:
    """Return the folder in which the programs of all versions are kept."""
    base = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return pathlib.Path(base).expanduser() / "capstan/testbed"


def compiler() -> pathlib.Path:
    """Return the path of Go, which requirements/testbed.txt pins. Raises Unavailable."""
    if sys.platform != "linux":
        raise Unavailable(f"the test bed runs only on Linux, and this machine runs {sys.platform}")
    go = pathlib.Path(sys.executable).parent / "go"
    if not go.exists():
        raise Unavailable(f"{go} is missing: run `make programs`, which installs Go and builds")
    return go


def _key(go: pathlib.Path, flags: tuple[str, ...]) -> str:
    """Return a hash of everything the programs are made from. Equal keys mean equal programs."""
    made_from = hashlib.sha256(version(go).encode())
    for name in ("go.mod", "go.sum", "main.go"):
        made_from.update((MODULE / name).read_bytes())
    made_from.update(repr((NAMES, flags)).encode())
    return made_from.hexdigest()[:16]


def _flags() -> tuple[str, ...]:
    """Return the flags of the compiler and the linker. They leave out debugging data."""
    pinned = re.search(r"k8s\.io/kubernetes v(1\.(\d+)\.\d+)", (MODULE / "go.mod").read_text())
    if pinned is None:
        raise BuildFailed(f"{MODULE}/go.mod names no version of k8s.io/kubernetes")
    values = {
        "gitVersion": f"v{pinned[1]}",
        "gitMajor": "1",
        "gitMinor": pinned[2],
        "gitTreeState": "clean",
    }
    stamps = [
        f"-X {package}.{name}={value}" for package in _STAMPED for name, value in values.items()
    ]
    return (
        *("-trimpath", "-buildvcs=false", "-gcflags=all=-dwarf=false"),
        f"-ldflags={' '.join(['-s', '-w', *stamps])}",
    )


@contextlib.contextmanager
def locked(place: pathlib.Path, activity: str, tell: Tell) -> Iterator[None]:
    """Lock a folder against other processes. If another process has the lock, report its
    `activity` through `tell` and wait. The system releases the lock when the process dies.
    """
    with (place / ".lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            tell(f"another run {activity}: waiting for it")
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _build(go: pathlib.Path, flags: tuple[str, ...], place: pathlib.Path, tell: Tell) -> None:
    """Fetch the modules and build the programs. The file of the programs appears last."""
    status, errors = run_go(go, MODULE, ("list", "-deps", "."), "fetching Go modules", tell)
    if status:
        raise Unavailable(
            f"the Go modules of the programs cannot be fetched: set GOPROXY to a module proxy that"
            f" this machine reaches, and run `make programs`: {errors}"
        )
    unfinished = place / ".unfinished"
    activity = "building Kubernetes, etcd and CoreDNS"
    words = ("build", *flags, f"-o={unfinished}", ".")
    status, errors = run_go(go, MODULE, words, activity, tell)
    if status:
        raise BuildFailed(f"go build failed in {MODULE}: {errors}")
    for name in NAMES:
        (place / name).unlink(missing_ok=True)
        (place / name).symlink_to(_BINARY)
    unfinished.rename(place / _BINARY)


def run_go(
    go: pathlib.Path, module: pathlib.Path, words: tuple[str, ...], activity: str, tell: Tell
) -> tuple[int, str]:
    """Run Go in the folder of a module. Meanwhile report `activity` and the elapsed time through
    `tell`. Return the exit status of Go and its last lines.
    """
    began = time.monotonic()
    with (
        tempfile.TemporaryFile("w+") as output,
        subprocess.Popen(
            [go, *words],
            cwd=module,
            env={**os.environ, **SETTINGS},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=output,
        ) as process,
    ):
        try:
            while process.poll() is None:
                tell(f"{activity}: {time.monotonic() - began:.0f} s")
                with contextlib.suppress(subprocess.TimeoutExpired):
                    process.wait(TICK)
        finally:
            process.kill()
        output.seek(0)
        lines = [line for line in output.read().splitlines() if not line.startswith("go: downl")]
        return process.returncode, " ".join(dict.fromkeys(lines[-5:]))


def version(go: pathlib.Path) -> str:
    """Return what `go version` prints."""
    return subprocess.run([go, "version"], capture_output=True, text=True).stdout


def to_stderr(line: str) -> None:
    print(f"test bed: {line}", file=sys.stderr, flush=True)


def main() -> None:
    """Build the programs and print their folder.

    Exits with status 0 if this machine cannot build them. The tests that need them are then
    skipped, and say why.
    """
    try:
        place = folder()
    except Unavailable as error:
        to_stderr(f"{error}\nThe tests on a real Kubernetes will be skipped.")
    except BuildFailed as error:
        sys.exit(f"test bed: {error}")
    else:
        to_stderr(f"the programs are in {place}")


if __name__ == "__main__":
    main()
