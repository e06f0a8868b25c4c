"""The files of CIFAR-10 and CIFAR-100 (python/keras/datasets/cifar.py)."""

import os
import pickle

import numpy as np

from capstan.api.layers import settings
from capstan.keras import downloads


def folder(name: str, archive: str, file_hash: str) -> str:
    """Return the folder `name` of `~/.keras/datasets`, which is downloaded if it is not there."""
    origin = f"https://www.cs.toronto.edu/~kriz/{archive}"
    return downloads.get_file(name, origin, untar=True, file_hash=file_hash)


def batch(path: str, labels: str) -> tuple[np.ndarray, np.ndarray]:
    """Return the images of a file in the format of Keras, and their labels [images, 1]."""
    with open(path, "rb") as file:
        found = {key.decode(): value for key, value in pickle.load(file, encoding="bytes").items()}
    images = found["data"].reshape(-1, 3, 32, 32)
    if settings.SETTINGS.image_data_format == "channels_last":
        images = images.transpose(0, 2, 3, 1)
    return images, np.reshape(found[labels], (-1, 1))


def joined(home: str, names: list[str], labels: str) -> tuple[np.ndarray, np.ndarray]:
    """Return the images and the labels of several files."""
    parts = [batch(os.path.join(home, name), labels) for name in names]
    return np.concatenate([x for x, _ in parts]), np.concatenate([y for _, y in parts])
