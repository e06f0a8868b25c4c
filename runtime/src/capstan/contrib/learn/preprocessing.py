"""`tf.contrib.learn.preprocessing`: words as ids.

The behaviour follows contrib/learn/python/learn/preprocessing/text.py and
categorical_vocabulary.py.
"""

import collections
import pickle
import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final

import numpy as np

from capstan.api import file_io
from capstan.api.absent import absent

__all__ = ["CategoricalVocabulary", "VocabularyProcessor", "tokenizer"]

_WORD: Final = re.compile(r"[A-Z]{2,}(?![a-z])|[A-Z][a-z]+(?=[A-Z])|[\'\w\-]+")


def tokenizer(iterator: Iterable[str]) -> Iterator[list[str]]:
    """Yield the words of each text. `CamelCase` is two words."""
    for text in iterator:
        yield _WORD.findall(text)


class CategoricalVocabulary:
    """Ids of categories, such as words. The id 0 is that of all unknown categories."""

    def __init__(self, unknown_token: str = "<UNK>", support_reverse: bool = True) -> None:
        self._unknown = unknown_token
        self._support_reverse = support_reverse
        self._mapping = {unknown_token: 0}
        self._counts: collections.Counter[str] = collections.Counter()
        self._is_frozen = False

    def __len__(self) -> int:
        return len(self._mapping)

    def freeze(self, freeze: bool = True) -> None:
        """Give new categories the id 0 from now on, or ids of their own again."""
        self._is_frozen = freeze

    def get(self, category: str) -> int:
        """Return the id of a category. A new category gets the next id."""
        if category not in self._mapping and not self._is_frozen:
            self._mapping[category] = len(self._mapping)
        return self._mapping.get(category, 0)

    def add(self, category: str, count: int = 1) -> None:
        """Count a category."""
        if self.get(category) > 0:
            self._counts[category] += count

    def trim(self, min_frequency: int, max_frequency: int = -1) -> None:
        """Keep the categories that were counted more often than `min_frequency`.

        With `max_frequency` above 0, only categories below it are kept. The most frequent category
        gets the id 1. Of categories that are as frequent, the alphabet decides.
        """
        ordered = sorted(self._counts.items(), key=lambda pair: (-pair[1], pair[0]))
        kept = [
            category
            for category, count in ordered
            if count > min_frequency and not 0 < max_frequency <= count
        ]
        self._mapping = {self._unknown: 0, **{each: at for at, each in enumerate(kept, 1)}}
        self._counts = collections.Counter({each: self._counts[each] for each in kept})

    def reverse(self, class_id: int) -> str:
        """Return the category of an id.

        Raises:
            ValueError: the vocabulary was made without `support_reverse`.
        """
        if not self._support_reverse:
            raise ValueError("This vocabulary wasn't initialized with support_reverse=True.")
        return list(self._mapping)[class_id]


class VocabularyProcessor:
    """Turns texts to vectors of `max_document_length` ids. Shorter texts end with zeros."""

    def __init__(
        self,
        max_document_length: int,
        min_frequency: int = 0,
        vocabulary: CategoricalVocabulary | None = None,
        tokenizer_fn: Callable[[Iterable[str]], Iterable[Any]] | None = None,
    ) -> None:
        self.max_document_length = max_document_length
        self.min_frequency = min_frequency
        self.vocabulary_ = vocabulary or CategoricalVocabulary()
        self._tokenizer = tokenizer_fn or tokenizer

    def fit(self, raw_documents: Iterable[str], unused_y: Any = None) -> "VocabularyProcessor":
        """Learn the words of texts. Later words are unknown."""
        for tokens in self._tokenizer(raw_documents):
            for token in tokens:
                self.vocabulary_.add(token)
        if self.min_frequency > 0:
            self.vocabulary_.trim(self.min_frequency)
        self.vocabulary_.freeze()
        return self

    def fit_transform(self, raw_documents: Iterable[str], unused_y: Any = None) -> Iterator[Any]:
        """Learn the words of texts, and return the ids of the texts."""
        self.fit(raw_documents)
        return self.transform(raw_documents)

    def transform(self, raw_documents: Iterable[str]) -> Iterator[Any]:
        """Yield an int64 vector of ids for each text."""
        for tokens in self._tokenizer(raw_documents):
            ids = np.zeros(self.max_document_length, np.int64)
            first = [self.vocabulary_.get(token) for token in list(tokens)[: len(ids)]]
            ids[: len(first)] = first
            yield ids

    def reverse(self, documents: Iterable[Any]) -> Iterator[str]:
        """Yield the words of each vector of ids, with spaces between them."""
        for ids in documents:
            yield " ".join(self.vocabulary_.reverse(each) for each in ids)

    def save(self, filename: str) -> None:
        """Write the processor to a file, as a pickle."""
        with file_io.GFile(filename, "wb") as file:
            file.write(pickle.dumps(self))

    @classmethod
    def restore(cls, filename: str) -> "VocabularyProcessor":
        """Return the processor of a file. Open only files that you trust: a pickle can run code."""
        with file_io.GFile(filename, "rb") as file:
            restored: VocabularyProcessor = pickle.loads(file.read())
        return restored


def __getattr__(name: str) -> Any:
    raise absent("tf.contrib.learn.preprocessing", name)
