"""The data: 1 797 scanned handwritten digits, 8 by 8 pixels, as scikit-learn ships them."""

import gzip
import importlib.util
import pathlib
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

PIXELS = 64
CLASSES = 10


class Examples(NamedTuple):
    """Images as rows of 64 float32 between 0 and 1; labels as int64, the digit of each image."""

    images: npt.NDArray[np.float32]
    labels: npt.NDArray[np.int64]


def load(seed: int = 0, test_fraction: float = 0.25) -> tuple[Examples, Examples]:
    """Return the training examples and the test examples.

    The same seed gives the same split in every process. Raises ModuleNotFoundError when
    scikit-learn is not installed.
    """
    # Importing scikit-learn takes a second and 80 MB in each worker; reading its file does not.
    package = importlib.util.find_spec("sklearn")
    if package is None or not package.submodule_search_locations:
        message = "the digits come with scikit-learn: pip install -r requirements.txt"
        raise ModuleNotFoundError(message, name="sklearn")
    folder = pathlib.Path(package.submodule_search_locations[0])
    with gzip.open(folder / "datasets/data/digits.csv.gz", "rt", encoding="ascii") as lines:
        table = np.loadtxt(lines, delimiter=",", dtype=np.float32)
    order = np.random.default_rng(seed).permutation(len(table))
    test = int(len(table) * test_fraction)
    return _examples(table[order[test:]]), _examples(table[order[:test]])


def batches(examples: Examples, size: int, seed: int) -> Iterator[Examples]:
    """Yield batches of `size` without end. Each pass over the examples has an order of its own."""
    random = np.random.default_rng(seed)
    while True:
        order = random.permutation(len(examples.images))
        for start in range(0, len(order) - size + 1, size):
            chosen = order[start : start + size]
            yield Examples(examples.images[chosen], examples.labels[chosen])


def _examples(rows: npt.NDArray[np.float32]) -> Examples:
    # A pixel is the number of dark points in a square of 4 by 4: 0 to 16.
    return Examples(rows[:, :PIXELS] / 16, rows[:, PIXELS].astype(np.int64))
