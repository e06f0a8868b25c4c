"""Batches of images in files
(keras_preprocessing/image/{iterator,directory_iterator,dataframe_iterator}.py).
"""

import os
import sys
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from capstan.api import logging
from capstan.api.layers import settings
from capstan.keras.preprocessing import image_batches, image_files

ENDINGS = ("png", "jpg", "jpeg", "bmp", "ppm", "tif", "tiff")
"""The ends of the names of image files."""


class FilesIterator(image_batches.Iterator):
    """Batches of images in files, with targets of the kind `class_mode`."""

    filenames: list[str]
    class_indices: dict[str, int]
    classes: Any
    _targets: Any = None
    _sample_weight: Any = None

    def __init__(
        self,
        directory: str,
        generator: Any,
        target_size: Any,
        color_mode: str,
        class_mode: str | None,
        data_format: str | None,
        save: tuple[str | None, str, str],
        subset: str | None,
        interpolation: str,
        dtype: Any,
    ) -> None:
        """Set what a batch needs. The subclass finds the files, and then calls `_start`.

        Raises:
            ValueError: the color mode or the subset is unknown.
        """
        self.directory, self.image_data_generator = directory, generator
        self.target_size, self.color_mode = tuple(target_size), color_mode
        self.class_mode, self.interpolation = class_mode, interpolation
        self.data_format = settings.data_format(data_format)
        self.save_to_dir, self.save_prefix, self.save_format = save
        self.dtype = dtype or settings.SETTINGS.floatx
        if color_mode not in image_files.COLOR_MODES:
            raise ValueError(
                f'Invalid color mode: {color_mode}; expected "rgb", "rgba", or "grayscale".'
            )
        channels = image_files.COLOR_MODES[color_mode]
        is_last = self.data_format == "channels_last"
        self.image_shape = (
            (*self.target_size, channels) if is_last else (channels, *self.target_size)
        )
        self.subset = subset
        self.split = self._split()

    def _split(self) -> tuple[float, float] | None:
        """Return the part of the files that belongs to the subset."""
        if self.subset is None:
            return None
        if self.subset not in image_batches.SUBSETS:
            raise ValueError(
                f'Invalid subset name: {self.subset}; expected "training" or "validation"'
            )
        share = self.image_data_generator._validation_split
        return (0, share) if self.subset == "validation" else (share, 1)

    def _start(self, batch_size: int, shuffle: bool, seed: int | None) -> None:
        self.samples = len(self.filenames)
        self._filepaths = [os.path.join(self.directory, name) for name in self.filenames]
        super().__init__(self.samples, batch_size, shuffle, seed)

    @property
    def filepaths(self) -> list[str]:
        """The paths of the files."""
        return self._filepaths

    @property
    def labels(self) -> Any:
        """The class or the targets of each file."""
        return self.classes if self._targets is None else self._targets

    @property
    def sample_weight(self) -> Any:
        """The weight of each file, or None."""
        return self._sample_weight

    def _get_batches_of_transformed_samples(self, index_array: Any) -> Any:
        images = np.zeros((len(index_array), *self.image_shape), self.dtype)
        for place, number in enumerate(index_array):
            with image_files.load_img(
                self._filepaths[number],
                color_mode=self.color_mode,
                target_size=self.target_size,
                interpolation=self.interpolation,
            ) as file:
                image = image_files.img_to_array(file, self.data_format)
            if self.image_data_generator is not None:
                image = image_batches.changed(self.image_data_generator, np.array(image))
            images[place] = image
        if self.save_to_dir:
            image_files.save_batch(images, index_array, self.save_to_dir, self.save_prefix,
                                   self.save_format, self.data_format)  # fmt: skip
        if self.class_mode is None:
            return images
        targets = self._targets_of(index_array, images)
        if self._sample_weight is None:
            return images, targets
        return images, targets, self._sample_weight[index_array]

    def _targets_of(self, numbers: Any, images: np.ndarray) -> Any:
        if self.class_mode == "input":
            return images.copy()
        if self.class_mode == "multi_output":
            return [output[numbers] for output in self._targets]
        if self.class_mode == "raw":
            return self._targets[numbers]
        if self.class_mode in ("binary", "sparse"):
            return np.array([self.classes[number] for number in numbers], self.dtype)
        targets = np.zeros((len(numbers), len(self.class_indices)), self.dtype)
        for row, number in zip(targets, numbers, strict=True):
            row[self.classes[number]] = 1  # one class, or a list of them
        return targets


class DirectoryIterator(FilesIterator):
    """Batches of the images in the folders of a folder. Each folder is a class.

    `class_mode` is "categorical" for targets [batch, classes], "binary" or "sparse" for the numbers
    of the classes, "input" for the images themselves, or None for no targets.
    """

    def __init__(
        self,
        directory: Any,
        image_data_generator: Any,
        target_size: Any = (256, 256),
        color_mode: str = "rgb",
        classes: Iterable[str] | None = None,
        class_mode: str | None = "categorical",
        batch_size: int = 32,
        shuffle: bool = True,
        seed: int | None = None,
        data_format: str | None = None,
        save_to_dir: str | None = None,
        save_prefix: str = "",
        save_format: str = "png",
        follow_links: bool = False,
        subset: str | None = None,
        interpolation: str = "nearest",
        dtype: Any = None,
    ) -> None:
        """Raises ValueError if an argument is unknown."""
        allowed = ("categorical", "binary", "sparse", "input", None)
        if class_mode not in allowed:
            raise ValueError(f"Invalid class_mode: {class_mode}; expected one of: {allowed}")
        super().__init__(
            os.fspath(directory), image_data_generator, target_size, color_mode, class_mode,
            data_format, (save_to_dir, save_prefix, save_format), subset, interpolation, dtype,
        )  # fmt: skip
        folders = list(classes or _folders(self.directory))
        self.num_classes = len(folders)
        self.class_indices = {folder: number for number, folder in enumerate(folders)}
        self.filenames, numbers = [], []
        for number, folder in enumerate(folders):
            files = _images(os.path.join(self.directory, folder), follow_links)
            if self.split is not None:
                first, last = (int(share * len(files)) for share in self.split)
                files = files[first:last]
            self.filenames += [os.path.join(folder, file) for file in files]
            numbers += [number] * len(files)
        self.classes = np.array(numbers, "int32")
        sys.stdout.write(f"Found {len(numbers)} images belonging to {self.num_classes} classes.\n")
        self._start(batch_size, shuffle, seed)


def _folders(directory: str) -> Iterator[str]:
    return (each for each in sorted(os.listdir(directory))
            if os.path.isdir(os.path.join(directory, each)))  # fmt: skip


def _images(directory: str, follow_links: bool) -> list[str]:
    """Return the paths of the images in a folder and its folders, relative to the folder."""
    found = []
    for root, _, files in sorted(os.walk(directory, followlinks=follow_links)):
        for file in sorted(files):
            if file.lower().endswith(".tiff"):
                logging.warning('Using ".tiff" files with multiple bands will cause distortion. '
                                "Please verify your output.")  # fmt: skip
            if file.lower().endswith(ENDINGS):
                found.append(os.path.relpath(os.path.join(root, file), directory))
    return found
