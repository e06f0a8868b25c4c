"""`tf.keras.datasets.cifar10`: photos of 10 classes (python/keras/datasets/cifar10.py)."""

from typing import Any

from capstan.api.absent import absent
from capstan.keras.datasets import cifar_files as _cifar_files
from capstan.keras.datasets import origins as _origins

_HASH = "6d958be074577803d12ecdefd02955f39262c83c16fe9348329d7fe0b5c001ce"


def load_data() -> _origins.Parts:
    """Return `(x_train, y_train), (x_test, y_test)`: images [50000, 32, 32, 3], classes [50000, 1],
    and 10000 more.

    The files are in `~/.keras/datasets/cifar-10-batches-py`. They are downloaded if they are not
    there.
    """
    home = _cifar_files.folder("cifar-10-batches-py", "cifar-10-python.tar.gz", _HASH)
    names = [f"data_batch_{number}" for number in range(1, 6)]
    trained, tested = (
        _cifar_files.joined(home, each, "labels") for each in (names, ["test_batch"])
    )
    return (trained[0], trained[1].astype("uint8")), (tested[0], tested[1].astype("uint8"))


def __getattr__(name: str) -> Any:
    raise absent("tf.keras.datasets.cifar10", name)
