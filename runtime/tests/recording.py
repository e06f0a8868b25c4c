"""A master and a worker behind the services, which record the calls that reach them."""

import socket
import threading
from collections.abc import Mapping, Sequence
from typing import Any

from capstan.core import config, dtypes, function, node
from capstan.partition import parts
from capstan.transport import cancellation as cancellations
from capstan.transport import doors, interfaces

NODES = (
    node.Node("x", "Placeholder", attrs={"dtype": dtypes.float32}),
    node.Node("y", "Neg", (node.Edge("x"),), control=("x",), device="/job:ps", attrs={"_a": b"b"}),
)
DEVICES = (interfaces.Device("/job:ps/replica:0/task:0/device:CPU:0", "CPU", 1 << 28, 2**63 + 5),)
_EDGES = tuple(node.Edge("n", index) for index in range(4))
PART = parts.Part(
    task="/job:ps/replica:0/task:0",
    nodes=NODES,
    legs={"x": 0, "y": 2},
    incoming=(parts.Message(3, "/job:a", "/job:ps", 1, (node.Edge("x", 0), node.Edge("z", 7))),),
    outgoing=(parts.Message(4, "/job:ps", "/job:a", 2),),
    feeds=(node.Edge("x"),),
    fetches=(node.Edge("y"), node.Edge("y")),
    tensor_shapes={_EDGES[0]: None, _EDGES[1]: (), _EDGES[2]: (None, 3, 0)},
    tensor_dtypes={_EDGES[1]: dtypes.float32, _EDGES[2]: dtypes.string, _EDGES[3]: dtypes.bfloat16},
)


class Recorder:
    """A master and a worker that record each call in `asked` and return or raise `answer`."""

    def __init__(self) -> None:
        self.asked: list[Any] = []
        self.answer: Any = None
        self.gate: threading.Event | None = None
        self.cancellation: cancellations.Cancellation | None = None

    def _note(self, *call: Any) -> Any:
        self.asked.append(call)
        if self.gate is not None:
            self.gate.wait(50)
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer

    def create_session(
        self,
        nodes: Sequence[node.Node],
        settings: config.SessionConfig,
        cancellation: cancellations.Cancellation | None = None,
        functions: Sequence[function.Function] = (),
    ) -> str:
        self.cancellation = cancellation
        return self._note("create", tuple(nodes), settings, *functions)  # type: ignore[no-any-return]

    def extend_session(
        self,
        handle: str,
        nodes: Sequence[node.Node],
        version: int,
        functions: Sequence[function.Function] = (),
    ) -> int:
        return self._note("extend", handle, tuple(nodes), version, *functions)  # type: ignore[no-any-return]

    def run_step(
        self,
        handle: str,
        feeds: Mapping[str, Any],
        fetches: Sequence[str],
        targets: Sequence[str],
        options: interfaces.StepOptions,
        cancellation: cancellations.Cancellation | None = None,
    ) -> list[Any]:
        self.cancellation = cancellation
        fed = {name: value.tolist() for name, value in feeds.items()}
        return self._note("run", handle, fed, list(fetches), list(targets), options)  # type: ignore[no-any-return]

    def run_step_with_metadata(self, *step: Any) -> tuple[list[Any], Any]:
        return self.run_step(*step), None

    def make_callable(self, *named: Any) -> int:
        return self._note("make", *named)  # type: ignore[no-any-return]

    def run_callable(
        self,
        handle: str,
        number: int,
        feeds: Sequence[Any],
        cancellation: cancellations.Cancellation | None = None,
    ) -> tuple[list[Any], Any]:
        self.cancellation = cancellation
        return self._note("call", handle, number, [value.tolist() for value in feeds]), None

    def release_callable(self, handle: str, number: int) -> None:
        self._note("release", handle, number)

    def partial_run_setup(self, *named: Any) -> str:
        return self._note("setup", *named)  # type: ignore[no-any-return]

    def partial_run(
        self,
        handle: str,
        partial: str,
        feeds: Mapping[str, Any],
        fetches: Sequence[str],
        options: interfaces.StepOptions,
        cancellation: cancellations.Cancellation | None = None,
    ) -> list[Any]:
        self.cancellation = cancellation
        fed = {name: value.tolist() for name, value in feeds.items()}
        return self._note("portion", handle, partial, fed, list(fetches), options)  # type: ignore[no-any-return]

    def close_session(self, handle: str) -> None:
        self._note("close", handle)

    def reset(self, containers: Sequence[str], device_filters: Sequence[str]) -> None:
        self._note("reset", list(containers), list(device_filters))

    def list_devices(
        self, handle: str, cancellation: cancellations.Cancellation | None = None
    ) -> tuple[interfaces.Device, ...]:
        self.cancellation = cancellation
        return self._note("devices", handle)  # type: ignore[no-any-return]

    def get_status(self) -> interfaces.WorkerStatus:
        return self._note("status")  # type: ignore[no-any-return]

    def register_graph(
        self,
        session: str,
        part: parts.Part,
        master: interfaces.Incarnation | None,
        registration: int,
        is_isolated: bool,
    ) -> int:
        called = ("register", session, part, master, registration, is_isolated)
        return self._note(*called)  # type: ignore[no-any-return]

    def deregister_graph(self, session: str, registrations: Sequence[int] = ()) -> None:
        self._note("deregister", session, *registrations)

    def cleanup_all(self, containers: Sequence[str]) -> None:
        self._note("cleanup", list(containers))

    def connect(self, task: str, incarnation: int, planes: Sequence[str]) -> doors.Offer:
        return self._note("connect", task, incarnation, tuple(planes))  # type: ignore[no-any-return]

    def admit(self, sock: socket.socket) -> None:
        sock.close()

    def drop(self, task: str) -> None:
        self._note("drop", task)
