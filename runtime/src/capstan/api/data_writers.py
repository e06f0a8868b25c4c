"""`tf.data.experimental.TFRecordWriter` (python/data/experimental/ops/writers.py)."""

from typing import Any

from capstan.api import data_structure
from capstan.api.dataset import Dataset
from capstan.core import dtypes
from capstan.framework import convert
from capstan.framework import graph as graphs
from capstan.framework.raw import raw

_RECORD = data_structure.TensorSpec([], dtypes.string)


class TFRecordWriter:
    """Writes the elements of datasets to a TFRecord file.

    `filename` is a string or a scalar tensor, and `compression_type` "" (the default), "ZLIB" or
    "GZIP".
    """

    def __init__(self, filename: Any, compression_type: Any = None) -> None:
        self._filename = convert.convert_to_tensor(filename, dtypes.string, name="filename")
        self._compression_type = convert.convert_to_tensor(
            "" if compression_type is None else compression_type,
            dtypes.string,
            name="compression_type",
        )

    def write(self, dataset: Dataset) -> graphs.Operation:
        """Return an operation that replaces the file by the elements of a dataset of strings.

        The task of the operation writes the file. A step that runs it ends when all is written.

        Raises:
            TypeError: `dataset` is not a dataset, or its elements are not scalar strings.
        """
        if not isinstance(dataset, Dataset):
            raise TypeError("`dataset` must be a `tf.data.Dataset` object.")
        spec = dataset._spec
        if not (isinstance(spec, data_structure.TensorSpec) and spec.is_compatible_with(_RECORD)):
            raise TypeError(
                "`dataset` must produce scalar `DT_STRING` tensors whereas it produces shape "
                f"{dataset.output_shapes} and types {dataset.output_types}"
            )
        operation: graphs.Operation = raw.DatasetToTFRecord(
            dataset._variant_tensor, self._filename, self._compression_type
        )
        return operation
