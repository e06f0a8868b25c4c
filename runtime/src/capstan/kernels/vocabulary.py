"""Kernels that load a matrix of a checkpoint for a new vocabulary.

Each row, or each column, of the matrix belongs to a word. A vocabulary is a file with one word per
line. Sources: core/kernels/{generate_vocab_remapping,load_and_remap_matrix}_op.cc.
"""

import numpy as np

from capstan import errors
from capstan.core import bundle_entry, dtypes, shapes
from capstan.core.arrays import Array
from capstan.kernels import io, rejection
from capstan.kernels.registry import Function, Kernel, NodeContext, register
from capstan.resources import checkpoints, files

_MISSING = -1


def _generate(node: NodeContext) -> Function:
    start, count = node.attrs["new_vocab_offset"], node.attrs["num_new_vocab"]
    old_count = node.attrs["old_vocab_size"]

    def generate(new_file: Array, old_file: Array) -> tuple[Array, Array]:
        new_words = _words(io.file_name(new_file))
        if start + count > len(new_words):
            raise rejection.invalid(
                "lookup table size must be larger than last new vocab entry's line"
            )
        numbers = _numbers(io.file_name(old_file), old_count)
        wanted = new_words[start : start + count]
        remapping = np.array([numbers.get(word, _MISSING) for word in wanted], np.int64)
        return remapping, np.asarray(np.count_nonzero(remapping != _MISSING), np.int32)

    return generate


def _words(file: str) -> list[bytes]:
    lines = files.read_all(file).replace(b"\r", b"").split(b"\n")
    return lines if lines[-1] else lines[:-1]


def _numbers(file: str, count: int) -> dict[bytes, int]:
    """Return the line of each word in the first `count` lines of a file. -1 stands for all lines.

    Raises:
        InvalidArgumentError: the file has fewer lines.
        FailedPreconditionError: a word occurs twice.
    """
    words = _words(file)
    if count > len(words):
        raise rejection.invalid(
            f"Invalid vocab_size in {file}: expected {count} but got {len(words)}"
        )
    numbers: dict[bytes, int] = {}
    for number, word in enumerate(words if count < 0 else words[:count]):
        if numbers.setdefault(word, number) != number:
            raise errors.FailedPreconditionError(
                None,
                None,
                f"HashTable has different value for same key. Key {word.decode(errors='replace')} "
                f"has {numbers[word]} and trying to add value {number}: {file}",
            )
    return numbers


def _load(node: NodeContext) -> Function:
    rows, columns = node.attrs["num_rows"], node.attrs["num_cols"]
    chunk = node.attrs["max_rows_in_memory"]

    def load(path: Array, name: Array, row_map: Array, column_map: Array, initial: Array) -> Array:
        if row_map.size != rows:
            raise rejection.invalid(
                f"Size of row_remapping is {row_map.size} instead of being equal to num_rows={rows}"
            )
        if column_map.size not in (0, columns):
            raise rejection.invalid(
                f"Provided col_remapping, but its size is {column_map.size} instead of being equal "
                f"to num_cols={columns}"
            )
        _check_distinct(row_map)
        _check_distinct(column_map)
        reader, tensor = checkpoints.opened(io.file_name(path)), io.texts(name)[0]
        shape = _matrix_shape(reader, tensor, None if column_map.size else columns)
        if not column_map.size:
            column_map = np.arange(columns)
        matrix = np.empty((rows, columns), np.float32)
        _copy(matrix, reader, tensor, shape, row_map, column_map, chunk)
        _fill(matrix, row_map, column_map, initial.reshape(-1))
        return matrix

    return load


def _check_distinct(remapping: Array) -> None:
    used: dict[int, int] = {}
    for new, old in enumerate(remapping.tolist()):
        if old >= 0 and used.setdefault(old, new) != new:
            raise errors.UnimplementedError(
                None,
                None,
                f"Old ID {old} is mapped to both new ID {used[old]} and {new}, which is not "
                "supported.",
            )


def _matrix_shape(
    reader: checkpoints.Checkpoint, name: str, columns: int | None
) -> tuple[int, ...]:
    """Return the shape of a matrix in a checkpoint, which must have `columns` columns."""
    dtype, shape = reader.dtype(name), reader.shape(name)
    if dtype is not dtypes.float32:
        raise rejection.invalid(
            f"Tensor {name} has invalid type {dtype.name} instead of expected type float32"
        )
    if len(shape) != 2:
        raise rejection.invalid(
            f"Tensor {name} has shape {shapes.show(shape)} of invalid rank {len(shape)} instead of "
            "expected shape of rank 2."
        )
    if columns not in (None, shape[1]):
        raise rejection.invalid(
            f"Tensor {name} has shape {shapes.show(shape)}, where the size of its 2nd dimension is "
            f"{shape[1]} instead of being equal to num_cols={columns}"
        )
    return shape


def _copy(
    matrix: Array,
    reader: checkpoints.Checkpoint,
    name: str,
    shape: tuple[int, ...],
    row_map: Array,
    column_map: Array,
    chunk: int,
) -> None:
    """Copy the rows and columns that the checkpoint has, at most `chunk` rows at a time."""
    if max([*row_map.tolist(), 0]) >= max(shape[0], 1) or max([*column_map.tolist(), 0]) >= max(
        shape[1], 1
    ):
        raise rejection.invalid(
            f"Tensor {name} has shape {shapes.show(shape)}, but the vocabulary has more words"
        )
    kept = row_map[row_map >= 0]
    if not kept.size:
        return
    (new_columns,) = np.nonzero(column_map >= 0)
    first, last = int(kept.min()), int(kept.max())
    size = chunk if chunk > 0 else last - first + 1
    for start in range(first, last + 1, size):
        length = min(size, last + 1 - start)
        part = reader.read(name, ((start, length), (0, bundle_entry.WHOLE)))
        (new_rows,) = np.nonzero((row_map >= start) & (row_map < start + length))
        matrix[np.ix_(new_rows, new_columns)] = part[
            np.ix_(row_map[new_rows] - start, column_map[new_columns])
        ]


def _fill(matrix: Array, row_map: Array, column_map: Array, initial: Array) -> None:
    """Set the elements that the checkpoint does not have, row by row."""
    missing = ~((row_map >= 0)[:, np.newaxis] & (column_map >= 0))
    count = int(np.count_nonzero(missing))
    if initial.size < count:
        raise rejection.invalid(
            f"initializing_values contained {initial.size} elements, but more missing values "
            "remain."
        )
    if initial.size > count:
        raise rejection.invalid(
            f"initializing_values contained {initial.size} elements, but only {count} elements "
            "were used to fill in missing values."
        )
    matrix[missing] = initial


register(Kernel("GenerateVocabRemapping", _generate))
register(Kernel("LoadAndRemapMatrix", _load))
