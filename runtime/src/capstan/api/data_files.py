"""Files of Examples as datasets of features (python/data/experimental/ops/readers.py)."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from capstan.api import data_base, data_structure, example_ops, file_io
from capstan.api.data_readers import TFRecordDataset
from capstan.api.dataset import Dataset
from capstan.core import dtypes, tensor_shape

__all__ = ["make_batched_features_dataset", "parse_example_dataset"]


def input_files(file_pattern: Any) -> list[str]:
    """Return the names of the files that match a pattern, or any of several patterns.

    Raises:
        ValueError: no file matches.
    """
    names = file_io.get_matching_files(file_pattern)
    if not names:
        raise ValueError(f"No files match `file_pattern` {file_pattern}.")
    return sorted(names)


def shuffled_and_repeated(
    dataset: Any, num_epochs: int | None, shuffle: bool, buffer_size: int, seed: int | None
) -> Any:
    """Return the elements, shuffled if `shuffle`, and repeated."""
    if shuffle:
        dataset = dataset.shuffle(buffer_size, seed)
    return dataset if num_epochs == 1 else dataset.repeat(num_epochs)


def parse_example_dataset(
    features: Mapping[str, Any], num_parallel_calls: int = 1
) -> Callable[[Dataset], Dataset]:
    """Return a transformation from vectors of serialized Examples to features by name.

    `features` is as for `tf.parse_example`. `num_parallel_calls` vectors are parsed at a time.

    Raises:
        ValueError: `features` is missing, or a SparseFeature is invalid.
        TypeError (when it is applied): the elements are not vectors of strings.
    """
    if not features:
        raise ValueError("Missing: `features` was `None`.")
    stored = example_ops.stored(features)

    def apply(dataset: Dataset) -> Dataset:
        spec = dataset._spec
        is_strings = isinstance(spec, data_structure.TensorSpec) and spec.dtype is dtypes.string
        if not is_strings or not spec.shape.is_compatible_with([None]):
            raise TypeError("Input dataset should be a dataset of vectors of strings.")
        columns = example_ops.columns_of(stored)
        parsed: Dataset = dataset._unary(
            "ParseExampleDataset",
            data_base.int64(num_parallel_calls, "num_parallel_calls"),
            example_ops.default_tensors(columns),
            spec=_parsed_spec(columns, spec.shape),
            sparse_keys=columns.sparse_keys,
            dense_keys=columns.keys,
            sparse_types=columns.sparse_types,
            Tdense=columns.types,
            dense_shapes=columns.shapes,
        )
        if stored == features:
            return parsed
        composed: Dataset = parsed.map(lambda found: example_ops.composed(features, found))
        return composed

    return apply


def _parsed_spec(columns: example_ops.Columns, batch: tensor_shape.TensorShape) -> dict[str, Any]:
    """Return the structure of the features of a vector of Examples. `batch` is its shape."""
    batch = batch.merge_with([None])
    spec: dict[str, Any] = {
        key: data_structure.SparseTensorSpec(batch.concatenate([None]), dtype)
        for key, dtype in zip(columns.sparse_keys, columns.sparse_types, strict=True)
    }
    for key, dtype, shape in zip(columns.keys, columns.types, columns.shapes, strict=True):
        spec[key] = data_structure.TensorSpec(batch.concatenate(shape), dtype)
    return {key: spec[key] for key in sorted(spec)}


def make_batched_features_dataset(
    file_pattern: Any,
    batch_size: Any,
    features: Mapping[str, Any],
    reader: Any = TFRecordDataset,
    label_key: str | None = None,
    reader_args: Any = None,
    num_epochs: int | None = None,
    shuffle: bool = True,
    shuffle_buffer_size: int = 10000,
    shuffle_seed: int | None = None,
    prefetch_buffer_size: int = -1,
    reader_num_threads: int = 1,
    parser_num_threads: int = 2,
    sloppy_ordering: bool = False,
    drop_final_batch: bool = False,
) -> Dataset:
    """Return batches of the features in files of serialized Examples, by name.

    `reader(name, *reader_args)` returns the dataset of a file: records, or pairs of a key and a
    record. With `label_key`, an element is a pair: the other features, and this feature. Without
    `num_epochs` the dataset has no end.

    Raises:
        ValueError: no file matches, or `label_key` is not in `features`.
    """
    files = input_files(file_pattern)
    if label_key is not None and label_key not in features:
        raise ValueError(
            f"The `label_key` provided ({label_key}) must be one of the `features` keys: "
            f"{list(features)}."
        )
    listed: Any = Dataset.from_tensor_slices(np.array(files))
    if shuffle:
        listed = listed.shuffle(len(files), shuffle_seed)
    records = listed.interleave(
        lambda name: reader(name, *(reader_args or ())), cycle_length=reader_num_threads
    )
    if isinstance(records._spec, tuple):
        records = records.map(lambda _, record: record)
    records = shuffled_and_repeated(records, num_epochs, shuffle, shuffle_buffer_size, shuffle_seed)
    batches = records.batch(batch_size, drop_remainder=drop_final_batch or num_epochs is None)
    parsed: Any = parse_example_dataset(features, parser_num_threads)(batches)
    if label_key is not None:
        key = label_key
        parsed = parsed.map(lambda found: (found, found.pop(key)))
    prefetched: Dataset = parsed.prefetch(prefetch_buffer_size)
    return prefetched
