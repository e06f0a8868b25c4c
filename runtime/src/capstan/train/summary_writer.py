"""`FileWriter`: writes summaries, graphs and traces to the files that TensorBoard reads.

Source: tensorflow/python/summary/writer/writer.py, writer_cache.py.
"""

import os
import threading
import time
import warnings
from types import TracebackType
from typing import Any, ClassVar, Self

from capstan.api import logging
from capstan.framework import graph as graphs
from capstan.resources import event_file
from capstan.train import meta_graph


class SummaryToEventTransformer:
    """Turns summaries, graphs and other messages into events for `event_writer`.

    `event_writer` has the methods of `EventFileWriter`. A `graph` or `graph_def` is written at
    once, both as a GraphDef and as a MetaGraphDef. Thread-safe if the writer is.
    """

    def __init__(self, event_writer: Any, graph: Any = None, graph_def: Any = None) -> None:
        self.event_writer = event_writer
        self._run_tags: set[str] = set()
        self._tags_with_metadata: set[str] = set()
        if graph is not None or graph_def is not None:
            self.add_graph(graph, graph_def=graph_def)
            self.add_meta_graph(_meta_graph(graph if graph_def is None else graph_def))

    def add_summary(self, summary: Any, global_step: int | None = None) -> None:
        """Write a `Summary`, or the bytes that a summary operation returned.

        The metadata of a tag are written only once. They are removed from later messages.
        """
        from tensorboard.compat.proto import event_pb2, summary_pb2

        if isinstance(summary, bytes):
            summary = summary_pb2.Summary.FromString(summary)
        for value in summary.value:
            if value.tag in self._tags_with_metadata:
                value.ClearField("metadata")
            self._tags_with_metadata.add(value.tag)
        self._add_event(event_pb2.Event(summary=summary), global_step)

    def add_session_log(self, session_log: Any, global_step: int | None = None) -> None:
        """Write a `SessionLog`, such as the start of a session at `global_step`."""
        from tensorboard.compat.proto import event_pb2

        self._add_event(event_pb2.Event(session_log=session_log), global_step)

    def add_graph(self, graph: Any, global_step: int | None = None, graph_def: Any = None) -> None:
        """Write a graph, with the shapes of its tensors. A GraphDef is deprecated.

        Raises:
            TypeError: the argument is neither a Graph nor a GraphDef.
            ValueError: both `graph` and `graph_def` are given.
        """
        from tensorboard.compat.proto import event_pb2, graph_pb2

        if graph is not None and graph_def is not None:
            raise ValueError("Please pass only graph, or graph_def (deprecated), but not both.")
        source = graph_def if graph is None else graph
        if isinstance(source, graphs.Graph):
            if graph is None:
                logging.warning(
                    "When passing a `Graph` object, please use the `graph` named argument instead "
                    "of `graph_def`."
                )
            message = source.as_graph_def(add_shapes=True)
        elif isinstance(source, graph_pb2.GraphDef):
            logging.warning(
                "Passing a `GraphDef` to the SummaryWriter is deprecated. Pass a `Graph` object "
                "instead, such as `sess.graph`."
            )
            message = source
        else:
            raise TypeError(
                "The passed graph must be an instance of `Graph` or the deprecated `GraphDef`"
            )
        self._add_event(event_pb2.Event(graph_def=message.SerializeToString()), global_step)

    def add_meta_graph(self, meta_graph_def: Any, global_step: int | None = None) -> None:
        """Write a MetaGraphDef.

        Raises:
            TypeError: the argument is not a MetaGraphDef.
        """
        from tensorboard.compat.proto import event_pb2, meta_graph_pb2

        if not isinstance(meta_graph_def, meta_graph_pb2.MetaGraphDef):
            raise TypeError(
                f"meta_graph_def must be type MetaGraphDef, saw type: {type(meta_graph_def)}"
            )
        event = event_pb2.Event(meta_graph_def=meta_graph_def.SerializeToString())
        self._add_event(event, global_step)

    def add_run_metadata(self, run_metadata: Any, tag: str, global_step: int | None = None) -> None:
        """Write the RunMetadata of a traced step. TensorBoard shows `tag` beside the graph.

        Raises:
            ValueError: the tag has been used before.
        """
        from tensorboard.compat.proto import event_pb2

        if tag in self._run_tags:
            raise ValueError("The provided tag was already used for this event type")
        self._run_tags.add(tag)
        tagged = event_pb2.TaggedRunMetadata(tag=tag, run_metadata=run_metadata.SerializeToString())
        self._add_event(event_pb2.Event(tagged_run_metadata=tagged), global_step)

    def _add_event(self, event: Any, step: int | None) -> None:
        event.wall_time = time.time()
        if step is not None:
            event.step = int(step)
        self.event_writer.add_event(event)


class FileWriter(SummaryToEventTransformer):
    """Writes events to a new file in the folder `logdir`. Thread-safe.

    A thread of the writer writes the file. `max_queue` events may wait for the thread; then
    `add_summary` and the other methods block. The thread flushes the file every `flush_secs`
    seconds, when there are new events. If the file cannot be written, the methods raise an OpError.

    With a `session`, the task of the session writes the file (`SessionEventWriter`). The session
    must be open until the writer is closed.
    """

    def __init__(
        self,
        logdir: str | os.PathLike[str],
        graph: Any = None,
        max_queue: int = 10,
        flush_secs: float = 120,
        graph_def: Any = None,
        filename_suffix: str | None = None,
        session: Any = None,
    ) -> None:
        arguments = logdir, max_queue, flush_secs, filename_suffix
        writer: Any
        if session is None:
            writer = event_file.EventFileWriter(*arguments)
        else:
            from capstan.train import session_events  # Few programs need it.

            writer = session_events.SessionEventWriter(session, *arguments)
        self._is_closed = False
        super().__init__(writer, graph, graph_def)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    @property
    def is_closed(self) -> bool:
        """Whether the writer drops events, because it was closed and not reopened."""
        return self._is_closed

    def get_logdir(self) -> str:
        """Return the folder of the event file."""
        return str(self.event_writer.get_logdir())

    def add_event(self, event: Any) -> None:
        """Write an `Event` as it is."""
        self._warn_if_closed()
        self.event_writer.add_event(event)

    def flush(self) -> None:
        """Block until all events are in the file."""
        self._warn_if_closed()
        self.event_writer.flush()

    def close(self) -> None:
        """Write all events and close the file. Idempotent. Later events are dropped."""
        self.event_writer.close()
        self._is_closed = True

    def reopen(self) -> None:
        """Open a new file in the same folder if the writer is closed."""
        self.event_writer.reopen()
        self._is_closed = False

    def _add_event(self, event: Any, step: int | None) -> None:
        self._warn_if_closed()
        super()._add_event(event, step)

    def _warn_if_closed(self) -> None:
        if self._is_closed:
            warnings.warn(
                "Attempting to use a closed FileWriter. The operation will be a noop unless the "
                "FileWriter is explicitly reopened.",
                stacklevel=4,
            )


class FileWriterCache:
    """The file writers of this process, one for each folder. Thread-safe.

    Hooks that write to the same folder share one file through this class.
    """

    _cache: ClassVar[dict[str, FileWriter]] = {}
    _lock: ClassVar[threading.RLock] = threading.RLock()

    @staticmethod
    def clear() -> None:
        """Close all writers and forget them."""
        with FileWriterCache._lock:
            for writer in FileWriterCache._cache.values():
                writer.close()
            FileWriterCache._cache.clear()

    @staticmethod
    def get(logdir: str | os.PathLike[str]) -> FileWriter:
        """Return the writer for a folder. A new writer first writes the default graph."""
        folder = os.fspath(logdir)
        with FileWriterCache._lock:
            if folder not in FileWriterCache._cache:
                graph = graphs.get_default_graph()
                FileWriterCache._cache[folder] = FileWriter(folder, graph=graph)
            return FileWriterCache._cache[folder]


def _meta_graph(source: Any) -> Any:
    """Return a Graph or a GraphDef as a MetaGraphDef."""
    from tensorboard.compat.proto import meta_graph_pb2

    if not isinstance(source, graphs.Graph):
        return meta_graph_pb2.MetaGraphDef(graph_def=source)
    return meta_graph.create_meta_graph_def(graph=source)
