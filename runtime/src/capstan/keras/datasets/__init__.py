"""`tf.keras.datasets`: small data sets, in `~/.keras/datasets` or downloaded
(python/keras/datasets).
"""

from typing import Any

from capstan.api.absent import absent
from capstan.keras.datasets import boston_housing as boston_housing
from capstan.keras.datasets import cifar10 as cifar10
from capstan.keras.datasets import cifar100 as cifar100
from capstan.keras.datasets import fashion_mnist as fashion_mnist
from capstan.keras.datasets import imdb as imdb
from capstan.keras.datasets import mnist as mnist
from capstan.keras.datasets import reuters as reuters

__all__ = [
    "boston_housing",
    "cifar10",
    "cifar100",
    "fashion_mnist",
    "imdb",
    "mnist",
    "reuters",
]


def __getattr__(name: str) -> Any:
    raise absent("tf.keras.datasets", name)
