"""`tf.keras.datasets.cifar100`: photos of 100 classes (python/keras/datasets/cifar100.py)."""

from typing import Any

from capstan.api.absent import absent
from capstan.keras.datasets import cifar_files as _cifar_files
from capstan.keras.datasets import origins as _origins

_HASH = "85cd44d02ba6437773c5bbd22e183051d648de2e7d6b014e1ef29b855ba677a7"


def load_data(label_mode: str = "fine") -> _origins.Parts:
    """Return `(x_train, y_train), (x_test, y_test)`: images [50000, 32, 32, 3], classes [50000, 1],
    and 10000 more.

    `label_mode` is "fine" for 100 classes, or "coarse" for 20. The files are in
    `~/.keras/datasets/cifar-100-python`. They are downloaded if they are not there.

    Raises:
        ValueError: `label_mode` is another one.
    """
    if label_mode not in ("fine", "coarse"):
        raise ValueError('`label_mode` must be one of `"fine"`, `"coarse"`.')
    home = _cifar_files.folder("cifar-100-python", "cifar-100-python.tar.gz", _HASH)
    labels = f"{label_mode}_labels"
    trained, tested = (_cifar_files.joined(home, [each], labels) for each in ("train", "test"))
    return trained, tested


def __getattr__(name: str) -> Any:
    raise absent("tf.keras.datasets.cifar100", name)
