"""Initializers that load a matrix of a checkpoint, whose rows or columns belong to words.

Sources: tensorflow/python/training/checkpoint_ops.py and
tensorflow/contrib/framework/python/ops/checkpoint_ops.py.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from capstan.api import array_ops, init_ops
from capstan.core import dtypes
from capstan.framework import graph as graphs
from capstan.framework.raw import raw

__all__ = [
    "load_and_remap_matrix", "load_and_remap_matrix_initializer", "load_embedding_initializer",
    "load_linear_multiclass_bias_initializer", "load_variable_slot_initializer",
]  # fmt: skip

_Initializer = Callable[..., Any]


def load_and_remap_matrix(
    ckpt_path: Any,
    old_tensor_name: str,
    new_row_vocab_offset: int,
    num_rows_to_load: int,
    new_col_vocab_size: int,
    initializer: _Initializer,
    old_row_vocab_size: int = -1,
    old_row_vocab_file: Any = None,
    new_row_vocab_file: Any = None,
    old_col_vocab_file: Any = None,
    new_col_vocab_file: Any = None,
    num_row_oov_buckets: int = 0,
    num_col_oov_buckets: int = 0,
    max_rows_in_memory: int = -1,
) -> graphs.Tensor:
    """Return rows of a float32 matrix of a checkpoint, in the order of new vocabularies.

    A vocabulary is a file with one word per line. Row i of the result belongs to the word in line
    `new_row_vocab_offset` + i of the new vocabulary of rows, and column i to line i of that of
    columns. An axis without vocabularies keeps its order. `initializer(shape)` makes the values
    that the checkpoint does not have, in the order of rows. The rows and columns of the buckets
    for words out of the vocabulary follow at the end.

    Raises:
        ValueError: only one of the vocabularies of an axis is given, none is given, or a number of
            buckets is negative.
    """
    for axis, number in (("row", num_row_oov_buckets), ("col", num_col_oov_buckets)):
        if number < 0:
            raise ValueError(f"num_{axis}_oov_buckets must be >= 0, but received {number}")
    has_rows = _are_given("row", old_row_vocab_file, new_row_vocab_file)
    has_columns = _are_given("col", old_col_vocab_file, new_col_vocab_file)
    if not (has_rows or has_columns):
        raise ValueError(
            "Must provide either row or column vocab files. If no remapping is necessary, consider "
            "using `tf.contrib.framework.init_from_checkpoint` instead."
        )
    rows, columns = num_rows_to_load, new_col_vocab_size
    row_map: Any = np.arange(new_row_vocab_offset, new_row_vocab_offset + rows)
    column_map: Any = np.zeros(0, np.int64)
    known_rows: Any = rows
    known_columns: Any = columns
    if has_rows:
        row_map, known_rows = raw.GenerateVocabRemapping(
            new_row_vocab_file, old_row_vocab_file, new_vocab_offset=new_row_vocab_offset,
            num_new_vocab=rows, old_vocab_size=old_row_vocab_size,
        )  # fmt: skip
    if has_columns:
        column_map, known_columns = raw.GenerateVocabRemapping(
            new_col_vocab_file, old_col_vocab_file, new_vocab_offset=0, num_new_vocab=columns
        )
    # Initializers need a static shape, so make enough values for the case that no word is known.
    missing = rows * columns - known_rows * known_columns
    backup = raw.Slice(initializer([rows * columns, 1]), [0, 0], array_ops.stack([missing, 1]))
    matrix = raw.LoadAndRemapMatrix(
        ckpt_path, old_tensor_name, row_map, column_map, backup, num_rows=rows, num_cols=columns,
        max_rows_in_memory=max_rows_in_memory,
    )  # fmt: skip
    if num_row_oov_buckets:
        matrix = array_ops.concat([matrix, initializer([num_row_oov_buckets, columns])], 0)
    if num_col_oov_buckets:
        extent = [rows + num_row_oov_buckets, num_col_oov_buckets]
        matrix = array_ops.concat([matrix, initializer(extent)], 1)
    found: graphs.Tensor = matrix
    return found


def _are_given(axis: str, old: Any, new: Any) -> bool:
    """Return whether an axis has vocabularies. A file is a name or a scalar tensor."""
    old_is_given, new_is_given = (
        isinstance(file, graphs.Tensor) or bool(file) for file in (old, new)
    )
    if old_is_given != new_is_given:
        raise ValueError(
            f"old_{axis}_vocab_file and new_{axis}_vocab_file must both be specified or left "
            f"unspecified. old_{axis}_vocab_file='{old}', new_{axis}_vocab_file='{new}'"
        )
    return old_is_given


def load_and_remap_matrix_initializer(
    ckpt_path: Any,
    old_tensor_name: str,
    new_row_vocab_size: int,
    new_col_vocab_size: int,
    old_row_vocab_size: int = -1,
    old_row_vocab_file: Any = None,
    new_row_vocab_file: Any = None,
    old_col_vocab_file: Any = None,
    new_col_vocab_file: Any = None,
    num_row_oov_buckets: int = 0,
    num_col_oov_buckets: int = 0,
    initializer: _Initializer | None = None,
    max_rows_in_memory: int = -1,
) -> _Initializer:
    """Return the initializer of a variable that loads a matrix as `load_and_remap_matrix`.

    The variable may be partitioned along axis 0. By default, new values are zeros.

    Raises:
        TypeError: `initializer` is not callable, or the variable is not of float32.
        ValueError: the variable is not a matrix that fits the sizes of the vocabularies.
    """
    make: Any = init_ops.Zeros() if initializer is None else initializer
    if not callable(make):
        raise TypeError(
            f"initializer must be callable, instead of being {make} of type {type(make)}."
        )
    row_limit = new_row_vocab_size + num_row_oov_buckets

    def load(shape: Sequence[int], dtype: Any = dtypes.float32, partition_info: Any = None) -> Any:
        if dtypes.as_dtype(dtype) is not dtypes.float32:
            raise TypeError(f"Currently, only float32 is supported. Received dtype: {dtype}")
        sizes = [int(size) for size in shape]
        _check_shape(sizes, new_col_vocab_size, num_col_oov_buckets)
        offset = 0 if partition_info is None else partition_info.single_offset(sizes)
        if offset + sizes[0] > row_limit:
            raise ValueError(
                f"Trying to initialize {sizes[0]} additional rows after {offset} rows have already "
                "been initialized, which would exceed expected total row count of "
                f"new_row_vocab_size ({new_row_vocab_size}) + num_row_oov_buckets "
                f"({num_row_oov_buckets}) = {row_limit}."
            )
        if offset > new_row_vocab_size:
            return make(sizes)
        buckets = max(0, offset + sizes[0] - new_row_vocab_size)
        return load_and_remap_matrix(
            ckpt_path, old_tensor_name, offset, sizes[0] - buckets, new_col_vocab_size, make,
            old_row_vocab_size, old_row_vocab_file, new_row_vocab_file, old_col_vocab_file,
            new_col_vocab_file, buckets, num_col_oov_buckets, max_rows_in_memory,
        )  # fmt: skip

    return load


def _check_shape(sizes: list[int], columns: int, buckets: int) -> None:
    if len(sizes) != 2:
        raise ValueError(f"Expected 2-dim shape, but received: {sizes}")
    if sizes[0] <= 0:
        raise ValueError(f"Expected 1st dim of shape to be > 0, but received shape: {sizes}")
    if sizes[1] != columns + buckets:
        raise ValueError(
            f"Expected 2nd dim of shape to be new_col_vocab_size ({columns}) + "
            f"num_col_oov_buckets ({buckets}) = {columns + buckets}, but received shape: {sizes}"
        )


def load_embedding_initializer(
    ckpt_path: Any,
    embedding_tensor_name: str,
    new_vocab_size: int,
    embedding_dim: int,
    old_vocab_file: Any,
    new_vocab_file: Any,
    old_vocab_size: int = -1,
    num_oov_buckets: int = 0,
    initializer: _Initializer | None = None,
    max_rows_in_memory: int = -1,
) -> _Initializer:
    """Return the initializer of the vectors of words, whose rows belong to a vocabulary.

    By default, new vectors are drawn as those of `tf.feature_column.embedding_column`.
    """
    if initializer is None:
        initializer = init_ops.truncated_normal_initializer(stddev=1.0 / math.sqrt(embedding_dim))
    return load_and_remap_matrix_initializer(
        ckpt_path, embedding_tensor_name, new_vocab_size, embedding_dim, old_vocab_size,
        old_vocab_file, new_vocab_file, None, None, num_oov_buckets, 0, initializer,
        max_rows_in_memory,
    )  # fmt: skip


def load_linear_multiclass_bias_initializer(
    ckpt_path: Any,
    bias_tensor_name: str,
    new_class_vocab_size: int,
    old_class_vocab_file: Any,
    new_class_vocab_file: Any,
    num_class_oov_buckets: int = 0,
    initializer: _Initializer | None = None,
    max_rows_in_memory: int = -1,
) -> _Initializer:
    """Return the initializer of biases of shape [classes, 1]. By default, new biases are zeros."""
    return load_and_remap_matrix_initializer(
        ckpt_path, bias_tensor_name, new_class_vocab_size, 1, -1, old_class_vocab_file,
        new_class_vocab_file, None, None, num_class_oov_buckets, 0, initializer,
        max_rows_in_memory,
    )  # fmt: skip


def load_variable_slot_initializer(
    ckpt_path: Any,
    old_tensor_name: str,
    primary_partition_info: Any,
    new_row_vocab_size: int,
    new_col_vocab_size: int,
    old_row_vocab_file: Any = None,
    new_row_vocab_file: Any = None,
    old_col_vocab_file: Any = None,
    new_col_vocab_file: Any = None,
    num_row_oov_buckets: int = 0,
    num_col_oov_buckets: int = 0,
    initializer: _Initializer | None = None,
    max_rows_in_memory: int = -1,
) -> _Initializer:
    """Return the initializer of a slot, such as an accumulator, of one part of a variable.

    A slot does not know the place of its variable in the full variable, so
    `primary_partition_info` tells it.
    """
    load = load_and_remap_matrix_initializer(
        ckpt_path, old_tensor_name, new_row_vocab_size, new_col_vocab_size, -1,
        old_row_vocab_file, new_row_vocab_file, old_col_vocab_file, new_col_vocab_file,
        num_row_oov_buckets, num_col_oov_buckets, initializer, max_rows_in_memory,
    )  # fmt: skip

    def load_slot(
        shape: Sequence[int], dtype: Any = dtypes.float32, partition_info: Any = None
    ) -> Any:
        return load(shape, dtype, primary_partition_info)

    return load_slot
