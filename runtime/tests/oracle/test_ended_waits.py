"""The events that end a step of a TensorFlow client that waits for a queue.

The tasks run in this process, so that the tests see which steps are in flight.
"""

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import background
import clusters
import genuine
import pytest

pytestmark = genuine.MARKS


@pytest.fixture(scope="module")
def servers() -> Iterator[dict[str, Any]]:
    with clusters.running(ps=1, worker=1) as started:
        yield started


class Wait:
    """A session with a step that waits for an element of a queue."""

    def __init__(self, v1: Any, server: Any, device: str, settings: Any = None) -> None:
        self._server = server
        with v1.Graph().as_default(), v1.device(device):
            queue = v1.queue.FIFOQueue(10, [v1.float32], shapes=[[]], shared_name="ended")
            self._dequeue, self._size = queue.dequeue(), queue.size()
            self._put = queue.enqueue(1.0)
            self.session = v1.Session(server.target, config=settings)

    def run(self, options: Any = None) -> Any:
        return self.session.run(self._dequeue, options=options)

    def begin(self) -> background.Background:
        """Run the waiting step in another thread. Return when the step is in flight."""
        self.session.run(self._size)
        step = background.Background(self.run)
        background.until(self.is_in_flight)
        return step

    def is_in_flight(self) -> bool:
        sessions = self._server.master._sessions.all()
        return any(session._steps._runs for session in sessions)

    def size_after_put(self) -> int:
        self.session.run(self._put)
        return int(self.session.run(self._size))


@pytest.fixture(params=["worker", "ps"])
def device(request: pytest.FixtureRequest, v1: Any, servers: Any) -> Iterator[str]:
    """The task of the queue. It is the task of the master, or another task."""
    yield f"/job:{request.param}/task:0"
    v1.Session.reset(servers["worker:0"].target)


@pytest.fixture
def new_wait(tf: Any, v1: Any, servers: Any, device: str) -> Iterator[Callable[..., Wait]]:
    """A function that makes a `Wait`. The fixture closes the sessions of all waits at its end.

    If a session were collected after its master ended, its client would try to close it for ever.
    """
    waits: list[Wait] = []

    def make(settings: Any = None) -> Wait:
        waits.append(Wait(v1, servers["worker:0"], device, settings))
        return waits[-1]

    yield make
    for wait in waits:
        with contextlib.suppress(tf.errors.OpError):  # a reset has closed the session
            wait.session.close()


@pytest.mark.parametrize("limit", ["timeout_in_ms", "operation_timeout_in_ms"])
def test_a_deadline_ends_a_wait_that_then_takes_no_element(
    tf: Any, v1: Any, servers: dict[str, Any], new_wait: Callable[..., Wait], limit: str
) -> None:
    settings, options = v1.ConfigProto(), v1.RunOptions()
    if limit == "timeout_in_ms":
        options.timeout_in_ms = 1000
    else:
        # The call that creates the session has the same limit.
        settings.operation_timeout_in_ms = 3000
    wait = new_wait(settings)
    with pytest.raises(tf.errors.DeadlineExceededError):
        wait.run(options)
    # The step may take an element until its master and the owner of the queue know of its end.
    background.until(lambda: not wait.is_in_flight())
    background.until(lambda: not any(server._steps._runs for server in servers.values()))
    assert new_wait().size_after_put() == 1


@pytest.mark.parametrize("end", ["close", "reset"])
def test_the_end_of_the_session_ends_a_wait(
    tf: Any, v1: Any, servers: dict[str, Any], new_wait: Callable[..., Wait], end: str
) -> None:
    wait = new_wait()
    waiting = wait.begin()
    if end == "close":
        wait.session.close()
    else:
        v1.Session.reset(servers["worker:0"].target)
    with pytest.raises(tf.errors.CancelledError, match="explicit call to `Session::Close"):
        waiting.join()
