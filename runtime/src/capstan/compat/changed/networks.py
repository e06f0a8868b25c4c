"""Functions of `tf.compat.v2.nn` that are more than other arguments (python/ops)."""

import sys
from collections.abc import Sequence
from typing import Any

from capstan.api import random_ops

# An import would be a cycle, as the package names all its parts. It is loaded before them.
tf: Any = sys.modules["capstan"]


def conv2d(
    input: Any, filters: Any, strides: Any, padding: Any, data_format: str = "NHWC",
    dilations: Any = None, name: str | None = None,
) -> Any:  # fmt: skip
    """As `tf.nn.conv2d`, with dilations of 1 for None."""
    dilations = [1, 1, 1, 1] if dilations is None else dilations
    return tf.nn.conv2d(
        input, filters, strides, padding,
        data_format=data_format, dilations=dilations, name=name,
    )  # fmt: skip


def conv3d(
    input: Any, filters: Any, strides: Any, padding: str, data_format: str = "NDHWC",
    dilations: Any = None, name: str | None = None,
) -> Any:  # fmt: skip
    """As `tf.nn.conv3d`, with dilations of 1 for None."""
    dilations = [1, 1, 1, 1, 1] if dilations is None else dilations
    return tf.nn.conv3d(input, filters, strides, padding, data_format, dilations, name)


def dilation2d(
    input: Any, filters: Any, strides: Any, padding: str, data_format: str, dilations: Any,
    name: str | None = None,
) -> Any:  # fmt: skip
    """As `tf.nn.dilation2d`.

    Raises:
        ValueError: the format is not "NHWC".
    """
    _check_format(data_format)
    return tf.nn.dilation2d(input, filters, strides, dilations, padding, name)


def erosion2d(
    value: Any, filters: Any, strides: Any, padding: str, data_format: str, dilations: Any,
    name: str | None = None,
) -> Any:  # fmt: skip
    """As `tf.nn.erosion2d`.

    Raises:
        ValueError: the format is not "NHWC".
    """
    _check_format(data_format)
    return tf.nn.erosion2d(value, filters, strides, dilations, padding, name)


def _check_format(data_format: str) -> None:
    if data_format != "NHWC":
        raise ValueError("Data formats other than NHWC are not yet supported")


def fractional_avg_pool(
    value: Any, pooling_ratio: Any, pseudo_random: bool = False, overlapping: bool = False,
    seed: int = 0, name: str | None = None,
) -> Any:  # fmt: skip
    """As `tf.nn.fractional_avg_pool`: the same windows in each step if the seed is not 0."""
    return tf.nn.fractional_avg_pool(
        value, pooling_ratio, pseudo_random, overlapping, *_drawn(seed), name=name
    )


def fractional_max_pool(
    value: Any, pooling_ratio: Any, pseudo_random: bool = False, overlapping: bool = False,
    seed: int = 0, name: str | None = None,
) -> Any:  # fmt: skip
    """As `tf.nn.fractional_max_pool`: the same windows in each step if the seed is not 0.

    `pooling_ratio` is a number, or has 1, 2 or 4 numbers: for rows and columns, or for all axes.

    Raises:
        ValueError: the ratio has another length, or is too small.
    """
    return tf.nn.fractional_max_pool(
        value, _ratios(pooling_ratio), pseudo_random, overlapping, *_drawn(seed), name=name
    )


def _drawn(seed: int) -> tuple[bool, int, int]:
    """Return whether the windows are the same in each step, and the two seeds."""
    if seed == 0:
        return False, 0, 0
    drawn = random_ops.seeds(seed)
    return True, drawn["seed"], drawn["seed2"]


def _ratios(given: Any) -> list[float]:
    ratios = list(given) if isinstance(given, Sequence) else [given]
    if len(ratios) == 4:
        return ratios
    if len(ratios) not in (1, 2):
        raise ValueError(f"pooling_ratio should be of length 1, 2 or 4 but was {len(ratios)}")
    rows, columns = ratios if len(ratios) == 2 else ratios * 2
    return [1.0, rows, columns, 1.0]


def embedding_lookup(
    params: Any, ids: Any, max_norm: float | None = None, name: str | None = None
) -> Any:
    """As `tf.nn.embedding_lookup` with the strategy "div"."""
    return tf.nn.embedding_lookup(params, ids, "div", name, max_norm=max_norm)


def embedding_lookup_sparse(
    params: Any, sp_ids: Any, sp_weights: Any, combiner: str | None = None,
    max_norm: float | None = None, name: str | None = None,
) -> Any:  # fmt: skip
    """As `tf.nn.embedding_lookup_sparse` with the strategy "div"."""
    return tf.nn.embedding_lookup_sparse(
        params, sp_ids, sp_weights, "div", name, combiner, max_norm
    )


def safe_embedding_lookup_sparse(
    embedding_weights: Any, sparse_ids: Any, sparse_weights: Any = None, combiner: str = "mean",
    default_id: Any = None, max_norm: float | None = None, name: str | None = None,
) -> Any:  # fmt: skip
    """As `tf.nn.safe_embedding_lookup_sparse` with the strategy "div"."""
    return tf.nn.safe_embedding_lookup_sparse(
        embedding_weights, sparse_ids, sparse_weights, combiner, default_id, name, "div", max_norm
    )


def nce_loss(
    weights: Any, biases: Any, labels: Any, inputs: Any, num_sampled: Any, num_classes: Any,
    num_true: int = 1, sampled_values: Any = None, remove_accidental_hits: bool = False,
    name: str = "nce_loss",
) -> Any:  # fmt: skip
    """As `tf.nn.nce_loss` with the strategy "div"."""
    return tf.nn.nce_loss(
        weights, biases, labels, inputs, num_sampled, num_classes, num_true, sampled_values,
        remove_accidental_hits, "div", name,
    )  # fmt: skip


def sampled_softmax_loss(
    weights: Any, biases: Any, labels: Any, inputs: Any, num_sampled: Any, num_classes: Any,
    num_true: int = 1, sampled_values: Any = None, remove_accidental_hits: bool = True,
    seed: int | None = None, name: str = "sampled_softmax_loss",
) -> Any:  # fmt: skip
    """As `tf.nn.sampled_softmax_loss` with the strategy "div"."""
    return tf.nn.sampled_softmax_loss(
        weights, biases, labels, inputs, num_sampled, num_classes, num_true, sampled_values,
        remove_accidental_hits, "div", name, seed,
    )  # fmt: skip
