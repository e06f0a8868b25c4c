"""The operator as a real process, beside the cluster that it serves."""

import contextlib
import pathlib
import re
import sys
from collections.abc import Callable, Mapping
from signal import SIGCONT, SIGSTOP

import urllib3

from testbed import wait
from testbed.process import Daemon, HasEnded, free_ports

_REFUSED = re.compile(r"cannot \w+ resource|403 Forbidden")
"""How the API server refuses a request for which the operator has no right."""


class Operator:
    """One `python -m capstan_operator`; each of its lives writes into the same log."""

    def __init__(
        self,
        kubeconfig: pathlib.Path,
        log: pathlib.Path,
        flags: tuple[str, ...] = (),
        env: Mapping[str, str] | None = None,
    ) -> None:
        """Start it with these flags and a free port for --listen; returns at once.

        `env` is the environment, by default this process's own.
        """
        self.log = log
        self._kubeconfig = kubeconfig
        self._flags = flags
        self._env = env
        self._port = free_ports(1)[0]
        self._http = urllib3.PoolManager(retries=False, timeout=urllib3.Timeout(total=20))
        self.start()

    @property
    def pid(self) -> int:
        return self._daemon.pid

    def start(self) -> None:
        """Start it (again), with the same flags and port."""
        self._daemon = Daemon(
            [
                *(sys.executable, "-m", "capstan_operator"),
                *("--kubeconfig", self._kubeconfig, "--listen", f"127.0.0.1:{self._port}"),
                *self._flags,
            ],
            self.log,
            mark=self._kubeconfig.parent,
            env=self._env,
        )

    def running(self) -> bool:
        return self._daemon.running()

    def ended(self) -> int | None:
        """Its exit status, None while it runs; minus the number of the signal that ended it."""
        return self._daemon.process.poll()

    def kill(self) -> None:
        """SIGKILL; its Lease stays until it expires."""
        self._daemon.kill()

    def stop(self) -> int:
        """SIGTERM, and its exit status. Raises AssertionError when it does not end in time."""
        return self._daemon.stop()

    def restart(self) -> None:
        """SIGKILL, and start again; returns when it is ready."""
        self.kill()
        self.start()
        self.wait_ready()

    def freeze(self) -> None:
        """SIGSTOP: it is there, and does nothing."""
        self._daemon.signal(SIGSTOP)

    def thaw(self) -> None:
        """SIGCONT."""
        self._daemon.signal(SIGCONT)

    def ready(self) -> bool:
        """Say whether it leads, or could at once."""
        return self._status("/readyz") == 200

    def healthy(self) -> bool:
        """Say whether it wants to go on living."""
        return self._status("/healthz") == 200

    def leads(self) -> bool:
        """Say whether it holds the Lease, and serves its namespaces."""
        with contextlib.suppress(urllib3.exceptions.HTTPError):
            return self.ready() and self.metrics()["capstan_leader"] == 1
        return False

    def wait_ready(self) -> None:
        """Return when it is ready. Raises HasEnded if its process ends before, and AssertionError
        when time is up; both show its log.
        """
        self._wait(self.ready)

    def wait_leading(self) -> None:
        """Return when it leads. Raises as `wait_ready` does."""
        self._wait(self.leads)

    def metrics(self) -> Mapping[str, float]:
        """What Prometheus would read: each sample, named as in the text with its labels."""
        text = self._http.request("GET", self._url("/metrics")).data.decode()
        lines = [line for line in text.splitlines() if line and not line.startswith("#")]
        return {name: float(value) for name, _, value in (line.rpartition(" ") for line in lines)}

    def tail(self, lines: int = 80, since: int = 0) -> str:
        """The last lines of its log, without its first `since` bytes."""
        return self._daemon.tail(lines, since)

    def log_bytes(self) -> int:
        """How long its log is now."""
        return self.log.stat().st_size

    def refused(self) -> list[str]:
        """The lines of its log that tell of a right that it does not have."""
        return [line for line in self.log.read_text().splitlines() if _REFUSED.search(line)]

    def _wait(self, condition: Callable[[], bool]) -> None:
        def holds() -> bool:
            if not self.running():
                raise HasEnded(f"the operator has ended\n{self.tail()}")
            return condition()

        wait.until(holds, else_show=self.tail)

    def _url(self, path: str) -> str:
        return f"http://127.0.0.1:{self._port}{path}"

    def _status(self, path: str) -> int:
        try:
            return self._http.request("GET", self._url(path)).status
        except urllib3.exceptions.HTTPError:
            return 0
