"""The logs of pods, served to the API server as kubelets serve them.

The fake kubelet of the test bed runs no containers, so tests write the logs.
"""

import contextlib
import http.server
import ssl
import threading
import urllib.parse
from collections.abc import Iterator
from datetime import UTC, datetime

from testbed.api import STRATEGIC
from testbed.control import Cluster
from testbed.flags import LOOPBACK
from testbed.registry import NODES

Line = tuple[datetime, str]


class PodLogs:
    """Logs by `namespace/pod`. Threads may share it."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._lines: dict[str, list[Line]] = {}
        self._open: set[str] = set()

    def write(self, pod: str, text: str, at: datetime) -> None:
        """Write a line at a time. The log stays open until `end`."""
        with self._changed:
            self._lines.setdefault(pod, []).append((at, text))
            self._open.add(pod)
            self._changed.notify_all()

    def end(self, pod: str) -> None:
        """End a log: followers have read it all."""
        with self._changed:
            self._open.discard(pod)
            self._changed.notify_all()

    def read(self, pod: str, query: dict[str, str]) -> Iterator[str]:
        """Yield the lines that a request of the API asks for."""
        with self._changed:
            at = len(self._lines.get(pod, ()))
            first = max(at - int(query["tailLines"]), 0) if "tailLines" in query else 0
            lines = self._lines.get(pod, [])[first:at]
        while True:
            for stamp, text in lines:
                head = f"{stamp.astimezone(UTC):%Y-%m-%dT%H:%M:%S.%f}000Z "
                yield (head if "timestamps" in query else "") + text + "\n"
            if "follow" not in query:
                return
            lines = self._next(pod, at)
            at += len(lines)
            if not lines:
                return

    def _next(self, pod: str, at: int) -> list[Line]:
        """Wait for lines after the first `at` ones. Return none if the log has ended."""
        with self._changed:
            self._changed.wait_for(
                lambda: len(self._lines.get(pod, ())) > at or pod not in self._open
            )
            return self._lines.get(pod, [])[at:]

    def end_all(self) -> None:
        """End all logs."""
        with self._changed:
            self._open.clear()
            self._changed.notify_all()


@contextlib.contextmanager
def serving(cluster: Cluster, nodes: list[str]) -> Iterator[PodLogs]:
    """Serve the logs of the pods on these nodes."""
    logs = PodLogs()

    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.0"

        def do_GET(self) -> None:
            url = urllib.parse.urlsplit(self.path)
            _, _, namespace, pod, _ = url.path.split("/")
            self.send_response(200)
            self.end_headers()
            with contextlib.suppress(ConnectionError):
                query = dict(urllib.parse.parse_qsl(url.query))
                for line in logs.read(f"{namespace}/{pod}", query):
                    self.wfile.write(line.encode())

        def log_message(self, *_: object) -> None:
            """Write no log of requests."""

    server = http.server.ThreadingHTTPServer((LOOPBACK, 0), Handler)
    # The API server does not check the certificates of kubelets unless it is told to.
    tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    tls.load_cert_chain(cluster.ca, cluster.ca.with_suffix(".key"))
    server.socket = tls.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    endpoints = {"kubeletEndpoint": {"Port": server.server_port}}
    for node in nodes:
        status = {"status": {"daemonEndpoints": endpoints}}
        cluster.api.patch(f"{NODES}/{node}/status", status, STRATEGIC)
    try:
        yield logs
    finally:
        logs.end_all()
        server.shutdown()
        server.server_close()
        thread.join()
