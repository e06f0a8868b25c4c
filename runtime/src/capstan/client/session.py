"""`Session`: the client of a master (TensorFlow: python/client/session.py).

The constructor does not contact the master. The first run creates the session on the master
(`connection`). Runs may be concurrent. Each run blocks only its caller.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from types import TracebackType
from typing import Any

from capstan.client import connection, expansions, requests, tensor_handle
from capstan.core import config as settings_of
from capstan.framework import defaults
from capstan.framework import graph as graphs
from capstan.services import targets
from capstan.transport import cancellation, interfaces

_NO_OPTIONS = interfaces.StepOptions()
_REPEATED = interfaces.StepOptions(is_repeated=True)


class Session:
    """A connection to a master, for one graph. Thread-safe, except for `__enter__`."""

    def __init__(
        self, target: Any = "", graph: graphs.Graph | None = None, config: Any = None
    ) -> None:
        """Prepare a session of `graph` (default: the default graph). Contacts no other process.

        `target` is the `target` of a server, such as `grpc://host:port`. The empty string stands
        for a master of this process without a cluster. `config` is a `tf.ConfigProto`.

        Raises:
            TypeError: an argument is of another type.
            NotFoundError: `target` is neither empty nor of the form `grpc://host:port`.
        """
        if not isinstance(target, str):
            raise TypeError(
                f"target must be a string, but got {type(target)}. "
                'Did you do "Session(config)" instead of "Session(config=config)"?'
            )
        if config is not None and not hasattr(config, "allow_soft_placement"):
            raise TypeError(f"config must be a tf.ConfigProto, but got {type(config)}")
        if graph is not None and not isinstance(graph, graphs.Graph):
            raise TypeError(f"graph must be a tf.Graph, but got {type(graph)}")
        self._target = target
        self._graph = graphs.get_default_graph() if graph is None else graph
        settings = None if config is None else settings_of.SessionConfig.from_proto(config)
        if config is None and defaults.BEHAVIOUR.settings != settings_of.SessionConfig():
            settings = defaults.BEHAVIOUR.settings
        self._master, settings = targets.find(self._target, settings)
        self._connection = connection.Connection(self._graph, self._master, settings)
        self.handles = tensor_handle.Handles(self)
        """The tensors that this session keeps between its steps."""
        self._requests = requests.Requests(self._graph, self.handles.wrap)
        self._contexts: list[AbstractContextManager[Any]] = []

    @property
    def graph(self) -> graphs.Graph:
        """The graph that this session runs."""
        return self._graph

    @property
    def sess_str(self) -> str:
        """The target that the caller passed to the constructor."""
        return self._target

    @property
    def graph_def(self) -> Any:
        """The graph as a GraphDef."""
        return self._graph.as_graph_def()

    def run(
        self,
        fetches: Any,
        feed_dict: Mapping[Any, Any] | None = None,
        options: Any = None,
        run_metadata: Any = None,
    ) -> Any:
        """Run one step and return the values of `fetches`, in the same structure.

        Values are copies. The value of a tensor of rank 0 is a NumPy scalar, or `bytes` for a
        string. The value of an operation is None. Blocks until the step is over. The call fills
        `run_metadata` with the metadata that `options` ask for.

        Raises:
            RuntimeError: the session is closed, or its graph is empty.
            TypeError, ValueError: a fetch or a feed does not match the graph.
            CancelledError: the session was closed during the step.
            OpError: the step failed. The class of the error says why. `op` is the failed operation.
        """
        self._check_runnable()
        if dead := self.handles.take_dead():
            self._delete(dead)
        feed_dict = expansions.feeds(feed_dict)
        request = self._requests.find(fetches, feed_dict)
        values = request.values(feed_dict)
        limits = _NO_OPTIONS if options is None else interfaces.StepOptions.from_proto(options)
        if run_metadata is None:
            found = self._connection.call(
                lambda handle: self._master.run_step(
                    handle, values, request.fetch_names, request.target_names, limits
                )
            )
        else:
            found, metadata = self._connection.call(
                lambda handle: self._master.run_step_with_metadata(
                    handle, values, request.fetch_names, request.target_names, limits
                )
            )
            run_metadata.ParseFromString(metadata.SerializeToString() if metadata else b"")
        return request.answer(found)

    def run_until(self, end: cancellation.Cancellation, fetches: Any) -> Any:
        """Run a step without feeds, as `run` does. `end.cancel()` ends a step that waits.

        The caller repeats the step. A step that reads a record of a file and enqueues it may
        therefore do so for several records.

        Raises:
            CancelledError: `end` was cancelled before the step was over.
        """
        self._check_runnable()
        request = self._requests.find(fetches, None)
        values = request.values(None)
        found = self._connection.call(
            lambda handle: self._master.run_step(
                handle, values, request.fetch_names, request.target_names, _REPEATED, end
            )
        )
        return request.answer(found)

    def _delete(self, handles: Sequence[str]) -> None:
        """Run a step that deletes the tensors of `handles`."""
        deleters = [self.handles.deleter(handle, number) for number, handle in enumerate(handles)]
        feeds = {holder: handle for (holder, _), handle in zip(deleters, handles, strict=True)}
        self.run([deleter for _, deleter in deleters], feeds)

    def make_callable(
        self, fetches: Any, feed_list: Sequence[Any] | None = None, accept_options: bool = False
    ) -> Callable[..., Any]:
        """Return a function that runs `fetches`. Its arguments are the values to feed.

        `feed_list` lists the tensors to feed, in the order of the arguments. If `accept_options` is
        true, the function also takes `options` and `run_metadata`, as `run` does.

        Raises:
            TypeError: `feed_list` is not a list. The returned function also raises TypeError if it
                does not get one value for each tensor.
            TypeError, ValueError: `feed_list` is None, and a fetch is not in the graph. With a
                list, the returned function raises the error.
        """
        if feed_list is not None and not isinstance(feed_list, list | tuple):
            raise TypeError(f"Argument `feed_list` must be a list. Received: feed_list={feed_list}")
        if feed_list is None:
            self._requests.find(fetches, None)
        keys = list(feed_list or ())

        def call(*values: Any, **options: Any) -> Any:
            if len(values) != len(keys):
                raise TypeError(f"this callable takes {len(keys)} values, but got {len(values)}")
            return self.run(fetches, dict(zip(keys, values, strict=True)), **options)

        return call if accept_options else lambda *values: call(*values)

    def partial_run_setup(self, fetches: Any, feeds: Any = None) -> str:
        """Begin a step that is fed and fetched in portions, and return the handle of the step.

        `fetches` lists everything that the portions will fetch or run. `feeds` lists the tensors
        that they will feed. It may be one tensor.

        Raises:
            RuntimeError, TypeError, ValueError: as `run`.
            InvalidArgumentError: `fetches` is empty, or a tensor is both fed and fetched.
        """
        self._check_runnable()
        given = feeds if isinstance(feeds, list | tuple) else [] if feeds is None else [feeds]
        request = self._requests.find(fetches, dict.fromkeys(expansions.feed_keys(given)))
        return self._connection.call(
            lambda handle: self._master.partial_run_setup(
                handle, request.feed_names, request.fetch_names, request.target_names
            )
        )

    def partial_run(
        self, handle: str, fetches: Any, feed_dict: Mapping[Any, Any] | None = None
    ) -> Any:
        """Run a portion of the step `handle`: feed tensors, and return the values of `fetches`.

        The values have the form that `run` returns. Over all portions of a step, each tensor may be
        fed once, and each fetch may be fetched once. No operation runs twice.

        Raises:
            InvalidArgumentError: a feed or fetch was not in the setup or is repeated, a fetch needs
                a tensor that was not fed yet, or there is no such step.
            RuntimeError: as `run`, or `fetches` has operations, which only the setup may name.
        """
        self._check_runnable()
        feed_dict = expansions.feeds(feed_dict)
        request = self._requests.find(fetches, feed_dict)
        if request.target_names:
            raise RuntimeError("partial_run() requires empty target_list.")
        values = request.values(feed_dict)
        found = self._connection.call(
            lambda session: self._master.partial_run(
                session, handle, values, request.fetch_names, _NO_OPTIONS
            )
        )
        return request.answer(found)

    def list_devices(self) -> list[interfaces.Device]:
        """Return the devices of the cluster that this session may use. Its graph may be empty.

        Raises:
            RuntimeError: the session is closed.
            OpError: the master does not answer.
        """
        return list(self._connection.call(self._master.list_devices))

    def close(self) -> None:
        """End the session. Idempotent.

        A run in flight raises CancelledError, unless all its parts succeed before they learn of the
        end. A run that still waits for the creation of the session raises CancelledError.
        """
        self._connection.close()

    @classmethod
    def reset(
        cls, target: str, containers: Sequence[str] | None = None, config: Any = None
    ) -> None:
        """Close every session of the master at `target`, and delete the variables, queues and other
        resources that `containers` hold on the tasks of its cluster.

        Without `containers`, it clears the default container of each task. For the in-process
        target (an empty string) it does nothing. `config.operation_timeout_in_ms` limits the time
        that it waits for the master.

        Raises:
            OpError: the master does not answer, or a task could not be cleared. The other tasks
                were cleared.
        """
        if target:
            settings = settings_of.SessionConfig.from_proto(config)
            found, _ = targets.find(target, settings)
            found.reset(list(containers or ()), timeout_ms=settings.operation_timeout_ms)

    def as_default(self) -> AbstractContextManager["Session"]:
        """Return a block in which this session is the default session of the thread.

        The end of the block does not close the session.
        """
        return defaults.SESSIONS.entered(self, "session")

    def __enter__(self) -> "Session":
        if self._contexts:
            raise RuntimeError(
                "Session context managers are not re-entrant. Use `Session.as_default()` if you "
                "want to enter a session multiple times."
            )
        self._contexts = [self._graph.as_default(), self.as_default()]
        for context in self._contexts:
            context.__enter__()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        fault: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        while self._contexts:
            self._contexts.pop().__exit__(kind, fault, trace)
        self.close()

    @property
    def _closed(self) -> bool:
        """Whether the session was closed (TensorFlow's name)."""
        return self._connection.is_closed

    def _check_runnable(self) -> None:
        if self._connection.is_closed:
            raise connection.closed()
        if not self._graph.version:
            raise RuntimeError(
                "The Session graph is empty.  Add operations to the graph before calling run()."
            )
