"""`tf.keras.datasets.boston_housing`: prices of houses
(python/keras/datasets/boston_housing.py).
"""

from typing import Any

import numpy as np

from capstan.api.absent import absent
from capstan.keras.datasets import origins as _origins

_HASH = "f553886a1f8d56431e820c5b82552d9d95cfcb96d1e678153f8839538947dff5"


def load_data(
    path: str = "boston_housing.npz", test_split: float = 0.2, seed: int = 113
) -> _origins.Parts:
    """Return `(x_train, y_train), (x_test, y_test)`: 13 numbers for each house, and its price.

    The examples are in an order that `seed` chooses. The last part `test_split` is for tests. The
    file is `path` in `~/.keras/datasets`. It is downloaded if it is not there.

    Raises:
        AssertionError: `test_split` is not in [0, 1).
    """
    if not 0 <= test_split < 1:
        raise AssertionError(f"test_split must be in [0, 1), and it is {test_split}")
    with np.load(_origins.file(path, "boston_housing.npz", _HASH)) as arrays:
        x, y = arrays["x"], arrays["y"]
    np.random.seed(seed)
    order = np.arange(len(x))
    np.random.shuffle(order)
    x, y = x[order], y[order]
    cut = int(len(x) * (1 - test_split))
    return (x[:cut], y[:cut]), (x[cut:], y[cut:])


def __getattr__(name: str) -> Any:
    raise absent("tf.keras.datasets.boston_housing", name)
