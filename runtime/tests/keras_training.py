"""A linear model that Keras trains, the same model in NumPy, and the data of both."""

from collections.abc import Iterator
from typing import Any

import numpy as np

import capstan as tf

keras = tf.keras
RATE = 0.1
RANDOM = np.random.default_rng(0)
X = RANDOM.normal(size=(10, 3)).astype(np.float32)
Y = X @ np.float32([1, -2, 0.5]) + 0.25
START = np.float32([[0.5], [0.0], [-0.5]])


def linear(**options: Any) -> Any:
    """Return a linear model with weights that are known, and a learning rate of 0.1."""
    start = tf.constant_initializer(START)
    model = keras.Sequential([keras.layers.Dense(1, input_shape=(3,), kernel_initializer=start)])
    model.compile(keras.optimizers.SGD(RATE), "mse", **options)
    return model


class Reference:
    """The same model in NumPy."""

    def __init__(self) -> None:
        self.kernel, self.bias = START.copy(), np.zeros(1, np.float32)

    def errors(self, x: Any, y: Any) -> Any:
        return (x @ self.kernel + self.bias)[:, 0] - y

    def loss(self, x: Any, y: Any, weights: Any = 1.0) -> float:
        return float(np.mean(np.square(self.errors(x, y)) * weights))

    def step(self, x: Any, y: Any, weights: Any = 1.0) -> float:
        loss = self.loss(x, y, weights)
        slope = 2 * self.errors(x, y) * weights / len(x)
        self.kernel -= RATE * (slope @ x)[:, np.newaxis]
        self.bias -= RATE * slope.sum()
        return loss


def batches(size: int) -> list[slice]:
    return [slice(start, min(start + size, len(X))) for start in range(0, len(X), size)]


def check(model: Any, reference: Reference) -> None:
    kernel, bias = model.get_weights()
    np.testing.assert_allclose(kernel, reference.kernel, rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(bias, reference.bias, rtol=1e-4, atol=1e-6)


def dataset(size: int) -> Any:
    return tf.data.Dataset.from_tensor_slices((X, Y)).batch(size)


def dataset_of(labels: Any, weights: Any) -> Any:
    return tf.data.Dataset.from_tensors((X, labels, weights))


class Numbered:
    """Batches by number, as `keras.utils.Sequence` has them."""

    def __len__(self) -> int:
        return len(batches(4))

    def __getitem__(self, number: int) -> Any:
        place = batches(4)[number]
        return X[place], Y[place]


def endless() -> Iterator[Any]:
    while True:
        for place in batches(4):
            yield X[place], Y[place]
