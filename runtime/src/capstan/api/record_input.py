"""Batches of TFRecords in random order (`RecordInput` of python/ops/data_flow_ops.py)."""

from typing import Any

from capstan.api import array_ops, context, python_io
from capstan.framework.raw import raw


class RecordInput:
    """Yields the records of files in random order, epoch after epoch, each once in an epoch.

    `file_pattern` has patterns of file names with commas between them. A record is drawn from
    `buffer_size` records, which are read from up to `parallelism` files. Each epoch shuffles the
    files and rotates their list by `shift_ratio` of its length. Equal seeds give equal orders,
    which are not those of TensorFlow. A step reads the files that it needs.

    Raises:
        ValueError: there is no such compression.
    """

    def __init__(
        self,
        file_pattern: str,
        batch_size: int = 1,
        buffer_size: int = 1,
        parallelism: int = 1,
        shift_ratio: float = 0,
        seed: int = 0,
        name: str | None = None,
        batches: int | None = None,
        compression_type: Any = None,
    ) -> None:
        self._batches = batches
        self._name = name
        self._attributes = {
            "file_pattern": file_pattern,
            "file_buffer_size": buffer_size,
            "file_parallelism": parallelism,
            "file_shuffle_shift_ratio": float(shift_ratio),
            "batch_size": batch_size * (1 if batches is None else batches),
            "file_random_seed": seed,
            "compression_type": python_io.TFRecordOptions.get_compression_type_string(
                compression_type
            ),
        }

    def get_yield_op(self) -> Any:
        """Return a vector of `batch_size` records, other ones in each step.

        With `batches`, return so many lists of `batch_size` scalars. A step fails with
        NotFoundError if no file matches the pattern.
        """
        records = raw.RecordInput(**self._attributes, name=self._name)
        if self._batches is None:
            return records
        with context.name_scope(self._name, "RecordInput"):
            parts = array_ops.split(records, self._attributes["batch_size"], 0)
            scalars = [array_ops.reshape(part, []) for part in parts]
        return [scalars[first :: self._batches] for first in range(self._batches)]
