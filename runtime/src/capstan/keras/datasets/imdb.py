"""`tf.keras.datasets.imdb`: reviews of films, and whether they are good
(python/keras/datasets/imdb.py).
"""

from typing import Any

import numpy as np

from capstan.api.absent import absent
from capstan.keras.datasets import origins as _origins
from capstan.keras.datasets import word_numbers as _word_numbers

_HASH = "69664113be75683a8fe16e3ed0ab59fda8886cb3cd7ada244f7d9544e4676b9f"
_INDEX_HASH = "bfafd718b763782e994055a2d397834f"


def load_data(
    path: str = "imdb.npz",
    num_words: int | None = None,
    skip_top: int = 0,
    maxlen: int | None = None,
    seed: int = 113,
    start_char: int | None = 1,
    oov_char: int | None = 2,
    index_from: int = 3,
) -> _origins.Parts:
    """Return `(x_train, y_train), (x_test, y_test)`: 25000 reviews each, and 1 for a good one.

    A review is a list of numbers of words, behind `start_char`. The most frequent word has the
    number `index_from + 1`. Words below `skip_top`, and from `num_words` on, become `oov_char`, or
    are left out if it is None. Reviews of `maxlen` words and more are left out. The file is `path`
    in `~/.keras/datasets`. It is downloaded if it is not there.

    Raises:
        ValueError: all reviews are too long.
    """
    with np.load(_origins.file(path, "imdb.npz", _HASH), allow_pickle=True) as arrays:
        given = {name: arrays[name] for name in ("x_train", "y_train", "x_test", "y_test")}
    np.random.seed(seed)
    trained = _word_numbers.shuffled(given["x_train"], given["y_train"])
    tested = _word_numbers.shuffled(given["x_test"], given["y_test"])
    texts = _word_numbers.marked([*trained[0], *tested[0]], start_char, index_from)
    labels: Any = np.concatenate([trained[1], tested[1]])
    if maxlen:
        texts, labels = _word_numbers.shorter(texts, labels, maxlen)
        if not texts:
            raise ValueError(
                f"After filtering for sequences shorter than maxlen={maxlen}, no sequence was kept."
                " Increase maxlen."
            )
    texts = _word_numbers.limited(texts, num_words, skip_top, oov_char)
    return _word_numbers.parts(texts, labels, len(trained[0]))


def get_word_index(path: str = "imdb_word_index.json") -> dict[str, int]:
    """Return the number of each word, without `index_from`."""
    return _word_numbers.index(path, "imdb_word_index.json", _INDEX_HASH)


def __getattr__(name: str) -> Any:
    raise absent("tf.keras.datasets.imdb", name)
