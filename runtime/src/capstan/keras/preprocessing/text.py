"""`tf.keras.preprocessing.text`: texts as numbers of words (python/keras/preprocessing/text.py,
keras_preprocessing/text.py).
"""

import collections
import hashlib
import json
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from capstan.api.absent import absent

_FILTERS = '!"#$%&()*+,-./:;<=>?@[\\]^_`{|}~\t\n'
_TABLES = ("word_counts", "word_docs", "index_docs", "index_word", "word_index")
_BY_NUMBER = ("index_docs", "index_word")


def text_to_word_sequence(
    text: str, filters: Any = _FILTERS, lower: bool = True, split: str = " "
) -> list[str]:
    """Return the words of a text, which are separated by `split` or a character of `filters`."""
    text = text.lower() if lower else text
    table: dict[str, str | int | None] = dict.fromkeys(filters, split)
    separated = text.translate(str.maketrans(table))
    return [word for word in separated.split(split) if word]


def one_hot(
    text: str, n: int, filters: Any = _FILTERS, lower: bool = True, split: str = " "
) -> list[int]:
    """Return a number from 1 to n - 1 for each word, by Python's `hash`."""
    return hashing_trick(text, n, hash, filters, lower, split)


def hashing_trick(
    text: str,
    n: int,
    hash_function: Callable[[str], int] | str | None = None,
    filters: Any = _FILTERS,
    lower: bool = True,
    split: str = " ",
) -> list[int]:
    """Return a number from 1 to n - 1 for each word. Several words may have the same number.

    `hash_function` is a function of a word, or "md5". By default it is Python's `hash`, whose
    values differ between processes.
    """
    if hash_function == "md5":
        function: Any = _md5
    else:
        function = hash if hash_function is None else hash_function
    words = text_to_word_sequence(text, filters, lower, split)
    return [function(word) % (n - 1) + 1 for word in words]


def _md5(word: str) -> int:
    return int(hashlib.md5(word.encode(), usedforsecurity=False).hexdigest(), 16)


class Tokenizer:
    """Numbers the words of texts by their frequency, from 1 on.

    Only the `num_words - 1` most frequent words get into results. `oov_token` takes the place of
    other words, and has the number 1. With `char_level`, each character is a word. A text may also
    be the list of its words.

    `word_index` has the number of each word, `index_word` the word of each number, `word_counts`
    how often a word occurred, `word_docs` and `index_docs` in how many texts, and `document_count`
    the number of texts.
    """

    def __init__(
        self,
        num_words: int | None = None,
        filters: Any = _FILTERS,
        lower: bool = True,
        split: str = " ",
        char_level: bool = False,
        oov_token: str | None = None,
        document_count: int = 0,
    ) -> None:
        self.num_words, self.filters, self.lower = num_words, filters, lower
        self.split, self.char_level, self.oov_token = split, char_level, oov_token
        self.document_count = document_count
        self.word_counts: dict[str, int] = collections.OrderedDict()
        self.word_docs: dict[str, int] = collections.defaultdict(int)
        self.index_docs: dict[int, int] = collections.defaultdict(int)
        self.word_index: dict[str, int] = {}
        self.index_word: dict[int, str] = {}

    def _words(self, text: Any) -> Any:
        if not self.char_level and not isinstance(text, list):
            return text_to_word_sequence(text, self.filters, self.lower, self.split)
        if not self.lower:
            return text
        return [word.lower() for word in text] if isinstance(text, list) else text.lower()

    def fit_on_texts(self, texts: Iterable[Any]) -> None:
        """Count the words of texts, and number them anew."""
        for text in texts:
            self.document_count += 1
            words = self._words(text)
            for word in words:
                self.word_counts[word] = self.word_counts.get(word, 0) + 1
            for word in set(words):
                self.word_docs[word] += 1
        # The sort is stable: of equally frequent words, the first that occurred comes first.
        ordered = sorted(self.word_counts, key=lambda word: -self.word_counts[word])
        special = [] if self.oov_token is None else [self.oov_token]
        self.word_index = {word: number for number, word in enumerate([*special, *ordered], 1)}
        self.index_word = {number: word for word, number in self.word_index.items()}
        for word, count in self.word_docs.items():
            self.index_docs[self.word_index[word]] = count

    def fit_on_sequences(self, sequences: Any) -> None:
        """Count in how many sequences each number of a word occurs."""
        self.document_count += len(sequences)
        for sequence in sequences:
            for number in set(sequence):
                self.index_docs[number] += 1

    def texts_to_sequences(self, texts: Iterable[Any]) -> list[list[int]]:
        """Return the numbers of the words of each text."""
        return list(self.texts_to_sequences_generator(texts))

    def texts_to_sequences_generator(self, texts: Iterable[Any]) -> Iterator[list[int]]:
        """Yield the numbers of the words of each text."""
        unknown = None if self.oov_token is None else self.word_index.get(self.oov_token)
        for text in texts:
            found = (self._kept(self.word_index.get(word)) for word in self._words(text))
            chosen = (unknown if number is None else number for number in found)
            yield [number for number in chosen if number is not None]

    def sequences_to_texts(self, sequences: Iterable[Any]) -> list[str]:
        """Return the words of each sequence of numbers, joined by spaces."""
        return list(self.sequences_to_texts_generator(sequences))

    def sequences_to_texts_generator(self, sequences: Iterable[Any]) -> Iterator[str]:
        """Yield the words of each sequence of numbers, joined by spaces."""
        for sequence in sequences:
            known = (number if number in self.index_word else None for number in sequence)
            found = (self.index_word.get(self._kept(number) or 0) for number in known)
            words = (self.oov_token if word is None else word for word in found)
            yield " ".join(word for word in words if word is not None)

    def _kept(self, number: int | None) -> int | None:
        """Return the number of a word, or None if it is unknown or too rare."""
        is_rare = number is not None and self.num_words and number >= self.num_words
        return None if is_rare else number

    def texts_to_matrix(self, texts: Iterable[Any], mode: str = "binary") -> np.ndarray:
        """Return a row for each text, as `sequences_to_matrix` does."""
        return self.sequences_to_matrix(self.texts_to_sequences(texts), mode)

    def sequences_to_matrix(self, sequences: Any, mode: str = "binary") -> np.ndarray:
        """Return a row for each sequence, with a column for each number of a word.

        The value of a word in the sequence is 1 in the mode "binary", its count in "count", its
        share of the words in "freq", and the product of the logarithms of its count and of its
        rarity in "tfidf". The other values are 0.

        Raises:
            ValueError: the mode is unknown, or there are no numbers of words yet.
        """
        if not self.num_words and not self.word_index:
            raise ValueError(
                "Specify a dimension (`num_words` argument), or fit on some text data first."
            )
        if mode not in ("binary", "count", "freq", "tfidf"):
            raise ValueError(f"Unknown vectorization mode: {mode}")
        if mode == "tfidf" and not self.document_count:
            raise ValueError("Fit the Tokenizer on some data before using tfidf mode.")
        size = self.num_words or len(self.word_index) + 1
        matrix = np.zeros((len(sequences), size))
        for row, sequence in zip(matrix, sequences, strict=True):
            counts = collections.Counter(number for number in sequence if number < size)
            for number, count in counts.items():
                row[number] = self._value(mode, number, count, len(sequence))
        return matrix

    def _value(self, mode: str, number: int, count: int, length: int) -> float:
        if mode == "binary":
            return 1
        if mode == "tfidf":
            rarity = self.document_count / (1 + self.index_docs.get(number, 0))
            return float((1 + np.log(count)) * np.log(1 + rarity))
        return count if mode == "count" else count / length

    def get_config(self) -> dict[str, Any]:
        """Return the arguments, and the tables of words as JSON."""
        arguments = ("num_words", "filters", "lower", "split", "char_level", "oov_token",
                     "document_count")  # fmt: skip
        return {
            **{name: getattr(self, name) for name in arguments},
            **{name: json.dumps(getattr(self, name)) for name in _TABLES},
        }

    def to_json(self, **kwargs: Any) -> str:
        """Return the configuration as JSON, for `tokenizer_from_json`.

        The arguments are those of `json.dumps`.
        """
        described = {"class_name": type(self).__name__, "config": self.get_config()}
        return json.dumps(described, **kwargs)


def tokenizer_from_json(json_string: str) -> Tokenizer:
    """Return the Tokenizer that `Tokenizer.to_json` has described."""
    config = json.loads(json_string)["config"]
    tables = {name: json.loads(config.pop(name)) for name in _TABLES}
    made = Tokenizer(**config)
    for name, table in tables.items():
        # JSON has no numbers as keys.
        key = int if name in _BY_NUMBER else str
        setattr(made, name, {key(each): value for each, value in table.items()})
    return made


def __getattr__(name: str) -> Any:
    raise absent("tf.keras.preprocessing.text", name)
