"""The files of data sets: where they are on the Web, and on this machine."""

from typing import Any

from capstan.keras import downloads

BASE = "https://storage.googleapis.com/tensorflow/tf-keras-datasets/"
Part = tuple[Any, Any]
Parts = tuple[Part, Part]
"""The examples and their targets: those to train with, and those to test with."""


def file(path: str, name: str, file_hash: str) -> str:
    """Return the path of a file of TensorFlow's folder of data sets."""
    return downloads.get_file(path, BASE + name, file_hash=file_hash)
