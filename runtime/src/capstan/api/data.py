"""`tf.data`: input pipelines as datasets and iterators."""

import importlib
from typing import Any

from capstan.api import data_structure
from capstan.api.absent import absent
from capstan.api.data_base import DatasetSpec
from capstan.api.data_iterators import Iterator
from capstan.api.data_options import Options
from capstan.api.data_readers import FixedLengthRecordDataset, TextLineDataset, TFRecordDataset
from capstan.api.dataset import Dataset

__all__ = [
    "Dataset",
    "DatasetSpec",
    "FixedLengthRecordDataset",
    "Iterator",
    "Options",
    "TFRecordDataset",
    "TextLineDataset",
    "get_output_classes",
    "get_output_shapes",
    "get_output_types",
    "make_initializable_iterator",
    "make_one_shot_iterator",
]


def get_output_types(dataset_or_iterator: Any) -> Any:
    """Return the type of each component of a dataset or an iterator."""
    return data_structure.legacy_types(dataset_or_iterator._spec)


def get_output_shapes(dataset_or_iterator: Any) -> Any:
    """Return the shape of each component of a dataset or an iterator."""
    return data_structure.legacy_shapes(dataset_or_iterator._spec)


def get_output_classes(dataset_or_iterator: Any) -> Any:
    """Return the class of each component of a dataset or an iterator."""
    return data_structure.legacy_classes(dataset_or_iterator._spec)


def make_one_shot_iterator(dataset: Dataset) -> Iterator:
    """Return `dataset.make_one_shot_iterator()`."""
    return dataset.make_one_shot_iterator()


def make_initializable_iterator(dataset: Dataset, shared_name: str | None = None) -> Iterator:
    """Return `dataset.make_initializable_iterator(shared_name)`."""
    return dataset.make_initializable_iterator(shared_name)


def __getattr__(name: str) -> Any:
    if name == "experimental":
        return importlib.import_module("capstan.api.data_experimental")
    raise absent("tf.data", name)
