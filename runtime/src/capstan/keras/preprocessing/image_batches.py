"""Batches of images in arrays (keras_preprocessing/image/{iterator,numpy_array_iterator}.py)."""

import threading
from collections.abc import Iterator as _Batches
from typing import Any, Self

import numpy as np

from capstan.api import logging
from capstan.api.layers import settings
from capstan.keras import data_sequence
from capstan.keras.preprocessing import image_files

SUBSETS = ("training", "validation")


class Iterator(data_sequence.Sequence):
    """Batches of `n` examples without an end, in a new order for each pass if `shuffle` is true.

    An item is a batch of the present pass. Several threads may take batches. A subclass overrides
    `_get_batches_of_transformed_samples`.
    """

    def __init__(self, n: int, batch_size: int, shuffle: bool, seed: int | None) -> None:
        self.n, self.batch_size, self.shuffle, self.seed = n, batch_size, shuffle, seed
        self.batch_index = self.total_batches_seen = 0
        self.lock = threading.Lock()
        self.index_array: Any = None
        self.index_generator = self._flow_index()

    def __len__(self) -> int:
        return (self.n + self.batch_size - 1) // self.batch_size

    def __getitem__(self, idx: int) -> Any:
        """Raises ValueError if there is no batch of this number."""
        if idx >= len(self):
            raise ValueError(
                f"Asked to retrieve element {idx}, but the Sequence has length {len(self)}"
            )
        self._seed()
        self.total_batches_seen += 1
        if self.index_array is None:
            self._set_index_array()
        first = self.batch_size * idx
        numbers = self.index_array[first : first + self.batch_size]
        return self._get_batches_of_transformed_samples(numbers)

    def on_epoch_end(self) -> None:
        self._set_index_array()

    def reset(self) -> None:
        """Begin the next pass with the next batch."""
        self.batch_index = 0

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> Any:
        return self.next()

    def next(self) -> Any:
        """Return the next batch."""
        with self.lock:
            numbers = next(self.index_generator)
        return self._get_batches_of_transformed_samples(numbers)

    def _seed(self) -> None:
        if self.seed is not None:
            np.random.seed(self.seed + self.total_batches_seen)

    def _set_index_array(self) -> None:
        self.index_array = np.random.permutation(self.n) if self.shuffle else np.arange(self.n)

    def _flow_index(self) -> _Batches[Any]:
        while True:
            self._seed()
            if self.batch_index == 0:
                self._set_index_array()
            first = self.batch_index * self.batch_size % max(self.n, 1)
            is_last = self.n <= first + self.batch_size
            self.batch_index = 0 if is_last else self.batch_index + 1
            self.total_batches_seen += 1
            yield self.index_array[first : first + self.batch_size]

    def _get_batches_of_transformed_samples(self, index_array: Any) -> Any:
        raise NotImplementedError(
            f"{type(self).__name__} must override _get_batches_of_transformed_samples"
        )


class NumpyArrayIterator(Iterator):
    """Batches `(x, y, sample_weight)` of arrays, whose images a generator changes.

    `y` and the weights may be missing. If `x` is a pair, its second part has other inputs, which
    the batches have as they are.
    """

    def __init__(
        self,
        x: Any,
        y: Any,
        image_data_generator: Any,
        batch_size: int = 32,
        shuffle: bool = False,
        sample_weight: Any = None,
        seed: int | None = None,
        data_format: str | None = None,
        save_to_dir: str | None = None,
        save_prefix: str = "",
        save_format: str = "png",
        subset: str | None = None,
        dtype: Any = None,
    ) -> None:
        """Raises ValueError if the arrays differ in length, or the images have another rank."""
        self.dtype = dtype or settings.SETTINGS.floatx
        others: list[Any] = []
        if isinstance(x, tuple | list):
            x, given = x
            others = [np.asarray(each) for each in (given if isinstance(given, list) else [given])]
        named = [("x[?]", each) for each in others]
        for name, each in [*named, ("y", y), ("sample_weight", sample_weight)]:
            if each is not None and len(each) != len(x):
                raise ValueError(
                    f"`x` (images tensor) and `{name}` should have the same length. Found: "
                    f"{len(x)} images, and {len(each)} in `{name}`"
                )
        part = _part(subset, int(len(x) * image_data_generator._validation_split), y)
        self.x = np.asarray(x[part], dtype=self.dtype)
        self.x_misc = [each[part] for each in others]
        self.y = None if y is None else np.asarray(y[part])
        self.sample_weight = None if sample_weight is None else np.asarray(sample_weight[part])
        self.image_data_generator = image_data_generator
        self.data_format = settings.data_format(data_format)
        self.save_to_dir, self.save_prefix = save_to_dir, save_prefix
        self.save_format = save_format
        _check(self.x, self.data_format)
        super().__init__(len(self.x), batch_size, shuffle, seed)

    def _get_batches_of_transformed_samples(self, index_array: Any) -> Any:
        images = np.zeros((len(index_array), *self.x.shape[1:]), self.dtype)
        for place, number in enumerate(index_array):
            images[place] = changed(self.image_data_generator, self.x[number].copy())
        if self.save_to_dir:
            image_files.save_batch(images, index_array, self.save_to_dir, self.save_prefix,
                                   self.save_format, self.data_format)  # fmt: skip
        inputs = [images, *(each[index_array] for each in self.x_misc)] if self.x_misc else images
        if self.y is None:
            return inputs
        weights = () if self.sample_weight is None else (self.sample_weight[index_array],)
        return (inputs, self.y[index_array], *weights)


def changed(generator: Any, image: np.ndarray) -> np.ndarray:
    """Return an image with the random changes and the normalization of a generator."""
    parameters = generator.get_random_transform(image.shape)
    result: np.ndarray = generator.standardize(generator.apply_transform(image, parameters))
    return result


def _part(subset: str | None, cut: int, y: Any) -> slice:
    if subset is None:
        return slice(None)
    if subset not in SUBSETS:
        raise ValueError(f'Invalid subset name: {subset}; expected "training" or "validation".')
    if y is not None and not np.array_equal(np.unique(y[:cut]), np.unique(y[cut:])):
        raise ValueError(
            "Training and validation subsets have different number of classes after the split. If "
            "your numpy arrays are sorted by the label, you might want to shuffle them."
        )
    return slice(None, cut) if subset == "validation" else slice(cut, None)


def _check(images: np.ndarray, data_format: str) -> None:
    if images.ndim != 4:
        raise ValueError(
            "Input data in `NumpyArrayIterator` should have rank 4. You passed an array with shape "
            f"{images.shape}"
        )
    axis = 3 if data_format == "channels_last" else 1
    if images.shape[axis] not in image_files.COLOR_MODES.values():
        logging.warning(
            "Expected images with 1, 3, or 4 channels on axis %d, as %s has them. Found the shape "
            "%s.",
            axis,
            data_format,
            images.shape,
        )
