"""Control groups for nodes: one sub-tree of the machine's own, made here and removed here.

With version 1, or both, a node is in a folder of the same name in every hierarchy, and mounts all
of them anew. With version 2 there is one hierarchy, and a node keeps its own processes in a leaf:
a group that hands controllers on holds no process.
"""

import contextlib
import os
import pathlib
from dataclasses import dataclass

from testbed import wait
from testbed.programs import Unavailable

PREFIX = "capstan-testbed-"
ROOT = pathlib.Path("/sys/fs/cgroup")
_LEAF = "node"
_NEEDED = ("cpu", "memory", "pids")
# What a mount tells of itself besides its controllers.
_NO_CONTROLLERS = ("rw", "ro", "xattr", "nsdelegate", "memory_recursiveprot", "release_agent")


@dataclass(frozen=True)
class Hierarchy:
    """A mounted tree of control groups; version 2 has no options."""

    path: pathlib.Path
    options: tuple[str, ...] = ()


def hierarchies() -> list[Hierarchy]:
    """All that are mounted where programs look for them."""
    found = []
    for line in pathlib.Path("/proc/self/mountinfo").read_text().splitlines():
        before, _, after = line.partition(" - ")
        kind, _, options = after.split()
        path = pathlib.Path(before.split()[4])
        if kind == "cgroup":
            words = [word for word in options.split(",") if not word.startswith(_NO_CONTROLLERS)]
            found.append(Hierarchy(path, tuple(words)))
        elif kind == "cgroup2":
            found.append(Hierarchy(path))
    return [tree for tree in found if tree.path.is_relative_to(ROOT)]


def only_version_2() -> bool:
    return [tree.path for tree in hierarchies()] == [ROOT]


class Group:
    """A control group of the same name in every hierarchy."""

    def __init__(self, name: str) -> None:
        """Name it; `make` makes it."""
        self.folders = [tree.path / name for tree in hierarchies()]

    def make(self) -> None:
        """Raises Unavailable where the machine does not hand on the controllers that pods need."""
        for folder in self.folders:
            folder.mkdir()
            if (folder / "cpuset.cpus").exists() and not only_version_2():
                # Empty at first, and nothing can run in a group without processors.
                for name in ("cpuset.cpus", "cpuset.mems"):
                    (folder / name).write_text((folder.parent / name).read_text())
                (folder / "cgroup.clone_children").write_text("1")
        if only_version_2():
            lacking = set(_NEEDED) - set(
                (self.folders[0] / "cgroup.controllers").read_text().split()
            )
            if lacking:
                self.remove()
                raise Unavailable(
                    f"{self.folders[0].parent}/cgroup.subtree_control lacks {sorted(lacking)}:"
                    " the nodes' pods could not be limited"
                )

    def hand_on(self) -> None:
        """Let groups below use the controllers (version 2; in version 1 they may anyway)."""
        if only_version_2():
            controllers = (self.folders[0] / "cgroup.controllers").read_text().split()
            enabled = " ".join(f"+{controller}" for controller in controllers)
            (self.folders[0] / "cgroup.subtree_control").write_text(enabled)

    def enter(self) -> list[str]:
        """The beginning of a command that runs in this group."""
        files = [str(folder / "cgroup.procs") for folder in self.folders]
        script = 'while [ "$1" != -- ]; do echo $$ > "$1" || exit; shift; done; shift; exec "$@"'
        return ["sh", "-c", script, "sh", *files, "--"]

    def leaf(self) -> "Group":
        """The group for a node's own processes: in version 2 one below it."""
        group = Group("")
        group.folders = [folder / _LEAF for folder in self.folders]
        return group if only_version_2() else self

    def remove(self) -> None:
        """Remove it and all below it, once its processes are gone. Raises AssertionError if they
        do not go.
        """
        wait.until(self._removed, else_show=lambda: f"control groups left: {self.folders}")

    def _removed(self) -> bool:
        for folder in self.folders:
            for below, _, _ in os.walk(folder, topdown=False):
                # The kernel refuses as long as a process that was killed has not gone.
                with contextlib.suppress(OSError):
                    pathlib.Path(below).rmdir()
        return not any(folder.exists() for folder in self.folders)


def remove_left(base: pathlib.Path) -> None:
    """Remove the groups of killed runs: those named after no folder in `base`."""
    for tree in hierarchies():
        for path in tree.path.glob(f"{PREFIX}*"):
            if not (base / path.name.removeprefix(PREFIX)).exists():
                Group(path.name).remove()


def mounts() -> str:
    """The script that mounts the control groups as a process in a namespace of them sees them."""
    if only_version_2():
        return f"mount -t cgroup2 cgroup2 {ROOT}"
    lines = [f"mount -t tmpfs -o mode=755 cgroup {ROOT}"]
    for tree in hierarchies():
        lines.append(f"mkdir {tree.path}")
        if not tree.options:
            lines.append(f"mount -t cgroup2 cgroup2 {tree.path}")
            continue
        named = any(option.startswith("name=") for option in tree.options)
        options = ",".join((*(["none"] if named else []), *tree.options))
        lines.append(f"mount -t cgroup -o {options} cgroup {tree.path}")
        if len(tree.options) > 1:
            lines += [f"ln -s {tree.path.name} {ROOT / option}" for option in tree.options]
    return "\n".join(lines)
