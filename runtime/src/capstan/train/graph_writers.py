"""Writers of summaries that are part of a graph: each step writes to the event files itself
(python/ops/summary_ops_v2.py). `tf.contrib.summary` has most of these functions.

    with tf.contrib.summary.create_file_writer("logs").as_default():
        with tf.contrib.summary.record_summaries_every_n_global_steps(100):
            tf.contrib.summary.scalar("loss", loss)
    tf.contrib.summary.initialize(graph=tf.get_default_graph(), session=session)
    session.run([train, tf.contrib.summary.all_summary_ops()])

The default writer, and whether summaries are written, hold for the current thread.
"""

import abc
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final

import numpy as np

from capstan.api import logging
from capstan.core import dtypes
from capstan.framework import convert, defaults
from capstan.framework import graph as graphs
from capstan.framework.raw import raw
from capstan.train import steps

SUMMARIES: Final = "_SUMMARY_V2"
"""The collection of the operations that write summaries."""
_INITIALIZERS: Final = "_SUMMARY_WRITER_V2"
_HOST: Final = "cpu:0"


class SummaryWriter(abc.ABC):
    """A writer of summaries. The functions of `tf.contrib.summary` write to the default writer."""

    @abc.abstractmethod
    def set_as_default(self) -> None:
        """Make this the default writer of the current thread."""

    @abc.abstractmethod
    def as_default(self) -> Any:
        """Return a context in which this is the default writer."""

    @abc.abstractmethod
    def init(self) -> Any:
        """Return an operation that opens the file."""

    @abc.abstractmethod
    def flush(self) -> Any:
        """Return an operation that blocks until the summaries are in the file."""

    @abc.abstractmethod
    def close(self) -> Any:
        """Return an operation that writes all summaries and closes the file."""


class ResourceSummaryWriter(SummaryWriter):
    """A writer that a node named by `shared_name` stands for.

    `init_op_fn(handle)` returns the operation that opens the file.
    """

    def __init__(
        self, shared_name: str, init_op_fn: Callable[[Any], Any], name: str | None = None,
        v2: bool = False,
    ) -> None:  # fmt: skip
        self._resource = raw.SummaryWriter(shared_name=shared_name, name=name)
        self._init_op_fn = init_op_fn
        self._init_op = init_op_fn(self._resource)
        self._v2 = v2
        graphs.get_default_graph().add_to_collection(_INITIALIZERS, self._init_op)

    def set_as_default(self) -> None:
        defaults.SUMMARIES.writer = self

    @contextmanager
    def as_default(self) -> Iterator["ResourceSummaryWriter"]:
        outer = defaults.SUMMARIES.writer
        defaults.SUMMARIES.writer = self
        try:
            yield self
            self.flush()
        finally:
            defaults.SUMMARIES.writer = outer

    def init(self) -> Any:
        return self._init_op if self._v2 else self._init_op_fn(self._resource)

    def flush(self) -> Any:
        return flush(writer=self)

    def close(self) -> Any:
        graph = graphs.get_default_graph()
        with graph.control_dependencies([self.flush()]), graph.device(_HOST):
            return raw.CloseSummaryWriter(self._resource)


class NoopSummaryWriter(SummaryWriter):
    """A writer that does nothing, for programs that need one."""

    def set_as_default(self) -> None:
        pass

    @contextmanager
    def as_default(self) -> Iterator[None]:
        yield

    def init(self) -> None:
        pass

    def flush(self) -> None:
        pass

    def close(self) -> None:
        pass


def create_noop_writer() -> NoopSummaryWriter:
    """Return a writer that does nothing."""
    return NoopSummaryWriter()


def create_file_writer(
    logdir: Any, max_queue: Any = None, flush_millis: Any = None, filename_suffix: Any = None,
    name: str | None = None,
) -> SummaryWriter:  # fmt: skip
    """Return a writer of an event file in the folder `logdir`, or one that does nothing for None.

    The task of the writer makes the file. The file is written at least every `flush_millis`
    milliseconds, by default 2 minutes, or if `max_queue` summaries wait, by default 10. Writers
    with the same `name`, by default that of the folder, share one file.
    """
    if logdir is None:
        return NoopSummaryWriter()
    folder = os.fspath(logdir) if isinstance(logdir, os.PathLike) else str(logdir)
    with graphs.get_default_graph().device(_HOST):
        arguments = _arguments(max_queue, flush_millis, filename_suffix)
        return ResourceSummaryWriter(
            f"logdir:{folder}" if name is None else name,
            lambda handle: raw.CreateSummaryFileWriter(handle, folder, *arguments),
        )


def create_file_writer_v2(
    logdir: Any, max_queue: Any = None, flush_millis: Any = None, filename_suffix: Any = None,
    name: str | None = None,
) -> SummaryWriter:  # fmt: skip
    """Return a writer of an event file of its own in the folder `logdir`.

    Raises:
        ValueError: `logdir` is None.
    """
    if logdir is None:
        raise ValueError("logdir cannot be None")
    graph = graphs.get_default_graph()
    given = os.fspath(logdir) if isinstance(logdir, os.PathLike) else logdir
    with graph.name_scope(name or "create_file_writer") as scope, graph.device(_HOST):
        folder = convert.convert_to_tensor(given, dtype=dtypes.string)
        queue, millis, ending = _arguments(max_queue, flush_millis, filename_suffix)
        own = f".{os.getpid()}.{scope.rstrip('/').replace('/', '_')}"
        suffix = raw.StringJoin([own, convert.convert_to_tensor(ending, dtype=dtypes.string)])
        return ResourceSummaryWriter(
            scope.rstrip("/"),
            lambda handle: raw.CreateSummaryFileWriter(handle, folder, queue, millis, suffix),
            v2=True,
        )


def _arguments(max_queue: Any, flush_millis: Any, suffix: Any) -> tuple[Any, Any, Any]:
    """Return the arguments of CreateSummaryFileWriter, with defaults in the place of None."""
    return (
        np.int32(10) if max_queue is None else max_queue,
        np.int32(2 * 60 * 1000) if flush_millis is None else flush_millis,
        ".v2" if suffix is None else suffix,
    )


def create_summary_file_writer(*args: Any, **kwargs: Any) -> SummaryWriter:
    """Return what `create_file_writer` returns. This is its old name."""
    logging.warning(
        "Deprecation Warning: create_summary_file_writer was renamed to create_file_writer"
    )
    return create_file_writer(*args, **kwargs)


def eval_dir(model_dir: str, name: str | None = None) -> str:
    """Return the folder for the summaries of an evaluation."""
    return os.path.join(model_dir, f"eval_{name}" if name else "eval")


def initialize(graph: Any = None, session: Any = None) -> None:
    """Open the files of all writers of the default graph, in `session` or the default session.

    A `graph` is written to the file of the default writer, at step 0.

    Raises:
        RuntimeError: the thread has no default writer.
        ValueError: there is no session.
    """
    if defaults.SUMMARIES.writer is None:
        raise RuntimeError("No default tf.contrib.summary.SummaryWriter found")
    session = defaults.get_default_session() if session is None else session
    if session is None:
        raise ValueError("session must be passed if no default session exists")
    session.run(summary_writer_initializer_op())
    if graph is not None:
        text = (
            graph.as_graph_def(add_shapes=True) if hasattr(graph, "as_graph_def") else graph
        ).SerializeToString()
        with graphs.get_default_graph().device(_HOST):
            fed = raw.Placeholder(dtype=dtypes.string)
            write = raw.WriteGraphSummary(defaults.SUMMARIES.writer._resource, np.int64(0), fed)
        session.run(write, feed_dict={fed: text})


def all_v2_summary_ops() -> list[Any]:
    """Return what the functions of `tf.contrib.summary` have added to the default graph.

    A step that runs it writes the summaries. The graph and imported events are not among it.
    """
    return list(graphs.get_default_graph().get_collection(SUMMARIES))


def summary_writer_initializer_op() -> list[Any]:
    """Return the operations that open the files of all writers of the default graph."""
    return list(graphs.get_default_graph().get_collection(_INITIALIZERS))


def flush(writer: Any = None, name: str | None = None) -> Any:
    """Return an operation that blocks until the summaries of a writer are in its file.

    `writer` is a writer or its handle, by default the default writer. Without one, the operation
    does nothing.
    """
    writer = defaults.SUMMARIES.writer if writer is None else writer
    if writer is None:
        return raw.NoOp()
    handle = writer._resource if isinstance(writer, ResourceSummaryWriter) else writer
    with graphs.get_default_graph().device(_HOST):
        return raw.FlushSummaryWriter(handle, name=name)


@contextmanager
def record_if(condition: Any) -> Iterator[None]:
    """Write summaries in this context if `condition` is true.

    It is a boolean, a tensor, or a function that returns one of them.
    """
    outer = defaults.SUMMARIES.recording
    defaults.SUMMARIES.recording = condition
    try:
        yield
    finally:
        defaults.SUMMARIES.recording = outer


def record_summaries_every_n_global_steps(n: Any, global_step: Any = None) -> Any:
    """Return a context in which the steps write summaries whose number `n` divides."""
    number = steps.get_or_create_global_step() if global_step is None else global_step
    with graphs.get_default_graph().device(_HOST):
        should = raw.Equal(raw.FloorMod(number, n), 0)
    return record_if(should)


def always_record_summaries() -> Any:
    """Return a context in which all steps write summaries."""
    return record_if(True)


def never_record_summaries() -> Any:
    """Return a context in which no step writes summaries."""
    return record_if(False)


def should_record_summaries(default_state: bool = False) -> Any:
    """Return whether steps write the summaries that are added now: a boolean or a tensor.

    Outside of all contexts it is `default_state`.
    """
    condition = defaults.SUMMARIES.recording
    condition = condition() if callable(condition) else condition
    return default_state if condition is None else condition


def get_step() -> Any:
    """Return the number of the step that `set_step` has set for this thread, or None."""
    return defaults.SUMMARIES.step


def set_step(step: Any) -> None:
    """Set the number of the step for `write` and `write_raw_pb` in this thread."""
    defaults.SUMMARIES.step = step
