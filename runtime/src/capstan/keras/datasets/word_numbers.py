"""Texts as numbers of words, as IMDB and Reuters have them (python/keras/datasets/imdb.py)."""

import json
from typing import Any

import numpy as np

from capstan.keras.datasets import origins


def shuffled(texts: Any, labels: Any) -> tuple[Any, Any]:
    """Return the texts and their labels in a random order of `numpy.random`."""
    order = np.arange(len(texts))
    np.random.shuffle(order)
    return texts[order], labels[order]


def marked(texts: Any, start: int | None, first: int) -> list[list[int]]:
    """Return the texts with numbers that begin with `first`, behind the number `start`."""
    if start is not None:
        return [[start, *(word + first for word in text)] for text in texts]
    return [[word + first for word in text] for text in texts]


def shorter(texts: list[list[int]], labels: Any, length: int) -> tuple[list[list[int]], Any]:
    """Return the texts that are shorter than `length`, and their labels."""
    pairs = [(text, label) for text, label in zip(texts, labels, strict=True) if len(text) < length]
    return [text for text, _ in pairs], [label for _, label in pairs]


def limited(
    texts: list[list[int]], count: int | None, skipped: int, unknown: int | None
) -> list[list[int]]:
    """Return the texts with the words from `skipped` to below `count`.

    `unknown` takes the place of the others. If it is None, they are left out. `count` is the
    largest number by default.
    """
    limit = count or max(max(text) for text in texts)
    kept = range(skipped, limit)
    if unknown is None:
        return [[word for word in text if word in kept] for text in texts]
    return [[word if word in kept else unknown for word in text] for text in texts]


def parts(texts: list[list[int]], labels: Any, cut: int) -> origins.Parts:
    """Return the examples to train with, up to `cut`, and those to test with."""
    rows = np.empty(len(texts), object)
    rows[:] = texts
    targets = np.array(labels)
    return (rows[:cut], targets[:cut]), (rows[cut:], targets[cut:])


def index(path: str, name: str, file_hash: str) -> dict[str, int]:
    """Return the number of each word, from a file of JSON."""
    with open(origins.file(path, name, file_hash), encoding="utf-8") as file:
        found: dict[str, int] = json.load(file)
    return found
