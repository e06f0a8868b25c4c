"""A simulated machine: processes in namespaces of their own, with a first process that reaps them.

When the first process ends, all processes end with their mounts and their network, as if the
machine lost its power.
"""

import pathlib
import subprocess

import psutil

from testbed import cgroups, wait
from testbed.process import Daemon, HasEnded

_NAMESPACES = ("--mount", "--net", "--pid", "--uts", "--ipc", "--cgroup")
# The kubelet would set these for the whole real machine, so ordinary files replace them.
_SYSCTLS = {
    "vm/overcommit_memory": 1,
    "vm/panic_on_oom": 0,
    "kernel/panic": 10,
    "kernel/panic_on_oops": 1,
    "kernel/keys/root_maxkeys": 1000000,
    "kernel/keys/root_maxbytes": 25000000,
}
# The simulated machine must not share these folders with the real machine.
_OWN_FOLDERS = ("/var/lib", "/var/log")


class Machine:
    """A host name, processes, and the real machine's file system with some folders replaced."""

    def __init__(self, name: str, folder: pathlib.Path, group: cgroups.Group) -> None:
        """Start the machine. Its files are in `folder`, its processes in `group`."""
        self.name = name
        self.folder = folder
        self.group = group
        self._mark = folder.parent
        folder.mkdir()
        group.make()
        leaf = group.leaf()
        if leaf is not group:
            for path in leaf.folders:
                path.mkdir()
        self._enter = leaf.enter()
        self._first = self._start_first()
        # The cgroup namespace begins at the group in which its first process starts, so the process
        # starts in `group`. It moves to the leaf now, because a group that holds processes cannot
        # give its controllers to its children.
        if leaf is not group:
            (leaf.folders[0] / "cgroup.procs").write_text(str(self.pid))
            (leaf.folders[0] / "cgroup.procs").write_text(str(self._first.pid))
            group.hand_on()
        self.run(self._set_up())

    @property
    def pid(self) -> int:
        """The id of the first process on the real machine."""
        return self._pid

    def run(self, script: str) -> str:
        """Run a shell script to its end and return its output. Raises AssertionError if it
        fails.
        """
        ran = subprocess.run(
            self.command("sh", "-e"), input=script, capture_output=True, text=True, timeout=120
        )
        assert ran.returncode == 0, f"{self.name}: {script}\nended with {ran.stderr}{ran.stdout}"
        return ran.stdout

    def start(self, program: str, *words: object) -> Daemon:
        """Start a process that ends with the machine. Its log is in the machine's folder."""
        log = self.folder / f"{pathlib.Path(program).name}.log"
        return Daemon(self.command(program, *words), log, mark=self._mark)

    def command(self, *words: object) -> list[str]:
        """Return the command line that runs the command `words` on this machine."""
        flags = [f"--target={self.pid}", *_NAMESPACES, "--"]
        return [*self._enter, "nsenter", *flags, *map(str, words)]

    def kill(self) -> None:
        """Kill all processes of the machine. Returns when they are gone."""
        for pid in (self._pid, self._first.pid):
            if psutil.pid_exists(pid):
                psutil.Process(pid).kill()
        self._first.process.wait()

    def running(self) -> bool:
        return self._first.running()

    def _start_first(self) -> Daemon:
        # bash reaps the orphans of the namespace; sleep alone would not.
        first = ("bash", "-c", "sleep infinity & wait")
        flags = (*_NAMESPACES, "--fork", "--kill-child=SIGKILL", "--propagation=private")
        words = [*self.group.enter(), "unshare", *flags, "--mount-proc", *first]
        daemon = Daemon(words, self.folder / "machine.log", mark=self._mark)

        def bash() -> psutil.Process | None:
            if not daemon.running():
                raise HasEnded(f"{self.name} did not start\n{daemon.tail()}")
            children = psutil.Process(daemon.pid).children()
            # The namespaces and /proc are complete only when the child has become bash.
            return children[0] if children and children[0].name() == "bash" else None

        self._pid = wait.until(bash, within=120, else_show=daemon.tail).pid
        return daemon

    def _set_up(self) -> str:
        lines = [f"hostname {self.name}", "mount -t sysfs sysfs /sys"]
        lines += [cgroups.mounts(), "mount -t tmpfs -o mode=755 tmpfs /run"]
        for number, path in enumerate(_OWN_FOLDERS):
            own = self.folder / f"own{number}"
            lines += [f"mkdir {own}", f"mount --bind {own} {path}"]
        for name, value in _SYSCTLS.items():
            file = self.folder / name.replace("/", ".")
            lines += [f"echo {value} > {file}", f"mount --bind {file} /proc/sys/{name}"]
        lines += ["mount --make-rshared /", "ip link set lo up"]
        lines += ["echo 1 > /proc/sys/net/ipv4/ip_forward"]
        lines += ["echo 1 > /proc/sys/net/ipv4/conf/all/route_localnet"]
        return "\n".join(lines)
