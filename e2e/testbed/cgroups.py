"""The control groups of nodes: a sub-tree of the machine's control groups.

With version 1, or with both versions, a node has a folder of the same name in every hierarchy, and
mounts all hierarchies again. With version 2 there is one hierarchy, and a node keeps its own
processes in a leaf, because a group that delegates controllers may not contain processes.
"""

import contextlib
import errno
import os
import pathlib
from dataclasses import dataclass

from testbed import wait
from testbed.programs import Unavailable

PREFIX = "capstan-testbed-"
ROOT = pathlib.Path("/sys/fs/cgroup")
_LEAF = "node"
_NEEDED = ("cpu", "memory", "pids")
# The options of a mount that are not controllers.
_NO_CONTROLLERS = ("rw", "ro", "xattr", "nsdelegate", "memory_recursiveprot", "release_agent")


@dataclass(frozen=True)
class Hierarchy:
    """A mounted tree of control groups. A tree of version 2 has no options."""

    path: pathlib.Path
    options: tuple[str, ...] = ()


def hierarchies() -> list[Hierarchy]:
    """Return all hierarchies that are mounted under ROOT, where programs look for them."""
    trees = []
    for line in pathlib.Path("/proc/self/mountinfo").read_text().splitlines():
        before, _, after = line.partition(" - ")
        kind, _, options = after.split()
        path = pathlib.Path(before.split()[4])
        if kind == "cgroup":
            words = [word for word in options.split(",") if not word.startswith(_NO_CONTROLLERS)]
            trees.append(Hierarchy(path, tuple(words)))
        elif kind == "cgroup2":
            trees.append(Hierarchy(path))
    return [tree for tree in trees if tree.path.is_relative_to(ROOT)]


def only_version_2() -> bool:
    return [tree.path for tree in hierarchies()] == [ROOT]


class Group:
    """A control group of the same name in every hierarchy."""

    def __init__(self, name: str) -> None:
        """Name the group. `make` creates it."""
        self.folders = [tree.path / name for tree in hierarchies()]

    def make(self) -> None:
        """Create the group. Raises Unavailable if the machine does not delegate the controllers
        that pods need.
        """
        for folder in self.folders:
            folder.mkdir()
            if (folder / "cpuset.cpus").exists() and not only_version_2():
                # These files are empty at first, and no process can run in a group without
                # processors.
                for name in ("cpuset.cpus", "cpuset.mems"):
                    (folder / name).write_text((folder.parent / name).read_text())
                (folder / "cgroup.clone_children").write_text("1")
        if only_version_2():
            missing = set(_NEEDED) - set(
                (self.folders[0] / "cgroup.controllers").read_text().split()
            )
            if missing:
                self.remove()
                raise Unavailable(
                    f"real nodes need the controllers {sorted(missing)} to limit pods: enable them"
                    f" in {self.folders[0].parent}/cgroup.subtree_control"
                )

    def hand_on(self) -> None:
        """Let the groups below use the controllers. Version 1 needs no such step."""
        if only_version_2():
            controllers = (self.folders[0] / "cgroup.controllers").read_text().split()
            enabled = " ".join(f"+{controller}" for controller in controllers)
            (self.folders[0] / "cgroup.subtree_control").write_text(enabled)

    def enter(self) -> list[str]:
        """Return the beginning of a command line. The rest of that command runs in this group."""
        files = [str(folder / "cgroup.procs") for folder in self.folders]
        script = 'while [ "$1" != -- ]; do echo $$ > "$1" || exit; shift; done; shift; exec "$@"'
        return ["sh", "-c", script, "sh", *files, "--"]

    def leaf(self) -> "Group":
        """Return the group of a node's own processes. In version 2 it is a group below this one."""
        group = Group("")
        group.folders = [folder / _LEAF for folder in self.folders]
        return group if only_version_2() else self

    def processes(self, container: str) -> list[int]:
        """Return the ids, on the real machine, of the processes of a container, given its id. The
        list is empty once the container's group is removed.
        """
        for folder in self.folders:
            # Unlike `glob`, `walk` passes over a group that is removed meanwhile.
            for below, _, _ in os.walk(folder):
                path = pathlib.Path(below)
                if path.name == container and (pids := _pids(path / "cgroup.procs")):
                    return pids
        return []

    def remove(self) -> None:
        """Remove the group and all groups below it. Blocks until their processes are gone. Raises
        AssertionError if the processes do not end.
        """
        wait.until(self._is_removed, else_show=lambda: f"control groups left: {self.folders}")

    def _is_removed(self) -> bool:
        for folder in self.folders:
            for below, _, _ in os.walk(folder, topdown=False):
                # The kernel refuses while a killed process still exists.
                with contextlib.suppress(OSError):
                    pathlib.Path(below).rmdir()
        return not any(folder.exists() for folder in self.folders)


def _pids(path: pathlib.Path) -> list[int]:
    """Read a file of process ids. A group that is removed meanwhile has no processes."""
    try:
        return [int(pid) for pid in path.read_text().split()]
    except FileNotFoundError:
        return []
    except OSError as error:
        # The kernel answers so when the group is removed between opening and reading.
        if error.errno == errno.ENODEV:
            return []
        raise


def remove_left(base: pathlib.Path) -> None:
    """Remove the groups of killed runs. Their names belong to no folder in `base`."""
    for tree in hierarchies():
        for path in tree.path.glob(f"{PREFIX}*"):
            if not (base / path.name.removeprefix(PREFIX)).exists():
                Group(path.name).remove()


def mounts() -> str:
    """Return the script that mounts the control groups for a process in their namespace."""
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
