"""Batches of Examples from files, by queues (contrib/learn/python/learn/learn_io/graph_io.py)."""

import os
import urllib.request
from collections.abc import Callable, Mapping
from typing import Any

from capstan.api import array_ops, example_ops, gfile
from capstan.api.scoped import scoped
from capstan.framework import convert
from capstan.resources import durable
from capstan.train import input_batches, input_producers

MIN_AFTER_DEQUEUE = 0.9
"""The part of a shuffling queue that is kept, so that batches are mixed well."""


def read_batch_examples(
    file_pattern: Any,
    batch_size: int,
    reader: Callable[[], Any],
    randomize_input: bool = True,
    num_epochs: int | None = None,
    queue_capacity: int = 10000,
    num_threads: int = 1,
    read_batch_size: int = 1,
    parse_fn: Callable[[Any], Any] | None = None,
    name: str | None = None,
    seed: int | None = None,
) -> Any:
    """Return a batch of serialized Examples, or of what `parse_fn` makes of each of them.

    `file_pattern` is a pattern, or a list of patterns or names. The last batch of the last epoch
    may be smaller. Queue runners fill the queues.

    Raises:
        ValueError: no file matches, the capacity is below the size of a batch, or a number is not
            positive.
    """
    if not 0 < batch_size <= queue_capacity:
        raise ValueError(
            f"Invalid batch_size {batch_size}, with queue_capacity {queue_capacity}: it must be "
            "positive, and not above the capacity"
        )
    if num_threads <= 0:
        raise ValueError(f"Invalid num_threads {num_threads}.")
    with scoped(name, "read_batch_examples"):
        names = convert.constant(_files(file_pattern), name="input")
        queue = input_producers.string_input_producer(
            names, num_epochs, randomize_input, seed, name="file_name_queue"
        )
        examples = [_one(reader(), queue, read_batch_size, parse_fn) for _ in range(num_threads)]
        is_last_smaller = num_epochs is not None
        if not randomize_input:
            return input_batches.batch_join(
                examples, batch_size, queue_capacity, enqueue_many=True,
                allow_smaller_final_batch=is_last_smaller,
            )  # fmt: skip
        kept = max(int(queue_capacity * MIN_AFTER_DEQUEUE) - batch_size, 0)
        return input_batches.shuffle_batch_join(
            examples, batch_size, queue_capacity, kept, seed, enqueue_many=True,
            allow_smaller_final_batch=is_last_smaller,
        )  # fmt: skip


def read_batch_features(
    file_pattern: Any,
    batch_size: int,
    features: Mapping[str, Any],
    reader: Callable[[], Any],
    randomize_input: bool = True,
    num_epochs: int | None = None,
    queue_capacity: int = 10000,
    feature_queue_capacity: int = 100,
    reader_num_threads: int = 1,
    num_enqueue_threads: int = 2,
    parse_fn: Callable[[Any], Any] | None = None,
    name: str | None = None,
) -> dict[str, Any]:
    """Return the features of a batch of Examples. Raises as `read_batch_examples`.

    `feature_queue_capacity` and `num_enqueue_threads` have no effect: the features need no queue.
    """
    examples = read_batch_examples(
        file_pattern, batch_size, reader, randomize_input, num_epochs, queue_capacity,
        reader_num_threads, batch_size, parse_fn, name,
    )  # fmt: skip
    return dict(example_ops.parse_example(examples, dict(features)))


def maybe_download(filename: str, work_directory: str, source_url: str) -> str:
    """Return the path of a file in a folder. If the file does not exist, download it first.

    Raises:
        OSError: the download has failed. There is no file then.
        OpError: the file cannot be written.
    """
    if not gfile.Exists(work_directory):
        gfile.MakeDirs(work_directory)
    path = os.path.join(work_directory, filename)
    if not gfile.Exists(path):
        with urllib.request.urlopen(source_url) as source:
            content = source.read()
        # A file that lacks a part would be taken for the whole file by the next call.
        with durable.replacing(path) as target:
            target.write(content)
    return path


def _files(file_pattern: Any) -> list[str]:
    """Return the files that a pattern or a list of patterns names, in order.

    Raises:
        ValueError: there is no pattern, or no file for one.
    """
    patterns = file_pattern if isinstance(file_pattern, list | tuple) else [file_pattern]
    if not patterns:
        raise ValueError("No files given to dequeue_examples.")
    found: set[str] = set()
    for pattern in patterns:
        names = gfile.Glob(pattern)
        if not names:
            raise ValueError(f"No files match {pattern}.")
        found.update(names)
    return sorted(found)


def _one(reader: Any, queue: Any, count: int, parse_fn: Callable[[Any], Any] | None) -> Any:
    """Return some Examples of one reader, along a first axis, as the items of a batch."""
    _, examples = reader.read_up_to(queue, count) if count > 1 else reader.read(queue)
    if count == 1:
        examples = array_ops.expand_dims(examples, 0)
    made = examples if parse_fn is None else parse_fn(examples)
    return made if isinstance(made, dict) else [made]
