"""Tensors of collective operations on their way between tasks, over links.

TensorFlow: distributed_runtime/collective_rma_distributed.cc. Its call RecvBuf is two frames. A
member that needs a tensor asks for it with a RECV_BUF, and waits for the BUF. If the other task
ends, the link breaks.
"""

import contextlib
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

from capstan import errors
from capstan.core.arrays import Array
from capstan.services import collective_buffers, collective_rounds, collective_steps
from capstan.transport import api, interfaces

_PATIENCE_S: Final = 10.0
"""How long a member waits for a task that cannot be reached."""

_RETRY_S: Final = 0.05


class Told(Exception):
    """Another task has said that the step failed, with an error that names the failed task."""

    def __init__(self, error: errors.OpError) -> None:
        super().__init__(error.message)
        self.error = error


class Connections:
    """Links to the other tasks, which an abort of their epoch closes. Thread-safe."""

    def __init__(self, peers: Callable[[str], interfaces.WorkerApi], links: api.Links) -> None:
        self._peers = peers
        self._links = links
        self._lock = threading.Lock()
        self._incarnations: dict[str, int] = {}

    def cut(self, epoch: collective_steps.Epoch) -> None:
        """Close the links of an epoch that has an error. Learn the incarnations anew."""
        self._incarnations.clear()
        with self._lock:
            links = list(epoch.links)
        for link in links:
            link.close()

    def _incarnation(self, epoch: collective_steps.Epoch, task: str, limit: float) -> int:
        """Return the incarnation of a task. If it is not known, wait until the task answers."""
        pause = threading.Event()
        while True:
            known = self._incarnations.get(task)
            if known is not None:
                return known
            try:
                self._incarnations[task] = self._peers(task).get_status().incarnation
            except (errors.UnavailableError, errors.DeadlineExceededError):
                if epoch.error is not None or time.monotonic() > limit:
                    raise
                pause.wait(_RETRY_S)

    @contextlib.contextmanager
    def link(self, epoch: collective_steps.Epoch, task: str) -> Iterator[api.Link]:
        """Take a link to a task for a block.

        Raises:
            OpError: the error of the epoch. Or the task is lost: the error names it.
        """
        limit = time.monotonic() + _PATIENCE_S
        try:
            incarnation = self._incarnation(epoch, task, limit)
            link = self._links.take(task, incarnation, limit)
        except errors.OpError as fault:
            raise epoch.error or lost(task, fault) from None
        with self._lock:
            epoch.links.add(link)
        try:
            _require_alive(epoch)
            yield link
        except BaseException:
            link.close()
            raise
        else:
            self._links.give_back(task, incarnation, link)
        finally:
            with self._lock:
                epoch.links.discard(link)


class Exchange(collective_rounds.Exchange):
    """The exchange of one run over links."""

    def __init__(
        self,
        connections: Connections,
        buffers: collective_buffers.Buffers,
        epoch: collective_steps.Epoch,
        plan: collective_steps.Plan,
        name: str,
    ) -> None:
        self._connections = connections
        self._buffers = buffers
        self._epoch = epoch
        self._plan = plan
        self._name = name

    @property
    def rank(self) -> int:
        return self._plan.rank

    @property
    def count(self) -> int:
        return len(self._plan.tasks)

    def offer(self, name: str, value: Array, readers: int) -> None:
        key = f"{self._name}:{name}:{self.rank}"
        self._buffers.offer(self._epoch.number, key, value, readers)

    def fetch(self, names: Sequence[tuple[int, str]], take: Callable[[int, Array], None]) -> None:
        with contextlib.ExitStack() as held:
            links = []
            for rank, name in names:
                link = held.enter_context(
                    self._connections.link(self._epoch, self._plan.tasks[rank])
                )
                key = api.text(f"{self._name}:{name}:{rank}")
                self._talk(rank, link.send, _asking(self._epoch.number, key))
                links.append(link)
            for position, link in enumerate(links):
                frame = self._talk(names[position][0], link.recv)
                if frame.kind is not api.Kind.BUF:
                    raise errors.InternalError(
                        None, None, f"A task answered {frame.kind.name} in place of a tensor"
                    )
                (value,) = frame.values
                if frame.subject:
                    words = bytes(value.item()).decode(errors="replace")
                    raise Told(errors.from_code(frame.subject, words))
                take(position, value)

    def _talk(self, rank: int, call: Callable[..., Any], *arguments: Any) -> Any:
        """Call a method of a link to a task. If the link breaks, raise an error with the task."""
        try:
            return call(*arguments)
        except errors.UnavailableError as fault:
            raise self._epoch.error or lost(self._plan.tasks[rank], fault) from None


def _require_alive(epoch: collective_steps.Epoch) -> None:
    if epoch.error is not None:
        raise epoch.error


def _asking(step: int, key: Array) -> api.Frame:
    return api.Frame(api.Kind.RECV_BUF, step, 0, (key,))


def answer(step: int, value: Array | None, error: errors.OpError | None) -> api.Frame:
    if error is not None:
        return api.Frame(api.Kind.BUF, step, error.error_code, (api.text(error.message),))
    assert value is not None
    return api.Frame(api.Kind.BUF, step, 0, (value,))


def lost(task: str, fault: errors.OpError) -> errors.OpError:
    return errors.UnavailableError(
        None,
        None,
        f"Collective ops were aborted, because {task} has ended or cannot be reached: "
        f"{fault.message}",
    )
