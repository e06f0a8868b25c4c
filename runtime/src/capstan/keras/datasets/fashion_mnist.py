"""`tf.keras.datasets.fashion_mnist`: clothes (python/keras/datasets/fashion_mnist.py)."""

import gzip
import os
from typing import Any

import numpy as np

from capstan.api.absent import absent
from capstan.keras import downloads as _downloads
from capstan.keras.datasets import origins as _origins


def load_data() -> _origins.Parts:
    """Return `(x_train, y_train), (x_test, y_test)`: images [60000, 28, 28] and their classes,
    and 10000 more.

    The files are in `~/.keras/datasets/fashion-mnist`. They are downloaded if they are not there.
    """
    return _part("train"), _part("t10k")


def _part(name: str) -> _origins.Part:
    labels = _bytes(f"{name}-labels-idx1-ubyte.gz", 8)
    images = _bytes(f"{name}-images-idx3-ubyte.gz", 16)
    return images.reshape(len(labels), 28, 28), labels


def _bytes(name: str, header: int) -> np.ndarray:
    folder = os.path.join("datasets", "fashion-mnist")
    path = _downloads.get_file(name, _origins.BASE + name, cache_subdir=folder)
    with gzip.open(path) as file:
        return np.frombuffer(file.read(), np.uint8, offset=header)


def __getattr__(name: str) -> Any:
    raise absent("tf.keras.datasets.fashion_mnist", name)
