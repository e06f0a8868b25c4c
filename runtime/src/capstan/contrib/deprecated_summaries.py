"""`tf.contrib.deprecated`: the summaries of before TensorFlow 1.0, whose tags are tensors.

Source: python/ops/logging_ops.py. Each function adds its summary to the given collections, by
default to that of all summaries.
"""

from typing import Any

from capstan.api import summary_ops
from capstan.api.scoped import scoped
from capstan.framework import collections as keys
from capstan.framework import graph as graphs
from capstan.framework.raw import raw

__all__ = [
    "audio_summary",
    "histogram_summary",
    "image_summary",
    "merge_all_summaries",
    "merge_summary",
    "scalar_summary",
]


def scalar_summary(tags: Any, values: Any, collections: Any = None, name: str | None = None) -> Any:
    """Return the summary of values, each with the tag at its place."""
    with scoped(name, "ScalarSummary", (tags, values)) as scope:
        return _collected(raw.ScalarSummary(tags, values, name=scope), collections)


def histogram_summary(
    tag: Any, values: Any, collections: Any = None, name: str | None = None
) -> Any:
    """Return the summary of the distribution of all elements of `values`."""
    with scoped(name, "HistogramSummary", (tag, values)) as scope:
        return _collected(raw.HistogramSummary(tag, values, name=scope), collections)


def image_summary(
    tag: Any, tensor: Any, max_images: int = 3, collections: Any = None, name: str | None = None
) -> Any:
    """Return the summary of the first images of `tensor` [batch, height, width, channels]."""
    with scoped(name, "ImageSummary", (tag, tensor)) as scope:
        made = raw.ImageSummary(tag, tensor, max_images=max_images, name=scope)
        return _collected(made, collections)


def audio_summary(
    tag: Any, tensor: Any, sample_rate: Any, max_outputs: int = 3, collections: Any = None,
    name: str | None = None,
) -> Any:  # fmt: skip
    """Return the summary of the first sounds of `tensor` [batch, frames] or with channels."""
    with scoped(name, "AudioSummary", (tag, tensor)) as scope:
        made = raw.AudioSummaryV2(tag, tensor, sample_rate, max_outputs=max_outputs, name=scope)
        return _collected(made, collections)


def merge_summary(inputs: Any, collections: Any = None, name: str | None = None) -> Any:
    """Return one summary of several, as `tf.summary.merge`."""
    return summary_ops.merge(inputs, collections, name)


def merge_all_summaries(key: str = keys.GraphKeys.SUMMARIES) -> Any:
    """Return one summary of all in a collection, as `tf.summary.merge_all`."""
    return summary_ops.merge_all(key)


def _collected(summary: Any, collections: Any) -> Any:
    names = [keys.GraphKeys.SUMMARIES] if collections is None else collections
    for each in names:
        graphs.get_default_graph().add_to_collection(each, summary)
    return summary
