"""Variables that start from a checkpoint with another vocabulary.

Source: tensorflow/python/training/warm_starting_util.py.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from capstan.api.partitions import PartitionInfo
from capstan.train import remapped_matrices

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
    total = sum(part.shape.as_list()[0] for part in parts)
    for part in parts:
        sizes, place = part.shape.as_list(), part._get_save_slice_info()
        load = _loader(path, tensor, info, total, sizes[-1])
        whole = None if place is None else PartitionInfo(place.full_shape, place.var_offset)
        value = load(sizes, partition_info=whole)
        part._initializer = part.assign(value).op
        part._initial_value = value


def _loader(path: str, tensor: str, info: VocabInfo, rows: int, columns: int) -> Callable[..., Any]:
    """Return the initializer of a variable of `rows` rows, whose parts have `columns` columns."""
    if info.axis == 0:
        return remapped_matrices.load_and_remap_matrix_initializer(
            path, tensor, info.new_vocab_size, columns, info.old_vocab_size, info.old_vocab,
            info.new_vocab, None, None, info.num_oov_buckets, 0, info.backup_initializer,
        )  # fmt: skip
    return remapped_matrices.load_and_remap_matrix_initializer(
        path, tensor, rows, info.new_vocab_size, -1, None, None, info.old_vocab, info.new_vocab,
        0, info.num_oov_buckets, info.backup_initializer,
    )  # fmt: skip
