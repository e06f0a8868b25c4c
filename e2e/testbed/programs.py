"""Build the programs of the test bed, once: Kubernetes, etcd and CoreDNS from pinned Go modules.

They are one file that acts as the program by whose name it is called (`go/main.go`), with a link
for each name. The file and its links are kept outside the tree, under
`$XDG_CACHE_HOME/capstan/testbed` or `~/.cache/capstan/testbed`, in a folder that is named by a hash
of everything they are made from. Go keeps its own caches where it always does (`GOCACHE`,
`GOMODCACHE`), so the next version builds fast, and Go itself removes old entries.
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
"""Seconds from one line of progress to the next."""

_WHOLE = "testbed"
"""The file that is all programs."""

# Kubernetes reads its version from two packages. Without these flags /version is empty.
_STAMPED = ("k8s.io/component-base/version", "k8s.io/client-go/pkg/version")

Tell = Callable[[str], None]


class Unavailable(Exception):
    """This machine cannot have the programs; the message says why, and what would change that."""


class BuildFailed(Exception):
    """The programs do not compile; the message ends with the compiler's last lines."""


def folder(tell: Tell | None = None) -> pathlib.Path:
    """Return the folder that holds the programs, each under its name. Build them if need be.

    The first build takes minutes. Any number of processes may call this at once: one builds, the
    others wait. `tell` gets a line of progress now and then; without it the lines go to stderr.
    Raises Unavailable and BuildFailed.
    """
    tell = tell or to_stderr
    go = _go()
    flags = _flags()
    place = cache() / _key(go, flags)
    if not (place / _WHOLE).exists():
        place.mkdir(parents=True, exist_ok=True)
        with locked(place, "builds the programs", tell):
            if not (place / _WHOLE).exists():
                _build(go, flags, place, tell)
    return place


def cache() -> pathlib.Path:
    """Where the programs of all versions are kept."""
    base = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return pathlib.Path(base).expanduser() / "capstan/testbed"


def _go() -> pathlib.Path:
    if sys.platform != "linux":
        raise Unavailable(f"the test bed runs on Linux only, and this is {sys.platform}")
    go = pathlib.Path(sys.executable).parent / "go"
    if not go.exists():
        raise Unavailable(f"{go} is missing: `make programs` installs Go and builds the programs")
    return go


def _key(go: pathlib.Path, flags: tuple[str, ...]) -> str:
    """Hash everything the programs are made from: the same key means the same programs."""
    made_from = hashlib.sha256(_run(go, "version").encode())
    for name in ("go.mod", "go.sum", "main.go"):
        made_from.update((MODULE / name).read_bytes())
    made_from.update(repr((NAMES, flags)).encode())
    return made_from.hexdigest()[:16]


def _flags() -> tuple[str, ...]:
    """The flags of the compiler and the linker. Nothing is written that only debuggers read."""
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
def locked(place: pathlib.Path, what: str, tell: Tell) -> Iterator[None]:
    """Hold a folder against other processes. If another process holds it, tell what that process
    does there, and wait. The system frees the folder when its holder dies.
    """
    with (place / ".lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            tell(f"another run {what}: waiting for it")
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _build(go: pathlib.Path, flags: tuple[str, ...], place: pathlib.Path, tell: Tell) -> None:
    """Fetch the modules and build the programs; the file itself appears last."""
    status, said = _go_does(go, ("list", "-deps", "."), "fetching Go modules", tell)
    if status:
        raise Unavailable(
            f"the Go modules of the programs cannot be fetched: {said}\n"
            "`make programs` needs a module proxy: set GOPROXY to one that this machine reaches"
        )
    unfinished = place / ".unfinished"
    what = "building Kubernetes, etcd and CoreDNS"
    status, said = _go_does(go, ("build", *flags, f"-o={unfinished}", "."), what, tell)
    if status:
        raise BuildFailed(f"go build failed in {MODULE}: {said}")
    for name in NAMES:
        (place / name).unlink(missing_ok=True)
        (place / name).symlink_to(_WHOLE)
    unfinished.rename(place / _WHOLE)


def _go_does(go: pathlib.Path, words: tuple[str, ...], what: str, tell: Tell) -> tuple[int, str]:
    """Run Go in the module, tell how long it takes, return its exit status and its last words."""
    settings = {
        "CGO_ENABLED": "0",
        # A Go of another version would make other programs than the folder's name says.
        "GOTOOLCHAIN": "local",
        "GOWORK": "off",
        # The compiler collects its garbage less often, which saves a tenth of its time.
        "GOGC": "400",
    }
    began = time.monotonic()
    with (
        tempfile.TemporaryFile("w+") as output,
        subprocess.Popen(
            [go, *words],
            cwd=MODULE,
            env={**os.environ, **settings},
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
    """Build the programs and say where they are.

    Ends with status 0 where they cannot be had: the tests that need them say so and are skipped.
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
