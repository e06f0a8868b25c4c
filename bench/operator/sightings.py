"""The time at which a client of the API server first sees each pod, and whether the pod runs."""

import contextlib
import threading
import time

import urllib3

from testbed.api import Api


class Sightings:
    """Watches a collection of pods and records when each pod was first seen. Thread-safe."""

    def __init__(self, api: Api, pods: str) -> None:
        """Start to watch the pods of the collection at the path `pods`."""
        self._api = api
        self._pods = pods
        self._seen = threading.Condition()
        self._by_uid: dict[str, float] = {}
        self._newest: dict[str, tuple[str, float]] = {}
        self._runs: dict[str, bool] = {}
        self._version = api.get(pods)["metadata"]["resourceVersion"]
        threading.Thread(target=self._watch, daemon=True).start()

    def _watch(self) -> None:
        # The server ends with the measurement. It also closes a watch that reads too slowly.
        with contextlib.suppress(urllib3.exceptions.MaxRetryError):
            while True:
                with contextlib.suppress(urllib3.exceptions.ProtocolError):
                    self._look()

    def _look(self) -> None:
        for kind, pod in self._api.watch(self._pods, self._version, seconds=3600):
            self._version = pod["metadata"]["resourceVersion"]
            if kind not in ("ADDED", "MODIFIED"):
                continue
            name, uid = pod["metadata"]["name"], pod["metadata"]["uid"]
            with self._seen:
                if uid not in self._by_uid:
                    self._by_uid[uid] = time.monotonic()
                    self._newest[name] = uid, self._by_uid[uid]
                self._runs[uid] = pod["status"].get("phase") == "Running"
                self._seen.notify_all()

    def wait(self, pods: int, within: float = 600) -> list[float]:
        """Wait until `pods` pods have been seen. Return the times, in ascending order."""
        with self._seen:
            if not self._seen.wait_for(lambda: len(self._by_uid) >= pods, within):
                raise AssertionError(f"{len(self._by_uid)} of {pods} pods after {within} s")
            return sorted(self._by_uid.values())

    def all_run(self, within: float = 600) -> None:
        """Wait until every pod runs."""
        with self._seen:
            if not self._seen.wait_for(lambda: all(self._runs.values()), within):
                raise AssertionError(f"some pods do not run after {within} s")

    def replaced(self, name: str, uid: str, within: float = 60) -> float:
        """Wait until a new pod has the name. Return the time at which it was first seen."""
        with self._seen:
            if not self._seen.wait_for(lambda: self._newest[name][0] != uid, within):
                raise AssertionError(f"{name} was not replaced within {within} s")
            return self._newest[name][1]

    def running(self, name: str, within: float = 60) -> str:
        """Wait until the newest pod of this name runs, and return its UID."""
        with self._seen:
            if not self._seen.wait_for(lambda: self._runs[self._newest[name][0]], within):
                raise AssertionError(f"{name} does not run within {within} s")
            return self._newest[name][0]
