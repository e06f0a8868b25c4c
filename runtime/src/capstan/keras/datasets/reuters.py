"""`tf.keras.datasets.reuters`: news, and their topics (python/keras/datasets/reuters.py)."""

from typing import Any

import numpy as np

from capstan.api.absent import absent
from capstan.keras.datasets import origins as _origins
from capstan.keras.datasets import word_numbers as _word_numbers

_HASH = "d6586e694ee56d7a4e65172e12b3e987c03096cb01eab99753921ef915959916"
_INDEX_HASH = "4d44cc38712099c9e383dc6e5f11a921"


def load_data(
    path: str = "reuters.npz",
    num_words: int | None = None,
    skip_top: int = 0,
    maxlen: int | None = None,
    test_split: float = 0.2,
    seed: int = 113,
    start_char: int | None = 1,
    oov_char: int | None = 2,
    index_from: int = 3,
) -> _origins.Parts:
    """Return `(x_train, y_train), (x_test, y_test)`: news, and the number of a topic below 46.

    The last part `test_split` is for tests. `tf.keras.datasets.imdb.load_data` describes the other
    arguments.
    """
    with np.load(_origins.file(path, "reuters.npz", _HASH), allow_pickle=True) as arrays:
        given = arrays["x"], arrays["y"]
    np.random.seed(seed)
    found, labels = _word_numbers.shuffled(*given)
    texts = _word_numbers.marked(found, start_char, index_from)
    if maxlen:
        texts, labels = _word_numbers.shorter(texts, labels, maxlen)
    texts = _word_numbers.limited(texts, num_words, skip_top, oov_char)
    return _word_numbers.parts(texts, labels, int(len(texts) * (1 - test_split)))


def get_word_index(path: str = "reuters_word_index.json") -> dict[str, int]:
    """Return the number of each word, without `index_from`."""
    return _word_numbers.index(path, "reuters_word_index.json", _INDEX_HASH)


def __getattr__(name: str) -> Any:
    raise absent("tf.keras.datasets.reuters", name)
