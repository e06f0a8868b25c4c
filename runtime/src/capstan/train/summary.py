"""`tf.summary`: the values of a step, written to files for TensorBoard (python/summary/summary.py).

tf.summary.scalar("loss", loss)
summaries = tf.summary.merge_all()
with tf.summary.FileWriter("logs", session.graph) as writer:
    writer.add_summary(session.run(summaries), step)
"""

from typing import Any

from tensorboard.compat.proto.event_pb2 import Event, SessionLog, TaggedRunMetadata
from tensorboard.compat.proto.summary_pb2 import Summary, SummaryDescription

from capstan.api.absent import absent
from capstan.api.summary_ops import (
    audio,
    get_summary_description,
    histogram,
    image,
    merge,
    merge_all,
    scalar,
    tensor_summary,
    text,
)
from capstan.train.graph_writers import all_v2_summary_ops, initialize
from capstan.train.summary_writer import FileWriter, FileWriterCache

__all__ = [
    "Event",
    "FileWriter",
    "FileWriterCache",
    "SessionLog",
    "Summary",
    "SummaryDescription",
    "TaggedRunMetadata",
    "all_v2_summary_ops",
    "audio",
    "get_summary_description",
    "histogram",
    "image",
    "initialize",
    "merge",
    "merge_all",
    "scalar",
    "tensor_summary",
    "text",
]


def __getattr__(name: str) -> Any:
    raise absent("tf.summary", name)
