"""`tf.compat.v2.summary`: summaries that a step writes to the default writer.

    writer = tf.compat.v2.summary.create_file_writer("logs")
    with writer.as_default():
        tf.compat.v2.summary.scalar("loss", loss, step=tf.train.get_or_create_global_step())
    session.run(writer.init())
    session.run([train, tf.summary.all_v2_summary_ops()])
    session.run(writer.flush())

The functions return a boolean tensor: whether the step writes a summary. Without a default writer,
it is False. The tag is `name` in its name scope. The formats are those of TensorBoard's plugins.

The functions raise ValueError if there is a default writer, and neither `step` nor
`experimental.set_step` gives a step.
"""

import functools
import sys
from typing import Any

from tensorboard.compat.proto import summary_pb2

from capstan.compat.changed import buckets as parts
from capstan.core import dtypes
from capstan.train import graph_summaries

# An import would be a cycle, as the package names all its parts. It is loaded before them.
tf: Any = sys.modules["capstan"]

_WAV = b"\x10\x0b"
"""A serialized AudioPluginData of TensorBoard that names the encoding WAV."""


def scalar(name: str, data: Any, step: Any = None, description: str | None = None) -> Any:
    """Write a number, as float32.

    Raises:
        ValueError: `data` is not a scalar.
    """
    with graph_summaries.summary_scope(name, "scalar_summary", [data, step]) as (tag, _):
        number = tf.convert_to_tensor(data)
        tf.debugging.assert_scalar(number)
        number = tf.cast(number, dtypes.float32)
        return _write(tag, number, step, "scalars", description)


def text(name: str, data: Any, step: Any = None, description: str | None = None) -> Any:
    """Write strings, which TensorBoard shows as Markdown and in tables.

    Raises:
        TypeError: `data` is not of strings.
    """
    with graph_summaries.summary_scope(name, "text_summary", [data, step]) as (tag, _):
        strings = tf.convert_to_tensor(data)
        tf.debugging.assert_type(strings, dtypes.string)
        return _write(tag, strings, step, "text", description)


def histogram(
    name: str, data: Any, step: Any = None, buckets: Any = None, description: str | None = None
) -> Any:
    """Write how many elements of a tensor are in each of `buckets` parts, by default 30."""
    with graph_summaries.summary_scope(name, "histogram_summary", [data, buckets, step]) as (
        tag,
        _,
    ):
        counted = functools.partial(parts.counts, data, 30 if buckets is None else buckets)
        return _write(tag, counted, step, "histograms", description)


def image(
    name: str, data: Any, step: Any = None, max_outputs: Any = 3, description: str | None = None
) -> Any:
    """Write the first `max_outputs` images of a batch as PNG.

    `data` is [batch, height, width, channels]. Floats are between 0 and 1. The step raises
    InvalidArgumentError if `max_outputs` is negative.

    Raises:
        ValueError: `data` has not four axes.
    """

    def encoded() -> Any:
        with tf.control_dependencies([tf.debugging.assert_non_negative(max_outputs)]):
            images = tf.image.convert_image_dtype(data, dtypes.uint8, saturate=True)
        sizes = tf.as_string(tf.shape(images))
        files = tf.map_fn(tf.image.encode_png, images[:max_outputs], dtype=dtypes.string)
        return tf.concat([[sizes[2], sizes[1]], files], 0)

    with graph_summaries.summary_scope(name, "image_summary", [data, max_outputs, step]) as (
        tag,
        _,
    ):
        tf.debugging.assert_rank(data, 4)
        return _write(tag, encoded, step, "images", description)


def audio(
    name: str, data: Any, sample_rate: Any, step: Any = None, max_outputs: Any = 3,
    encoding: str | None = None, description: str | None = None,
) -> Any:  # fmt: skip
    """Write the first `max_outputs` sounds of a batch as WAV.

    `data` is [batch, frames, channels], between -1 and 1. The step raises InvalidArgumentError if
    `max_outputs` is negative.

    Raises:
        ValueError: `data` has not three axes, or `encoding` is neither None nor "wav".
    """
    if encoding not in (None, "wav"):
        raise ValueError(f"Unknown encoding: {encoding!r}")

    def encoded() -> Any:
        with tf.control_dependencies([tf.debugging.assert_non_negative(max_outputs)]):
            sounds = tf.identity(data)[:max_outputs]
        encode = functools.partial(tf.audio.encode_wav, sample_rate=sample_rate)
        files = tf.map_fn(encode, sounds, dtype=dtypes.string)
        labels = tf.fill(tf.shape(files), "")
        return tf.stack([files, labels], 1)

    given = [data, sample_rate, max_outputs, step]
    with graph_summaries.summary_scope(name, "audio_summary", given) as (tag, _):
        tf.debugging.assert_rank(data, 3)
        return _write(tag, encoded, step, "audio", description, _WAV)


def _write(
    tag: str, tensor: Any, step: Any, plugin: str, description: str | None, content: bytes = b""
) -> Any:
    data = summary_pb2.SummaryMetadata.PluginData(plugin_name=plugin, content=content)
    metadata = summary_pb2.SummaryMetadata(summary_description=description, plugin_data=data)
    return graph_summaries.write(tag, tensor, step, metadata)
