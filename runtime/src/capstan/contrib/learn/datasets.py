"""`tf.contrib.learn.datasets`: small data sets in files (contrib/learn/python/learn/datasets).

Capstan brings no data. The functions read files that the program names.
"""

import csv
import sys
from typing import Any, NamedTuple

import numpy as np

from capstan.api import file_io, mnist_data
from capstan.api.absent import absent
from capstan.core import public

load_mnist = mnist_data.load_mnist
read_data_sets = mnist_data.read_data_sets
extract_images = mnist_data.extract_images
extract_labels = mnist_data.extract_labels
DataSet = mnist_data.DataSet


class Dataset(NamedTuple):
    """Rows of features, and their targets."""

    data: Any
    target: Any


class Datasets(NamedTuple):
    """The data sets of an experiment."""

    train: Any
    validation: Any
    test: Any


def load_csv_with_header(
    filename: str, target_dtype: Any, features_dtype: Any, target_column: int = -1
) -> Dataset:
    """Return the data set of a CSV file whose first line starts with its rows and columns.

    Raises:
        ValueError: a value is not a number, or the number of rows is not that of the first line.
    """
    with file_io.GFile(filename) as file:
        rows = csv.reader(file)
        count, width = map(int, next(rows)[:2])
        dataset = _dataset(rows, target_dtype, features_dtype, target_column)
    if dataset.data.shape != (count, width):
        raise ValueError(
            f"{filename}: the first line promises {count} rows of {width} features, but the file "
            f"has {dataset.data.shape}"
        )
    return dataset


def load_csv_without_header(
    filename: str, target_dtype: Any, features_dtype: Any, target_column: int = -1
) -> Dataset:
    """Return the data set of a CSV file of rows only.

    Raises:
        ValueError: a value is not a number.
    """
    with file_io.GFile(filename) as file:
        return _dataset(csv.reader(file), target_dtype, features_dtype, target_column)


def _dataset(rows: Any, target_dtype: Any, features_dtype: Any, target_column: int) -> Dataset:
    data, target = [], []
    for row in rows:
        target.append(row.pop(target_column))
        data.append(row)
    return Dataset(np.array(data).astype(features_dtype), np.array(target).astype(target_dtype))


def load_iris(data_path: str | None = None) -> Dataset:
    """Return the data set of irises in the file `data_path`, which has a header.

    Raises:
        ValueError: there is no path. Capstan does not bring the file.
    """
    return load_csv_with_header(_given(data_path, "iris"), np.int64, np.float64)


def load_boston(data_path: str | None = None) -> Dataset:
    """Return the data set of Boston's houses in the file `data_path`. Raises as `load_iris`."""
    return load_csv_with_header(_given(data_path, "boston"), np.float64, np.float64)


def load_dataset(name: str, size: str = "small", test_with_fake_data: bool = False) -> Any:
    """Return a data set by its name: "mnist". It is in the folder MNIST-data.

    Raises:
        ValueError: there is no such data set.
    """
    if name == "mnist":
        return load_mnist()
    raise ValueError(f"Name of dataset is not found: {name}. Capstan brings no data: read a file")


def _given(path: str | None, name: str) -> str:
    if path is None:
        raise ValueError(f"Pass data_path to load_{name}: Capstan does not bring the file")
    return path


def __getattr__(name: str) -> Any:
    if name in ("base", "mnist"):  # TensorFlow has two modules for the functions.
        return sys.modules[__name__]
    raise absent("tf.contrib.learn.datasets", name)


def __dir__() -> list[str]:
    return public.names(globals())
