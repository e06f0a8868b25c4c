"""`tf.keras.datasets.mnist`: digits, by hand (python/keras/datasets/mnist.py)."""

from typing import Any

import numpy as np

from capstan.api.absent import absent
from capstan.keras.datasets import origins as _origins

_HASH = "731c5ac602752760c8e48fbffcf8c3b850d9dc2a2aedcf2cc48468fc17b673d1"


def load_data(path: str = "mnist.npz") -> _origins.Parts:
    """Return `(x_train, y_train), (x_test, y_test)`: images [60000, 28, 28] and their digits, and
    10000 more.

    The file is `path` in `~/.keras/datasets`. It is downloaded if it is not there.
    """
    with np.load(_origins.file(path, "mnist.npz", _HASH)) as arrays:
        return (
            (arrays["x_train"], arrays["y_train"]),
            (arrays["x_test"], arrays["y_test"]),
        )


def __getattr__(name: str) -> Any:
    raise absent("tf.keras.datasets.mnist", name)
