"""The handwritten digits of MNIST (contrib/learn/python/learn/datasets/mnist.py).

The data are four files, packed with gzip or not. Nothing is downloaded.
"""

import gzip
import math
import os
import struct
from typing import Any, NamedTuple

import numpy as np

from capstan import errors
from capstan.core import dtypes
from capstan.framework import random_seed
from capstan.resources import files

__all__ = [
    "DataSet", "Datasets", "extract_images", "extract_labels", "load_mnist", "read_data_sets",
]  # fmt: skip

_TRAIN_IMAGES, _TRAIN_LABELS = "train-images-idx3-ubyte", "train-labels-idx1-ubyte"
_TEST_IMAGES, _TEST_LABELS = "t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte"
_IMAGE_MAGIC, _LABEL_MAGIC = 2051, 2049
_CLASSES = 10


class DataSet:
    """Images with their labels, in batches. Not thread-safe.

    `images` is a uint8 array of shape [count, rows, columns, 1]. With `dtype` float32, its values
    become numbers from 0 to 1. With `reshape`, an image becomes a vector. A data set with
    `fake_data` has no images, and its batches hold ones.

    Raises:
        TypeError: `dtype` is neither uint8 nor float32.
        ValueError: there are not as many labels as images.
    """

    def __init__(
        self,
        images: Any,
        labels: Any,
        fake_data: bool = False,
        one_hot: bool = False,
        dtype: Any = dtypes.float32,
        reshape: bool = True,
        seed: int | None = None,
    ) -> None:
        graph_seed, op_seed = random_seed.get_seed(seed)
        self._random = np.random.RandomState(graph_seed if seed is None else op_seed)
        kind = dtypes.as_dtype(dtype).base_dtype
        if kind not in (dtypes.uint8, dtypes.float32):
            raise TypeError(f"Invalid image dtype {kind!r}, expected uint8 or float32")
        self.one_hot = one_hot
        if fake_data:
            self._num_examples = 10000
        else:
            if len(images) != len(labels):
                raise ValueError(f"images.shape: {images.shape} labels.shape: {labels.shape}")
            self._num_examples = len(images)
            if reshape:
                images = images.reshape(len(images), math.prod(images.shape[1:]))
            if kind is dtypes.float32:
                images = np.multiply(images.astype(np.float32), np.float32(1.0 / 255.0))
        self._images = images
        self._labels = labels
        self._epochs_completed = 0
        self._index_in_epoch = 0

    @property
    def images(self) -> Any:
        return self._images

    @property
    def labels(self) -> Any:
        return self._labels

    @property
    def num_examples(self) -> int:
        return self._num_examples

    @property
    def epochs_completed(self) -> int:
        """The number of times that batches have gone through all images."""
        return self._epochs_completed

    def next_batch(
        self, batch_size: int, fake_data: bool = False, shuffle: bool = True
    ) -> tuple[Any, Any]:
        """Return the next images and labels. Each epoch has all images, in random order.

        At the end of an epoch, a batch also has the first images of the next epoch.
        """
        if fake_data:
            label: Any = [1] + [0] * (_CLASSES - 1) if self.one_hot else 0
            return [[1] * 784] * batch_size, [label] * batch_size
        start = self._index_in_epoch
        if self._epochs_completed == 0 and start == 0 and shuffle:
            self._shuffle()
        end = start + batch_size
        if end <= self._num_examples:
            self._index_in_epoch = end
            return self._images[start:end], self._labels[start:end]
        self._epochs_completed += 1
        images, labels = self._images[start:], self._labels[start:]
        if shuffle:
            self._shuffle()
        end -= self._num_examples
        self._index_in_epoch = end
        return (
            np.concatenate((images, self._images[:end])),
            np.concatenate((labels, self._labels[:end])),
        )

    def _shuffle(self) -> None:
        order = np.arange(self._num_examples)
        self._random.shuffle(order)
        self._images, self._labels = self._images[order], self._labels[order]


class Datasets(NamedTuple):
    """The images to train with, to validate with and to test with."""

    train: DataSet
    validation: DataSet
    test: DataSet


def read_data_sets(
    train_dir: str,
    fake_data: bool = False,
    one_hot: bool = False,
    dtype: Any = dtypes.float32,
    reshape: bool = True,
    validation_size: int = 5000,
    seed: int | None = None,
    source_url: str | None = None,
) -> Datasets:
    """Read the four files of MNIST in `train_dir`. `source_url` has no effect.

    The first `validation_size` images to train with are for validation instead. With `one_hot`, a
    label is a vector of ten numbers. With `fake_data`, no file is read.

    Raises:
        NotFoundError: a file is missing.
        ValueError: a file has another content, or there are fewer than `validation_size` images.
    """
    options: dict[str, Any] = {"dtype": dtype, "reshape": reshape, "seed": seed}
    if fake_data:
        fake = [DataSet([], [], fake_data=True, one_hot=one_hot, **options) for _ in range(3)]
        return Datasets(*fake)
    names = (_TRAIN_IMAGES, _TRAIN_LABELS, _TEST_IMAGES, _TEST_LABELS)
    paths = _paths(train_dir, names)
    images, test_images = (_images(files.read_all(each), each) for each in paths[::2])
    labels, test_labels = (_labels(files.read_all(each), each) for each in paths[1::2])
    if one_hot:
        labels, test_labels = (np.eye(_CLASSES)[each] for each in (labels, test_labels))
    if not 0 <= validation_size <= len(images):
        raise ValueError(
            f"Validation size should be between 0 and {len(images)}. Received: {validation_size}."
        )
    train = images[validation_size:], labels[validation_size:]
    validation = images[:validation_size], labels[:validation_size]
    return Datasets(
        *(DataSet(*each, **options) for each in (train, validation, (test_images, test_labels)))
    )


def load_mnist(train_dir: str = "MNIST-data") -> Datasets:
    """Read the files in `train_dir` with the defaults of `read_data_sets`."""
    return read_data_sets(train_dir)


def _paths(folder: str, names: tuple[str, ...]) -> list[str]:
    """Return the path of each file, packed or not.

    Raises:
        NotFoundError: a file is missing. The message lists all missing files.
    """
    found: list[str] = []
    missing: list[str] = []
    for name in names:
        packed, plain = (os.path.join(folder, each) for each in (f"{name}.gz", name))
        path = next((each for each in (packed, plain) if files.of(each).exists(each)), None)
        if path is None:
            missing.append(f"{name}.gz")
        else:
            found.append(path)
    if missing:
        raise errors.NotFoundError(
            None,
            None,
            f"{folder} lacks {', '.join(missing)}. Capstan downloads nothing: put the four files "
            "of MNIST there, or pass fake_data=True",
        )
    return found


def extract_images(f: Any) -> Any:
    """Return the images of an open file as a uint8 array of shape [count, rows, columns, 1].

    Raises:
        ValueError: the file has no images.
    """
    return _images(f.read(), f.name)


def extract_labels(f: Any, one_hot: bool = False, num_classes: int = _CLASSES) -> Any:
    """Return the labels of an open file as a uint8 vector, or as rows of float64 numbers.

    Raises:
        ValueError: the file has no labels.
    """
    labels = _labels(f.read(), f.name)
    return np.eye(num_classes)[labels] if one_hot else labels


def _images(data: bytes, path: str) -> Any:
    """Return the images of a file with this content."""
    content = _unpacked(data)
    magic, count, rows, columns = struct.unpack_from(">4I", content)
    if magic != _IMAGE_MAGIC:
        raise ValueError(f"Invalid magic number {magic} in MNIST image file: {path}")
    pixels = np.frombuffer(content, np.uint8, count * rows * columns, offset=16)
    return pixels.reshape(count, rows, columns, 1)


def _labels(data: bytes, path: str) -> Any:
    """Return the labels of a file with this content."""
    content = _unpacked(data)
    magic, count = struct.unpack_from(">2I", content)
    if magic != _LABEL_MAGIC:
        raise ValueError(f"Invalid magic number {magic} in MNIST label file: {path}")
    return np.frombuffer(content, np.uint8, count, offset=8)


def _unpacked(data: bytes) -> bytes:
    return gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data
