"""Build the Go programs that tests use beside Kubernetes: `program("kind")`.

Each program has a folder `tools/NAME` with a Go module of its own, whose one `tool` line names the
package of the program. The program is kept beside the test bed's programs. The name of its folder
has a hash of everything it is made from. A new tool therefore builds nothing else again.
"""

import hashlib
import json
import os
import pathlib
import re
import subprocess

from testbed import programs
from testbed.programs import BuildFailed, Tell, Unavailable

FOLDER = pathlib.Path(__file__).parent / "tools"
"""The folder of the modules. A folder in it has the name of its program."""

_FLAGS = ("-trimpath", "-buildvcs=false", "-ldflags=-s -w")


def program(name: str, tell: Tell | None = None) -> pathlib.Path:
    """Return the path of a program. Build it if necessary, which takes seconds to minutes.

    Any number of processes may call this at once: one builds, the others wait. `tell` is called
    with each line of progress. Without `tell` the lines go to stderr. Raises programs.Unavailable
    and programs.BuildFailed.
    """
    tell = tell or programs.to_stderr
    go = programs.compiler()
    module = FOLDER / name
    place = programs.cache() / "tools" / f"{name}-{_key(go, module)}"
    made = place / name
    if not made.exists():
        place.mkdir(parents=True, exist_ok=True)
        with programs.locked(place, f"builds {name}", tell):
            if not made.exists():
                _build(go, module, made, tell)
    return made


def sources(name: str, path: str) -> pathlib.Path:
    """Return the folder with the files of the Go module `path`, which the program `name` is built
    from. They are the files that go.sum pins. Raises programs.Unavailable.
    """
    fetched = subprocess.run(
        [programs.compiler(), "mod", "download", "-json", path],
        cwd=FOLDER / name,
        env={**os.environ, **programs.SETTINGS},
        capture_output=True,
        text=True,
    )
    if fetched.returncode:
        raise Unavailable(f"the Go module {path} cannot be fetched: {fetched.stderr}")
    return pathlib.Path(json.loads(fetched.stdout)["Dir"])


def _key(go: pathlib.Path, module: pathlib.Path) -> str:
    made_from = hashlib.sha256(programs.version(go).encode())
    for file in (module / "go.mod", module / "go.sum", *sorted(module.glob("*.go"))):
        made_from.update(file.read_bytes())
    made_from.update(repr(_FLAGS).encode())
    return made_from.hexdigest()[:16]


def _build(go: pathlib.Path, module: pathlib.Path, made: pathlib.Path, tell: Tell) -> None:
    """Fetch the modules and build the program. Its file appears last."""
    package = _package(module)
    fetch = ("list", "-deps", package)
    status, errors = programs.run_go(go, module, fetch, f"fetching modules of {made.name}", tell)
    if status:
        raise Unavailable(
            f"the Go modules of {made.name} cannot be fetched: set GOPROXY to a module proxy that"
            f" this machine reaches: {errors}"
        )
    unfinished = made.with_name(".unfinished")
    build = ("build", *_FLAGS, f"-o={unfinished}", package)
    status, errors = programs.run_go(go, module, build, f"building {made.name}", tell)
    if status:
        raise BuildFailed(f"go build failed in {module}: {errors}")
    unfinished.rename(made)


def _package(module: pathlib.Path) -> str:
    named = re.findall(r"^tool (\S+)$", (module / "go.mod").read_text(), re.MULTILINE)
    if len(named) != 1:
        raise BuildFailed(f"{module}/go.mod must have exactly one line `tool PACKAGE`")
    return str(named[0])
