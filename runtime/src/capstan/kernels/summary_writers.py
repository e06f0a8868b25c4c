"""Kernels that write summaries to files (core/kernels/summary_kernels.cc).

The summaries are those of the kernels in `summary` and `summary_media`.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from capstan import errors
from capstan.core.arrays import Array
from capstan.kernels import rejection, resources, summary, summary_media
from capstan.kernels.registry import Function, Kernel, NodeContext, register
from capstan.kernels.rejection import invalid
from capstan.resources import event_file, summary_database, summary_writer

Summarize = Callable[..., Any]
"""Takes the inputs of a node after `step`, and returns a serialized Summary."""


def _writer(node: NodeContext) -> Function:
    found = resources.named(
        node, "summary writer", summary_writer.SummaryWriter, may_be_private=False
    )
    return lambda: found


def _create(_: NodeContext) -> Function:
    def create(handle: Any, logdir: Array, queue: Array, millis: Array, suffix: Array) -> None:
        folder, ending = _text(logdir, "logdir"), _text(suffix, "filename_suffix")
        waiting, limit = rejection.number(queue, "max_queue"), rejection.number(millis, "millis")
        resources.behind(handle).open(
            lambda: event_file.EventFileWriter(folder, waiting, limit / 1000, ending)
        )

    return create


def _create_database(_: NodeContext) -> Function:
    def create(handle: Any, uri: Array, experiment: Array, run: Array, user: Array) -> None:
        given = (
            _text(uri, "db_uri"),
            _text(experiment, "experiment_name"),
            _text(run, "run_name"),
            _text(user, "user_name"),
        )
        resources.behind(handle).open(lambda: summary_database.DatabaseWriter(*given))

    return create


def _text(value: Array, name: str) -> str:
    return rejection.string(value, name).decode(errors="surrogateescape")


def _flush(_: NodeContext) -> Function:
    return lambda handle: resources.behind(handle).flush()


def _close(_: NodeContext) -> Function:
    return lambda handle: resources.behind(handle).close()


def _event(step: Array | None = None) -> Any:
    from tensorboard.compat.proto import event_pb2

    event = event_pb2.Event()
    if step is not None:
        event.step = rejection.number(step, "step")
    return event


def _parsed(message: Any, text: bytes, kind: str) -> Any:
    """Parse `text` into `message`.

    Raises:
        DataLossError: the text is no message of that kind.
    """
    from google.protobuf.message import DecodeError

    try:
        message.ParseFromString(text)
    except DecodeError:
        raise errors.DataLossError(None, None, f"Bad {kind} binary proto tensor string") from None
    return message


def _writes(make: Callable[[NodeContext], Summarize]) -> Callable[[NodeContext], Function]:
    """Return the kernel of an op that writes the summary of its inputs."""

    def make_write(node: NodeContext) -> Function:
        summarize = make(node)

        def write(handle: Any, step: Array, *inputs: Array) -> None:
            event = _event(step)
            event.summary.ParseFromString(summarize(*inputs).item())
            resources.behind(handle).write(event)

        return write

    return make_write


def _tensor(_: NodeContext) -> Summarize:
    return lambda tensor, tag, metadata: summary.of_tensor(tag, tensor, metadata)


def _scalar(_: NodeContext) -> Summarize:
    def summarize(tag: Array, value: Array) -> Any:
        if np.size(value) != 1:
            raise invalid(f"value of tag {rejection.string(tag, 'tag')!r} must be a scalar")
        return summary.of_scalars(np.asarray(tag).reshape(()), np.asarray(value).reshape(()))

    return summarize


def _image(node: NodeContext) -> Summarize:
    limit = node.attrs["max_images"]

    def summarize(tag: Array, tensor: Array, bad_color: Array) -> Any:
        return summary_media.of_images(tag, tensor, limit, bad_color)

    return summarize


def _graph(_: NodeContext) -> Function:
    def write(handle: Any, step: Array, tensor: Array) -> None:
        from tensorboard.compat.proto import graph_pb2

        text, event = rejection.string(tensor, "tensor"), _event(step)
        _parsed(graph_pb2.GraphDef(), text, "tf.GraphDef")
        event.graph_def = text
        resources.behind(handle).write(event)

    return write


def _raw(_: NodeContext) -> Function:
    def write(handle: Any, step: Array, tensor: Array) -> None:
        event = _event(step)
        for text in np.asarray(tensor, object).flat:
            part = type(event.summary)()
            event.summary.MergeFrom(_parsed(part, text, "tf.compat.v1.Summary"))
        resources.behind(handle).write(event)

    return write


def _imported(_: NodeContext) -> Function:
    def write(handle: Any, tensor: Array) -> None:
        text = rejection.string(tensor, "event")
        resources.behind(handle).write(_parsed(_event(), text, "tf.Event"))

    return write


register(Kernel("SummaryWriter", _writer))
register(Kernel("CreateSummaryFileWriter", _create, holds_thread=True))
register(Kernel("CreateSummaryDbWriter", _create_database, holds_thread=True))
register(Kernel("FlushSummaryWriter", _flush, holds_thread=True))
register(Kernel("CloseSummaryWriter", _close, holds_thread=True))
for _op, _make in (
    ("WriteAudioSummary", _writes(summary_media.audio)),
    ("WriteGraphSummary", _graph),
    ("WriteHistogramSummary", _writes(summary.histogram)),
    ("WriteImageSummary", _writes(_image)),
    ("WriteRawProtoSummary", _raw),
    ("WriteScalarSummary", _writes(_scalar)),
    ("WriteSummary", _writes(_tensor)),
    ("ImportEvent", _imported),
):
    register(Kernel(_op, _make))
