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

_REFUSED = re.compile(r"cannot \w+ resource|403 Forbidden|can't set finalizers")
"""The words in the log when the API server refuses a request because a right is missing."""

LONG_LEASE = "--lease-duration=60"
"""The flag for a Lease that an operator does not lose if the machine or the API server pauses.

With the default Lease, an operator that cannot renew for 10 s ends, and its story fails.
"""


class Operator:
    """A process of `python -m capstan_operator`. A restarted process appends to the same log."""

    def __init__(
        self,
        kubeconfig: pathlib.Path,
        log: pathlib.Path,
        flags: tuple[str, ...] = (),
        env: Mapping[str, str] | None = None,
    ) -> None:
        """Start the operator with these flags and a free port for --listen. Returns at once.

        It asks no job for its progress, unless `flags` have --progress-seconds.

        `env` is its environment, by default that of this process.
        """
        self.log = log
        self._kubeconfig = kubeconfig
        self._flags = flags
        self._env = env
        self._port = free_ports(1)[0]
        self._http = urllib3.PoolManager(retries=False, timeout=urllib3.Timeout(total=120))
        self.start()

    @property
    def pid(self) -> int:
        return self._daemon.pid

    def start(self) -> None:
        """Start the process with the same flags and port as before."""
        self._daemon = Daemon(
            [
                *(sys.executable, "-m", "capstan_operator"),
                *("--kubeconfig", self._kubeconfig, "--listen", f"127.0.0.1:{self._port}"),
                # The pods of the simulated kubelet have addresses of other networks.
                "--progress-seconds=0",
                *self._flags,
            ],
            self.log,
            mark=self._kubeconfig.parent,
            env=self._env,
        )

    def running(self) -> bool:
        return self._daemon.running()

    def ended(self) -> int | None:
        """Return the exit status, or None while the process runs. The status is minus the number of
        the signal if a signal ended the process.
        """
        return self._daemon.process.poll()

    def kill(self) -> None:
        """Send SIGKILL. The Lease remains until it expires."""
        self._daemon.kill()

    def stop(self) -> int:
        """Send SIGTERM and return the exit status. Raises AssertionError if the process does not
        end in time.
        """
        return self._daemon.stop()

    def restart(self) -> None:
        """Kill the process and start it again. Returns when the operator is ready."""
        self.kill()
        self.start()
        self.wait_ready()

    def freeze(self) -> None:
        """Stop the process with SIGSTOP. Its connections stay open."""
        self._daemon.signal(SIGSTOP)

    def thaw(self) -> None:
        """Continue the process with SIGCONT."""
        self._daemon.signal(SIGCONT)

    def ready(self) -> bool:
        """Return whether the operator leads or could lead at once."""
        return self._status("/readyz") == 200

    def healthy(self) -> bool:
        """Return whether the operator says that it should not be restarted."""
        return self._status("/healthz") == 200

    def leads(self) -> bool:
        """Return whether the operator holds the Lease and serves its namespaces."""
        with contextlib.suppress(urllib3.exceptions.HTTPError):
            return self.ready() and self.metrics()["capstan_leader"] == 1
        return False

    def wait_ready(self) -> None:
        """Wait until the operator is ready. Raises HasEnded if its process ends, and AssertionError
        when time is up. Both show the log.
        """
        self._wait(self.ready)

    def wait_leading(self) -> None:
        """Wait until the operator leads. Raises the same errors as `wait_ready`."""
        self._wait(self.leads)

    def metrics(self) -> Mapping[str, float]:
        """Return all samples that Prometheus would read. A name contains the labels, as in the
        text.
        """
        text = self.metrics_text()
        lines = [line for line in text.splitlines() if line and not line.startswith("#")]
        return {name: float(value) for name, _, value in (line.rpartition(" ") for line in lines)}

    def metrics_text(self) -> str:
        """Return the text that Prometheus would read."""
        return self._http.request("GET", self._url("/metrics")).data.decode()

    def tail(self, lines: int = 80, since: int = 0) -> str:
        """Return the last lines of the log, without its first `since` bytes."""
        return self._daemon.tail(lines, since)

    def log_bytes(self) -> int:
        """Return the size of the log."""
        return self.log.stat().st_size

    def refused(self) -> list[str]:
        """Return the lines of the log that report a missing right."""
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
