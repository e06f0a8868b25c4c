"""The inputs of recurrent networks, made of feature columns.

Source: tensorflow/contrib/feature_column/python/feature_column/sequence_feature_column.py.
"""

from collections.abc import Mapping
from typing import Any

from capstan.api import array_ops, check_ops, context, scope_block
from capstan.api.feature_column import columns, models
from capstan.framework import convert
from capstan.framework.raw import raw


def sequence_input_layer(
    features: Mapping[str, Any],
    feature_columns: Any,
    weight_collections: Any = None,
    trainable: bool = True,
) -> tuple[Any, Any]:
    """Return the numbers of columns side by side for each step, and the length of each sequence.

    The numbers are [batch, time, numbers of a step], and 0 behind the end of a sequence, unless a
    numeric column has another `default_value`. The lengths are an int64 vector [batch], as
    `dynamic_rnn` takes them. A column comes from `sequence_numeric_column`, or from
    `embedding_column`, `indicator_column` or `shared_embedding_columns` with a
    `sequence_categorical_column_with_*`. The columns are in the order of their names. The variables
    are in the scope `sequence_input_layer`, and in `weight_collections`. A step raises
    InvalidArgumentError if the columns give an example different lengths.

    Raises:
        ValueError: there is no column, a column has no sequences, or two columns have one name.
    """
    chosen = models.in_order(feature_columns)
    check(chosen)
    groups = models.weight_groups(weight_collections)
    batch, parts, lengths = columns.Features(features), [], []
    with scope_block.variable_scope(None, "sequence_input_layer", list(features.values())):
        for column in chosen:
            with scope_block.variable_scope(None, column.scope_name):
                dense, length = column.sequence_dense_tensor(batch, groups, trainable)
                parts.append(flat_steps(dense, models.size_of(column)))
                lengths.append(length)
        return array_ops.concat(parts, 2), common_lengths(lengths)


def check(chosen: Any) -> None:
    """Raise ValueError if a column has no sequences."""
    for column in chosen:
        if not isinstance(column, columns.SequenceDenseColumn):
            raise ValueError(  # noqa: TRY004 - TensorFlow's
                "All feature_columns must be of type _SequenceDenseColumn. You can wrap a "
                "sequence_categorical_column with an embedding_column or indicator_column. Given "
                f"(type {type(column)}): {column}"
            )


def flat_steps(dense: Any, size: int) -> Any:
    """Return a tensor of the shape [batch, time, size]."""
    sizes = raw.Shape(dense)
    flat = raw.Reshape(dense, array_ops.concat([sizes[:2], [size]], 0))
    known = dense.shape.as_list()[:2] if dense.shape.ndims is not None else [None, None]
    flat.set_shape([*known, size])
    return flat


def common_lengths(lengths: list[Any]) -> Any:
    """Return the first lengths, after a check that all others are equal."""
    if len(lengths) == 1:
        return lengths[0]
    checks = [check_ops.assert_equal(lengths[0], other) for other in lengths[1:]]
    with context.control_dependencies(checks):
        return array_ops.identity(lengths[0])


def concatenate_context_input(context_input: Any, sequence_input: Any) -> Any:
    """Return the numbers of each step with those of the whole example behind them.

    `context_input` is float32 [batch, d0], `sequence_input` is float32 [batch, time, d1], and the
    result is float32 [batch, time, d1 + d0].

    Raises:
        ValueError: a tensor has another number of axes, or is not of float32.
    """
    context_input = convert.convert_to_tensor(context_input)
    sequence_input = convert.convert_to_tensor(sequence_input)
    for tensor, rank, name in ((sequence_input, 3, "sequence_input"),
                               (context_input, 2, "context_input")):  # fmt: skip
        if tensor.dtype.name != "float32":
            raise ValueError(f"{name} must have dtype float32, but got {tensor.dtype}. Cast it")
        if tensor.shape.ndims not in (None, rank):
            raise ValueError(f"{name} must have rank {rank}, but has the shape {tensor.shape}")
    steps = raw.Shape(sequence_input)[1]
    repeated = raw.Tile(raw.ExpandDims(context_input, 1), raw.Pack([1, steps, 1]))
    return array_ops.concat([sequence_input, repeated], 2)
