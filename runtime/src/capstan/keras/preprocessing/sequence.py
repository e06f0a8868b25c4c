"""`tf.keras.preprocessing.sequence`: sequences of numbers (python/keras/preprocessing/sequence.py,
keras_preprocessing/sequence.py).
"""

import json
import random
from collections.abc import Sequence as _Sized
from typing import Any

import numpy as np

from capstan.api.absent import absent
from capstan.keras import data_sequence as _data_sequence

_SIDES = ("pre", "post")


def pad_sequences(
    sequences: Any,
    maxlen: int | None = None,
    dtype: Any = "int32",
    padding: str = "pre",
    truncating: str = "pre",
    value: Any = 0.0,
) -> np.ndarray:
    """Return an array of the shape [sequences, maxlen, ...], with one row for each sequence.

    Short sequences get `value` at the side `padding`, long ones lose elements at the side
    `truncating`: "pre" is the start, "post" the end. `maxlen` is the longest sequence by default.

    Raises:
        ValueError: `sequences` has no length, an element of it is not a sequence or has another
            shape than the others, or an argument is unknown.
    """
    _check(sequences, dtype, padding, truncating, value)
    length = max(map(len, sequences)) if maxlen is None else maxlen
    shape = next((np.asarray(each).shape[1:] for each in sequences if len(each)), ())
    result = np.full((len(sequences), length, *shape), value, dtype=dtype)
    for number, each in enumerate(sequences):
        if not len(each):
            continue
        kept = np.asarray(each[-length:] if truncating == "pre" else each[:length], dtype=dtype)
        if kept.shape[1:] != shape:
            raise ValueError(
                f"Shape of sample {kept.shape[1:]} of sequence at position {number} is different "
                f"from expected shape {shape}"
            )
        if padding == "post":
            result[number, : len(kept)] = kept
        else:
            result[number, -len(kept) :] = kept
    return result


def _check(sequences: Any, dtype: Any, padding: str, truncating: str, value: Any) -> None:
    if not hasattr(sequences, "__len__"):
        raise ValueError("`sequences` must be iterable.")
    for each in sequences:
        if not hasattr(each, "__len__"):
            raise ValueError(f"`sequences` must be a list of iterables. Found non-iterable: {each}")
    for argument, side in (("Padding", padding), ("Truncating", truncating)):
        if side not in _SIDES:
            raise ValueError(f'{argument} type "{side}" not understood')
    if isinstance(value, str) and np.dtype(dtype).kind not in "OU":
        raise ValueError(
            f"`dtype` {dtype} is not compatible with `value`'s type: {type(value)}\n"
            "You should set `dtype=object` for variable length strings."
        )


def make_sampling_table(size: int, sampling_factor: float = 1e-5) -> np.ndarray:
    """Return the probability to sample the i-th most common word, for each i below `size`.

    The frequencies of words follow Zipf's law. Common words are sampled less often.
    """
    gamma = 0.577
    rank = np.arange(size)
    rank[0] = 1
    inverse = rank * (np.log(rank) + gamma) + 0.5 - 1.0 / (12.0 * rank)
    share = sampling_factor * inverse
    return np.asarray(np.minimum(1.0, share / np.sqrt(share)))


def skipgrams(
    sequence: Any,
    vocabulary_size: int,
    window_size: int = 4,
    negative_samples: float = 1.0,
    shuffle: bool = True,
    categorical: bool = False,
    sampling_table: Any = None,
    seed: int | None = None,
) -> tuple[list[list[int]], list[Any]]:
    """Return pairs of words, and the label of each pair.

    A pair of two words at most `window_size` apart has the label 1. For each such pair there are
    `negative_samples` pairs with a random word, of the label 0. `categorical` labels are [0, 1] and
    [1, 0]. The word 0 is skipped. The random numbers are those of Python's `random`.
    """
    couples: list[list[int]] = []
    for place, word in enumerate(sequence):
        if not word or (sampling_table is not None and sampling_table[word] < random.random()):
            continue
        first = max(0, place - window_size)
        near = [*sequence[first:place], *sequence[place + 1 : place + window_size + 1]]
        couples += [[word, other] for other in near if other]
    labels: list[Any] = [[0, 1] if categorical else 1 for _ in couples]
    if negative_samples > 0:
        count = int(len(labels) * negative_samples)
        words = [word for word, _ in couples]
        random.shuffle(words)
        couples += [
            [words[number % len(words)], random.randint(1, vocabulary_size - 1)]
            for number in range(count)
        ]
        labels += [[1, 0] if categorical else 0 for _ in range(count)]
    if shuffle:
        chosen = random.randint(0, 10_000_000) if seed is None else seed
        for values in (couples, labels):
            random.seed(chosen)
            random.shuffle(values)
    return couples, labels


class TimeseriesGenerator(_data_sequence.Sequence):
    """Batches of windows of a time series, with the target behind each window.

    A window has the rows `i - length`, `i - length + sampling_rate` ... before the row `i`, whose
    target is the target of the window. The next window starts `stride` rows later. Rows before
    `start_index` and behind `end_index` are left out.
    """

    def __init__(
        self,
        data: Any,
        targets: Any,
        length: int,
        sampling_rate: int = 1,
        stride: int = 1,
        start_index: int = 0,
        end_index: int | None = None,
        shuffle: bool = False,
        reverse: bool = False,
        batch_size: int = 128,
    ) -> None:
        """Raises ValueError if there are more or fewer targets than rows, or no window fits."""
        if len(data) != len(targets):
            raise ValueError(
                f"Data and targets have to be of same length. Data length is {len(data)} while "
                f"target length is {len(targets)}"
            )
        self.data, self.targets, self.length = data, targets, length
        self.sampling_rate, self.stride = sampling_rate, stride
        self.start_index = start_index + length
        self.end_index = len(data) - 1 if end_index is None else end_index
        self.shuffle, self.reverse, self.batch_size = shuffle, reverse, batch_size
        if self.start_index > self.end_index:
            raise ValueError(
                f"`start_index+length={self.start_index} > end_index={self.end_index}` is "
                "disallowed, as no part of the sequence would be left to be used as current step."
            )

    def __len__(self) -> int:
        rows = self.batch_size * self.stride
        return (self.end_index - self.start_index + rows) // rows

    def __getitem__(self, index: int) -> tuple[np.ndarray, np.ndarray]:
        end = self.end_index + 1
        if self.shuffle:
            rows = np.random.randint(self.start_index, end, size=self.batch_size)
        else:
            first = self.start_index + self.batch_size * self.stride * index
            rows = np.arange(first, min(first + self.batch_size * self.stride, end), self.stride)
        windows = [self.data[row - self.length : row : self.sampling_rate] for row in rows]
        samples = np.array(windows)
        targets = np.array([self.targets[row] for row in rows])
        return (samples[:, ::-1, ...] if self.reverse else samples), targets

    def get_config(self) -> dict[str, Any]:
        """Return the arguments, with the rows and the targets as JSON.

        Raises:
            TypeError: JSON cannot hold the rows or the targets.
        """
        return {
            "data": _as_json(self.data, "Data"),
            "targets": _as_json(self.targets, "Targets"),
            "length": self.length,
            "sampling_rate": self.sampling_rate,
            "stride": self.stride,
            "start_index": self.start_index,
            "end_index": self.end_index,
            "shuffle": self.shuffle,
            "reverse": self.reverse,
            "batch_size": self.batch_size,
        }

    def to_json(self, **kwargs: Any) -> str:
        """Return the configuration as JSON. The arguments are those of `json.dumps`."""
        described = {"class_name": type(self).__name__, "config": self.get_config()}
        return json.dumps(described, **kwargs)


def _as_json(values: _Sized[Any] | np.ndarray, what: str) -> str:
    plain = values.tolist() if isinstance(values, np.ndarray) else values
    try:
        return json.dumps(plain)
    except TypeError as error:
        raise TypeError(f"{what} not JSON Serializable: {values}") from error


def __getattr__(name: str) -> Any:
    raise absent("tf.keras.preprocessing.sequence", name)
