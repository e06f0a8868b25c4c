"""`tf.lookup`: tables from keys to values (python/ops/lookup_ops.py)."""

from typing import Any

from capstan.api.absent import absent
from capstan.api.lookup import experimental as experimental
from capstan.api.lookup.buckets import StaticVocabularyTable as StaticVocabularyTable
from capstan.api.lookup.initializers import KeyValueTensorInitializer as KeyValueTensorInitializer
from capstan.api.lookup.initializers import TextFileIndex as TextFileIndex
from capstan.api.lookup.initializers import TextFileInitializer as TextFileInitializer
from capstan.api.lookup.tables import StaticHashTable as StaticHashTable


def __getattr__(name: str) -> Any:
    raise absent("tf.lookup", name)
