"""Summaries that a step writes to the event file of the default writer
(python/ops/summary_ops_v2.py).

Each function returns a tensor or operation that writes the summary if the conditions of
`train.graph_writers` hold, and adds it to the collection of `all_summary_ops`. Without a default
writer, it returns an operation that does nothing. `step` is by default the global step. The tag is
the name in its name scope, and `family` is a prefix of the tag.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from capstan.api import array_ops, smart_cond, summary_scopes
from capstan.core import dtypes
from capstan.framework import convert, defaults
from capstan.framework import graph as graphs
from capstan.framework.raw import raw
from capstan.train import graph_writers, steps

_HOST = "cpu:0"
_Write = Callable[[str, str], Any]
"""Takes the tag and the name scope of a summary, and returns the operation that writes it."""


def scalar(name: str, tensor: Any, family: str | None = None, step: Any = None) -> Any:
    """Write a number."""

    def write(tag: str, scope: str) -> Any:
        value = array_ops.identity(tensor)
        return raw.WriteScalarSummary(_handle(), _step(step), tag, value, name=scope)

    return summary_writer_function(name, tensor, write, family)


def histogram(name: str, tensor: Any, family: str | None = None, step: Any = None) -> Any:
    """Write the distribution of the elements of a tensor."""

    def write(tag: str, scope: str) -> Any:
        values = array_ops.identity(tensor)
        return raw.WriteHistogramSummary(_handle(), _step(step), tag, values, name=scope)

    return summary_writer_function(name, tensor, write, family)


def image(
    name: str, tensor: Any, bad_color: Any = None, max_images: int = 3, family: str | None = None,
    step: Any = None,
) -> Any:  # fmt: skip
    """Write the first `max_images` images of a batch, with `bad_color` for pixels that are NaN."""
    colour = np.array([255, 0, 0, 255], np.uint8) if bad_color is None else bad_color

    def write(tag: str, scope: str) -> Any:
        images = array_ops.identity(tensor)
        return raw.WriteImageSummary(
            _handle(), _step(step), tag, images, colour, max_images=max_images, name=scope
        )

    return summary_writer_function(name, tensor, write, family)


def audio(
    name: str, tensor: Any, sample_rate: Any, max_outputs: int, family: str | None = None,
    step: Any = None,
) -> Any:  # fmt: skip
    """Write the first `max_outputs` sounds of a batch."""

    def write(tag: str, scope: str) -> Any:
        sounds = array_ops.identity(tensor)
        return raw.WriteAudioSummary(
            _handle(), _step(step), tag, sounds, sample_rate, max_outputs=max_outputs, name=scope
        )

    return summary_writer_function(name, tensor, write, family)


def generic(
    name: str, tensor: Any, metadata: Any = None, family: str | None = None, step: Any = None
) -> Any:
    """Write a tensor. `metadata` is a SummaryMetadata, also serialized or as a tensor."""

    def write(tag: str, scope: str) -> Any:
        value = array_ops.identity(tensor)
        return raw.WriteSummary(_handle(), _step(step), value, tag, _text(metadata), name=scope)

    return summary_writer_function(name, tensor, write, family)


def summary_writer_function(
    name: str, tensor: Any, function: _Write, family: str | None = None
) -> Any:
    """Let `function(tag, scope)` write a summary of `tensor` if summaries are written."""
    if defaults.SUMMARIES.writer is None:
        return raw.NoOp()
    graph = graphs.get_default_graph()
    outer = graph.get_name_scope()

    def record() -> Any:
        # The scope of the conditional is no part of the tag.
        with (
            graphs.get_default_graph().name_scope(f"{outer}/" if outer else None),
            summary_scopes.summary_scope(name, family, values=[tensor]) as (tag, scope),
        ):
            return _true_after(function(tag, scope))

    return _recorded(graph_writers.should_record_summaries(), record, "")


def write(
    tag: str, tensor: Any, step: Any = None, metadata: Any = None, name: str | None = None
) -> Any:
    """Write a tensor under exactly this tag, unless the context says that nothing is written.

    `tensor` may be a function. It is called for the tensor, which only a step that writes computes.

    Raises:
        ValueError: neither `step` nor `set_step` gives a step.
    """
    with graphs.get_default_graph().name_scope(name or "write_summary") as scope:
        if defaults.SUMMARIES.writer is None:
            return convert.constant(False)
        number = _given_step(step)

        def record() -> Any:
            value = tensor() if callable(tensor) else array_ops.identity(tensor)
            return _true_after(
                raw.WriteSummary(_handle(), number, value, tag, _text(metadata), name=scope)
            )

        return _recorded(graph_writers.should_record_summaries(True), record, "summary_cond")


def write_raw_pb(tensor: Any, step: Any = None, name: str | None = None) -> Any:
    """Write serialized Summary messages, a tensor of strings, in one event.

    Raises:
        ValueError: neither `step` nor `set_step` gives a step.
    """
    with graphs.get_default_graph().name_scope(name or "write_raw_pb") as scope:
        if defaults.SUMMARIES.writer is None:
            return convert.constant(False)
        number = _given_step(step)

        def record() -> Any:
            texts = array_ops.identity(tensor)
            return _true_after(raw.WriteRawProtoSummary(_handle(), number, texts, name=scope))

        return _recorded(graph_writers.should_record_summaries(True), record, "summary_cond")


def graph(param: Any, step: Any = None, name: str | None = None) -> Any:
    """Return an operation that writes a serialized graph, a tensor, whatever the conditions say.

    Raises:
        TypeError: `param` is not a tensor.
    """
    if not isinstance(param, graphs.Tensor):
        raise TypeError(
            f"graph() needs a tf.Tensor (e.g. tf.placeholder) in graph mode, but was: {type(param)}"
        )
    if defaults.SUMMARIES.writer is None:
        return raw.NoOp()
    with graphs.get_default_graph().device(_HOST):
        text = array_ops.identity(param)
        return raw.WriteGraphSummary(_handle(), _step(step), text, name=name)


def import_event(tensor: Any, name: str | None = None) -> Any:
    """Return an operation that writes a serialized Event, whatever the conditions say."""
    return raw.ImportEvent(_handle(), tensor, name=name)


@contextmanager
def summary_scope(
    name: str | None, default_name: str = "summary", values: Any = None
) -> Iterator[tuple[str, str]]:
    """Enter a name scope. The block gets the tag, which may occur twice, and the scope."""
    current = graphs.get_default_graph()
    given, outer = name or default_name, current.get_name_scope()
    cleaned = "".join(
        each for each in given if each.isascii() and (each.isalnum() or each in "-_/.")
    )
    with current.name_scope(cleaned or default_name) as scope:
        yield (f"{outer}/{given}" if outer else given), scope


def _recorded(condition: Any, record: Callable[[], Any], name: str) -> Any:
    current = graphs.get_default_graph()
    with current.device(_HOST):
        result = smart_cond.smart_cond(
            condition, record, lambda: convert.constant(False), name=name
        )
        current.add_to_collection(graph_writers.SUMMARIES, result)
    return result


def _true_after(operation: Any) -> Any:
    with graphs.get_default_graph().control_dependencies([operation]):
        return convert.constant(True)


def _handle() -> Any:
    return defaults.SUMMARIES.writer._resource


def _step(step: Any) -> Any:
    if step is None:
        return steps.get_or_create_global_step()
    return (
        step if isinstance(step, graphs.Tensor) else convert.convert_to_tensor(step, dtypes.int64)
    )


def _given_step(step: Any) -> Any:
    number = graph_writers.get_step() if step is None else step
    if number is None:
        raise ValueError("No step set via 'step' argument or tf.summary.experimental.set_step()")
    return _step(number)


def _text(metadata: Any) -> Any:
    """Return metadata as what makes a tensor of a string."""
    if metadata is None:
        return b""
    return metadata.SerializeToString() if hasattr(metadata, "SerializeToString") else metadata
