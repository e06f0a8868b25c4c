"""Variables that start from a checkpoint with another vocabulary.

Sources: tensorflow/python/training/{checkpoint_ops,warm_starting_util}.py.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from capstan.api import array_ops, init_ops
from capstan.framework import graph as graphs
from capstan.framework.raw import raw

_AXES = (0, 1)


class _Vocabularies(NamedTuple):
    new_vocab: str
    new_vocab_size: int
    num_oov_buckets: int
    old_vocab: str
    old_vocab_size: int
    backup_initializer: Callable[..., Any] | None
    axis: int


class VocabInfo(_Vocabularies):
    """The vocabularies of a matrix before and after a change, for `tf.train.warm_start`.

    `new_vocab` and `old_vocab` are files with one word per line. Row i of the matrix, or column i
    if `axis` is 1, belongs to the word in line i. The variable has `new_vocab_size` such rows, and
    then `num_oov_buckets` rows for words out of the vocabulary. The checkpoint has the first
    `old_vocab_size` words of `old_vocab`, or all words if `old_vocab_size` is -1.
    `backup_initializer` makes the values that the checkpoint does not have, by default zeros.

    Raises:
        ValueError: `axis` is neither 0 nor 1.
    """

    __slots__ = ()

    def __new__(
        cls,
        new_vocab: str,
        new_vocab_size: int,
        num_oov_buckets: int,
        old_vocab: str,
        old_vocab_size: int = -1,
        backup_initializer: Callable[..., Any] | None = None,
        axis: int = 0,
    ) -> "VocabInfo":
        if axis not in _AXES:
            raise ValueError(
                "The only supported values for the axis argument are 0 and 1.  Provided axis: "
                f"{axis}"
            )
        return super().__new__(
            cls,
            new_vocab,
            new_vocab_size,
            num_oov_buckets,
            old_vocab,
            old_vocab_size,
            backup_initializer,
            axis,
        )


def initialize(parts: Sequence[Any], path: str, tensor: str, info: VocabInfo) -> None:
    """Let the initializers of a variable's parts read their rows from the checkpoint `path`.

    The parts may cut the variable along axis 0 only. The new values have the dtype float32.

    Raises:
        ValueError: a part is not a matrix, does not fit the vocabulary, or the vocabulary is
            incomplete.
        TypeError: the backup initializer is not callable.
    """
    if not (info.new_vocab and info.new_vocab_size and path and info.old_vocab):
        raise ValueError(
            "Invalid args: Must provide all of [current_vocab_path, current_vocab_size, prev_ckpt, "
            "prev_vocab_path}."
        )
    make = init_ops.Zeros() if info.backup_initializer is None else info.backup_initializer
    if not callable(make):
        raise TypeError(
            f"initializer must be callable, instead of being {make} of type {type(make)}."
        )
    total = sum(part.shape.as_list()[0] for part in parts)
    for part in parts:
        place = part._get_save_slice_info()
        offset = 0 if place is None else place.var_offset[0]
        value = _value(part, offset, total, path, tensor, info, make)
        part._initializer = part.assign(value).op
        part._initial_value = value


def _value(
    part: Any,
    offset: int,
    total: int,
    path: str,
    tensor: str,
    info: VocabInfo,
    make: Callable[..., Any],
) -> graphs.Tensor:
    """Return the value of the rows of a part, which begins at row `offset` of `total` rows."""
    shape = part.shape.as_list()
    if len(shape) != 2:
        raise ValueError(f"Expected 2-dim shape, but received: {shape} of {part.name}")
    buckets = [0, 0]
    buckets[info.axis] = info.num_oov_buckets
    words = [total, shape[1]]
    words[info.axis] = info.new_vocab_size
    if info.axis == 1 and shape[1] != words[1] + buckets[1]:
        raise ValueError(
            f"Expected 2nd dim of shape to be new_col_vocab_size ({words[1]}) + "
            f"num_col_oov_buckets ({buckets[1]}) = {words[1] + buckets[1]}, but received shape: "
            f"{shape}"
        )
    if offset + shape[0] > words[0] + buckets[0]:
        raise ValueError(
            f"Trying to initialize {shape[0]} additional rows after {offset} rows have already "
            "been initialized, which would exceed expected total row count of new_row_vocab_size "
            f"({words[0]}) + num_row_oov_buckets ({buckets[0]}) = {words[0] + buckets[0]}."
        )
    rows = max(0, min(shape[0], words[0] - offset))
    pieces = []
    if rows:
        pieces.append(_loaded(path, tensor, info, make, (offset, rows, words[1])))
    if rows < shape[0]:
        pieces.append(make([shape[0] - rows, words[1]]))
    value = array_ops.concat(pieces, 0) if len(pieces) > 1 else pieces[0]
    if buckets[1]:
        value = array_ops.concat([value, make([shape[0], buckets[1]])], 1)
    found: graphs.Tensor = value
    return found


def _loaded(
    path: str,
    tensor: str,
    info: VocabInfo,
    make: Callable[..., Any],
    extent: tuple[int, int, int],
) -> graphs.Tensor:
    """Return rows of the checkpoint in the order of the new vocabulary.

    `extent` is the first row, the number of rows, and the number of columns.
    """
    start, rows, columns = extent
    is_by_row = info.axis == 0
    remapping, present = raw.GenerateVocabRemapping(
        info.new_vocab,
        info.old_vocab,
        new_vocab_offset=start if is_by_row else 0,
        num_new_vocab=rows if is_by_row else columns,
        old_vocab_size=info.old_vocab_size if is_by_row else -1,
    )
    missing = rows * columns - present * (columns if is_by_row else rows)
    # Initializers need a static shape, so make enough values for the case that no word is known.
    backup = raw.Slice(make([rows * columns, 1]), [0, 0], array_ops.stack([missing, 1]))
    matrix: graphs.Tensor = raw.LoadAndRemapMatrix(
        path,
        tensor,
        remapping if is_by_row else np.arange(start, start + rows),
        np.zeros(0, np.int64) if is_by_row else remapping,
        backup,
        num_rows=rows,
        num_cols=columns,
    )
    return matrix
