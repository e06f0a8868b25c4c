"""The datasets of one worker, and of several replicas (python/data/experimental/ops/distribute.py).

Programs that import the module find these functions under TensorFlow's names of the classes.
"""

from typing import Any

from capstan.api import data_base, data_structure
from capstan.core import tensor_shape


def auto_shard(input_dataset: data_base.Base, num_workers: Any, index: Any) -> Any:
    """Return the part of a dataset that worker `index` of `num_workers` reads.

    The workers divide the files that the dataset reads, or its elements if it reads no files.
    """
    numbers = data_base.int64(num_workers, "num_workers"), data_base.int64(index, "index")
    return input_dataset._unary("AutoShardDataset", *numbers)


def rebatch(input_dataset: data_base.Base, num_replicas: int, use_fallback: bool = True) -> Any:
    """Return a dataset that has `num_replicas` batches for each batch of a dataset.

    Together they have the elements of the batch, in order. `use_fallback` has no effect.

    Raises:
        ValueError: an element of the dataset is a scalar, and so no batch.
    """

    def part(shape: tensor_shape.TensorShape) -> tensor_shape.TensorShape:
        if shape.ndims == 0:
            raise ValueError(
                "Input shape should have at least one dimension. Perhaps your input dataset is not "
                "batched?"
            )
        if shape.ndims is None:
            return shape
        size, *sizes = shape.as_list()
        if size is not None:
            size = None if size % num_replicas else size // num_replicas
        return tensor_shape.as_shape([size, *sizes])

    spec = data_structure.from_legacy(
        input_dataset.output_types,
        data_structure.mapped(part, input_dataset.output_shapes),
        input_dataset.output_classes,
    )
    count = data_base.int64(num_replicas, "num_replicas")
    return input_dataset._unary("RebatchDataset", count, spec=spec)
