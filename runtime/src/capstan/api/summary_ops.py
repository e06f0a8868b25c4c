"""Operations that describe the values of a step for TensorBoard (python/summary/summary.py).

Each function adds an operation whose output is a serialized `Summary`, and adds the output to
`collections`, by default SUMMARIES. The tag of the summary is the name of the operation. `family`
is a prefix of the tag; TensorBoard shows the summaries of one family together.
"""

import functools
from collections.abc import Callable, Iterable
from typing import Any

from capstan.api import summary_scopes
from capstan.core import dtypes
from capstan.framework import collections as keys
from capstan.framework import convert
from capstan.framework import graph as graphs
from capstan.framework.raw import raw

__all__ = [
    "audio",
    "get_summary_description",
    "histogram",
    "image",
    "merge",
    "merge_all",
    "scalar",
    "tensor_summary",
    "text",
]

_Collections = Iterable[str] | None
_scope = summary_scopes.summary_scope


def _of_first_replica(function: Callable[..., graphs.Tensor]) -> Callable[..., graphs.Tensor]:
    """Let a function add a summary in the first replica of a strategy only.

    In another replica the summary is empty, and is in no collection.
    """

    @functools.wraps(function)
    def summarize(*args: Any, **kwargs: Any) -> graphs.Tensor:
        if summary_scopes.skip_summary():
            return convert.constant("")
        return function(*args, **kwargs)

    return summarize


@_of_first_replica
def scalar(
    name: str, tensor: Any, collections: _Collections = None, family: str | None = None
) -> graphs.Tensor:
    """Return a summary of a number. `tensor` is a scalar of any real type.

    The step raises InvalidArgumentError if `tensor` is not a scalar.
    """
    with _scope(name, family, values=[tensor]) as (tag, scope):
        summary = raw.ScalarSummary(tag, tensor, name=scope)
    return _collected(summary, collections)


@_of_first_replica
def histogram(
    name: str, values: Any, collections: _Collections = None, family: str | None = None
) -> graphs.Tensor:
    """Return a summary of the distribution of `values`, a tensor of any shape and real type.

    The step raises InvalidArgumentError if a value is not finite.
    """
    with _scope(name, family, "HistogramSummary", [values]) as (tag, scope):
        summary = raw.HistogramSummary(tag, values, name=scope)
    return _collected(summary, collections)


@_of_first_replica
def image(
    name: str,
    tensor: Any,
    max_outputs: int = 3,
    collections: _Collections = None,
    family: str | None = None,
) -> graphs.Tensor:
    """Return a summary of the first `max_outputs` images of a batch.

    `tensor` has the shape [batch, height, width, channels], with 1, 3 or 4 channels. Values of
    uint8 are taken as they are. Floats are scaled, for each image alone: the largest value becomes
    255, or, if there are negative values, 0 becomes 128. The tags are `name/image/0` and so on, or
    `name/image` if `max_outputs` is 1.

    The step raises InvalidArgumentError if the shape does not fit.
    """
    with _scope(name, family, values=[tensor]) as (tag, scope):
        summary = raw.ImageSummary(tag, tensor, max_images=max_outputs, name=scope)
    return _collected(summary, collections)


@_of_first_replica
def audio(
    name: str,
    tensor: Any,
    sample_rate: Any,
    max_outputs: int = 3,
    collections: _Collections = None,
    family: str | None = None,
) -> graphs.Tensor:
    """Return a summary of the first `max_outputs` sounds of a batch.

    `tensor` is float32, of the shape [batch, frames] or [batch, frames, channels], with values
    between -1 and 1. `sample_rate` is in hertz. The tags are `name/audio/0` and so on, or
    `name/audio` if `max_outputs` is 1.

    The step raises InvalidArgumentError if the shape does not fit or the rate is not positive.
    """
    with _scope(name, family, values=[tensor]) as (tag, scope):
        rate = convert.convert_to_tensor(sample_rate, dtypes.float32, name="sample_rate")
        summary = raw.AudioSummaryV2(tag, tensor, rate, max_outputs=max_outputs, name=scope)
    return _collected(summary, collections)


@_of_first_replica
def text(name: str, tensor: Any, collections: _Collections = None) -> graphs.Tensor:
    """Return a summary of strings, which TensorBoard shows as Markdown and in tables.

    Raises:
        ValueError: `tensor` is not a tensor of strings.
    """
    from tensorboard.compat.proto import summary_pb2

    if tensor.dtype != dtypes.string:
        raise ValueError(f"Expected tensor {tensor.name} to have dtype string, got {tensor.dtype}")
    plugin = summary_pb2.SummaryMetadata.PluginData(plugin_name="text")
    metadata = summary_pb2.SummaryMetadata(plugin_data=plugin)
    return tensor_summary(name, tensor, collections=collections, summary_metadata=metadata)


@_of_first_replica
def tensor_summary(
    name: str,
    tensor: Any,
    summary_description: str | None = None,
    collections: _Collections = None,
    summary_metadata: Any = None,
    family: str | None = None,
    display_name: str | None = None,
) -> graphs.Tensor:
    """Return a summary that holds a whole tensor, of any shape and type.

    `summary_metadata`, a SummaryMetadata, names the plugin of TensorBoard that shows the tensor.
    `summary_description` is Markdown. `display_name` is shown instead of the tag.
    """
    from tensorboard.compat.proto import summary_pb2

    metadata = summary_metadata or summary_pb2.SummaryMetadata()
    if summary_description is not None:
        metadata.summary_description = summary_description
    if display_name is not None:
        metadata.display_name = display_name
    with _scope(name, family, values=[tensor]) as (tag, scope):
        summary = raw.TensorSummaryV2(tag, tensor, metadata.SerializeToString(), name=scope)
    return _collected(summary, collections)


def merge(inputs: Any, collections: _Collections = None, name: str | None = None) -> graphs.Tensor:
    """Return the union of several summaries. It is added to `collections`, by default to none.

    The step raises InvalidArgumentError if two summaries have the same tag.

    Raises:
        ValueError: `inputs` is empty.
    """
    name = summary_scopes.clean_tag(name)
    with graphs.graph_of(inputs).name_scope(name or "Merge"):
        summary = raw.MergeSummary(inputs, name=name)
    return _collected(summary, collections or ())


def merge_all(
    key: str = keys.GraphKeys.SUMMARIES, scope: str | None = None, name: str | None = None
) -> graphs.Tensor | None:
    """Return the union of all summaries of a collection of the default graph.

    Return None if there are no summaries. With `scope`, a regular expression, only summaries whose
    names match are merged.
    """
    summaries = graphs.get_default_graph().get_collection(key, scope=scope)
    return merge(summaries, name=name) if summaries else None


def get_summary_description(node_def: Any) -> Any:
    """Return the SummaryDescription in the NodeDef of a TensorSummary.

    Raises:
        ValueError: the node is not a TensorSummary.
    """
    from google.protobuf import json_format
    from tensorboard.compat.proto import summary_pb2

    if node_def.op != "TensorSummary":
        raise ValueError(f"Can't get_summary_description on {node_def.op}")
    description = summary_pb2.SummaryDescription()
    json_format.Parse(node_def.attr["description"].s.decode(), description)
    return description


def _collected(summary: graphs.Tensor, collections: _Collections) -> graphs.Tensor:
    summary_scopes.collect(summary, collections, [keys.GraphKeys.SUMMARIES])
    return summary
