"""`tf.keras.preprocessing.image.ImageDataGenerator`
(keras_preprocessing/image/image_data_generator.py).
"""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from capstan.api import logging
from capstan.api.layers import settings
from capstan.keras.preprocessing import (
    affine,
    file_batches,
    image_batches,
    image_changes,
    image_files,
    table_batches,
)


class ImageDataGenerator:
    """Makes batches of images with random changes, and normalizes them.

    The random changes are rotations in degrees, shifts by pixels or by parts of the size, shears in
    degrees, zooms, shifts of the values of channels, mirror images, and the brightness.
    `preprocessing_function` and `rescale` follow. The options `samplewise_*` use the mean and the
    deviation of the image, `featurewise_*` and `zca_whitening` those of the images of `fit`. With
    `validation_split`, the first part of the examples is the subset "validation", the rest
    "training". The random numbers are those of `numpy.random`.
    """

    def __init__(
        self,
        featurewise_center: bool = False,
        samplewise_center: bool = False,
        featurewise_std_normalization: bool = False,
        samplewise_std_normalization: bool = False,
        zca_whitening: bool = False,
        zca_epsilon: float = 1e-6,
        rotation_range: float = 0,
        width_shift_range: Any = 0.0,
        height_shift_range: Any = 0.0,
        brightness_range: Any = None,
        shear_range: float = 0.0,
        zoom_range: Any = 0.0,
        channel_shift_range: float = 0.0,
        fill_mode: str = "nearest",
        cval: float = 0.0,
        horizontal_flip: bool = False,
        vertical_flip: bool = False,
        rescale: float | None = None,
        preprocessing_function: Callable[[Any], Any] | None = None,
        data_format: str | None = None,
        validation_split: float = 0.0,
        dtype: Any = None,
    ) -> None:
        """Raises ValueError if an argument has another form."""
        self.featurewise_center = featurewise_center
        self.samplewise_center = samplewise_center
        self.featurewise_std_normalization = featurewise_std_normalization
        self.samplewise_std_normalization = samplewise_std_normalization
        self.zca_whitening, self.zca_epsilon = zca_whitening, zca_epsilon
        self.rotation_range, self.shear_range = rotation_range, shear_range
        self.width_shift_range, self.height_shift_range = width_shift_range, height_shift_range
        self.channel_shift_range = channel_shift_range
        self.fill_mode, self.cval = fill_mode, cval
        self.horizontal_flip, self.vertical_flip = horizontal_flip, vertical_flip
        self.rescale, self.preprocessing_function = rescale, preprocessing_function
        self.dtype = dtype or settings.SETTINGS.floatx
        self.data_format = settings.data_format(data_format)
        is_last = self.data_format == "channels_last"
        self.channel_axis, self.row_axis, self.col_axis = (3, 1, 2) if is_last else (1, 2, 3)
        self.mean: Any = None
        self.std: Any = None
        self.principal_components: Any = None
        if validation_split and not 0 < validation_split < 1:
            raise ValueError(
                "`validation_split` must be strictly between 0 and 1.  Received: "
                f"{validation_split}"
            )
        self._validation_split = validation_split
        self.zoom_range = _pair(zoom_range)
        if brightness_range is not None and (
            not isinstance(brightness_range, tuple | list) or len(brightness_range) != 2
        ):
            raise ValueError(
                "`brightness_range should be tuple or list of two floats. Received: "
                f"{brightness_range}"
            )
        self.brightness_range = brightness_range
        self._settle()

    def _settle(self) -> None:
        """Set the options that other options need or rule out."""
        rules = (
            ("zca_whitening", "featurewise_center", True),
            ("zca_whitening", "featurewise_std_normalization", False),
            ("featurewise_std_normalization", "featurewise_center", True),
            ("samplewise_std_normalization", "samplewise_center", True),
        )
        for option, other, value in rules:
            if getattr(self, option) and getattr(self, other) != value:
                setattr(self, other, value)
                logging.warning(
                    "This ImageDataGenerator specifies `%s`, which overrides setting of `%s`.",
                    option,
                    other,
                )

    def flow(
        self,
        x: Any,
        y: Any = None,
        batch_size: int = 32,
        shuffle: bool = True,
        sample_weight: Any = None,
        seed: int | None = None,
        save_to_dir: str | None = None,
        save_prefix: str = "",
        save_format: str = "png",
        subset: str | None = None,
    ) -> image_batches.NumpyArrayIterator:
        """Return batches of arrays without an end. `save_to_dir` also gets their images."""
        return image_batches.NumpyArrayIterator(
            x, y, self, batch_size, shuffle, sample_weight, seed, self.data_format,
            save_to_dir, save_prefix, save_format, subset, self.dtype,
        )  # fmt: skip

    def flow_from_directory(
        self,
        directory: Any,
        target_size: Any = (256, 256),
        color_mode: str = "rgb",
        classes: Any = None,
        class_mode: str | None = "categorical",
        batch_size: int = 32,
        shuffle: bool = True,
        seed: int | None = None,
        save_to_dir: str | None = None,
        save_prefix: str = "",
        save_format: str = "png",
        follow_links: bool = False,
        subset: str | None = None,
        interpolation: str = "nearest",
    ) -> file_batches.DirectoryIterator:
        """Return batches of the images in the folders of a folder, without an end."""
        return file_batches.DirectoryIterator(
            directory, self, target_size, color_mode, classes, class_mode, batch_size, shuffle,
            seed, self.data_format, save_to_dir, save_prefix, save_format, follow_links, subset,
            interpolation, self.dtype,
        )  # fmt: skip

    def flow_from_dataframe(
        self,
        dataframe: Any,
        directory: Any = None,
        x_col: str = "filename",
        y_col: Any = "class",
        weight_col: str | None = None,
        target_size: Any = (256, 256),
        color_mode: str = "rgb",
        classes: Any = None,
        class_mode: str | None = "categorical",
        batch_size: int = 32,
        shuffle: bool = True,
        seed: int | None = None,
        save_to_dir: str | None = None,
        save_prefix: str = "",
        save_format: str = "png",
        subset: str | None = None,
        interpolation: str = "nearest",
        validate_filenames: bool = True,
    ) -> table_batches.DataFrameIterator:
        """Return batches of the images that a table lists, without an end.

        The table is a DataFrame of pandas, or a dictionary of columns.
        """
        return table_batches.DataFrameIterator(
            dataframe, directory, self, x_col, y_col, weight_col, target_size, color_mode, classes,
            "raw" if class_mode == "other" else class_mode, batch_size, shuffle, seed,
            self.data_format, save_to_dir, save_prefix, save_format, subset, interpolation,
            self.dtype, validate_filenames,
        )  # fmt: skip

    def standardize(self, x: Any) -> Any:
        """Return an image after `preprocessing_function`, `rescale` and the normalizations.

        The array itself changes.
        """
        if self.preprocessing_function:
            x = self.preprocessing_function(x)
        if self.rescale:
            x *= self.rescale
        if self.samplewise_center:
            x -= np.mean(x, keepdims=True)
        if self.samplewise_std_normalization:
            x /= np.std(x, keepdims=True) + 1e-6
        if self.featurewise_center and self._is_fitted("featurewise_center", self.mean):
            x -= self.mean
        is_scaled = self.featurewise_std_normalization
        if is_scaled and self._is_fitted("featurewise_std_normalization", self.std):
            x /= self.std + 1e-6
        if self.zca_whitening and self._is_fitted("zca_whitening", self.principal_components):
            flat = np.reshape(x, (-1, np.prod(x.shape[-3:])))
            x = np.reshape(flat @ self.principal_components, x.shape)
        return x

    def _is_fitted(self, option: str, value: Any) -> bool:
        if value is None:
            logging.warning(
                "This ImageDataGenerator specifies `%s`, but it hasn't been fit on any training "
                "data. Fit it first by calling `.fit(numpy_data)`.",
                option,
            )
        return value is not None

    def get_random_transform(self, img_shape: Any, seed: int | None = None) -> dict[str, Any]:
        """Return the random parameters of a change for an image of this shape."""
        if seed is not None:
            np.random.seed(seed)
        theta = _around_zero(self.rotation_range)
        tx = _shift(self.height_shift_range, img_shape[self.row_axis - 1])
        ty = _shift(self.width_shift_range, img_shape[self.col_axis - 1])
        shear = _around_zero(self.shear_range)
        zx, zy = image_changes.random_factors(self.zoom_range)
        flips = [np.random.random() < 0.5 for _ in range(2)]
        has_channel_shift = self.channel_shift_range != 0
        channels = _around_zero(self.channel_shift_range) if has_channel_shift else None
        bright = self.brightness_range
        return {
            "theta": theta, "tx": tx, "ty": ty, "shear": shear, "zx": zx, "zy": zy,
            "flip_horizontal": flips[0] and self.horizontal_flip,
            "flip_vertical": flips[1] and self.vertical_flip,
            "channel_shift_intensity": channels,
            "brightness": None if bright is None else np.random.uniform(*bright),
        }  # fmt: skip

    def apply_transform(self, x: Any, transform_parameters: Mapping[str, Any]) -> Any:
        """Return an image with the changes that the parameters name.

        The names are those of `get_random_transform`. A missing one changes nothing.
        """
        given: Any = transform_parameters.get
        x = affine.apply_affine_transform(
            x, given("theta", 0), given("tx", 0), given("ty", 0), given("shear", 0),
            given("zx", 1), given("zy", 1), self.row_axis - 1, self.col_axis - 1,
            self.channel_axis - 1, self.fill_mode, self.cval,
        )  # fmt: skip
        if given("channel_shift_intensity") is not None:
            x = image_changes.apply_channel_shift(x, given("channel_shift_intensity"))
        if given("flip_horizontal"):
            x = image_changes.flip_axis(x, self.col_axis - 1)
        if given("flip_vertical"):
            x = image_changes.flip_axis(x, self.row_axis - 1)
        if given("brightness") is not None:
            x = image_changes.apply_brightness_shift(x, given("brightness"))
        return x

    def random_transform(self, x: Any, seed: int | None = None) -> Any:
        """Return an image with random changes."""
        return self.apply_transform(x, self.get_random_transform(x.shape, seed))

    def fit(self, x: Any, augment: bool = False, rounds: int = 1, seed: int | None = None) -> None:
        """Compute what `featurewise_*` and `zca_whitening` need, of images [number, ...].

        With `augment`, each of `rounds` passes changes the images at random first.

        Raises:
            ValueError: the array has another rank than 4.
        """
        images = np.array(x, dtype=self.dtype)
        if images.ndim != 4:
            raise ValueError(
                f"Input to `.fit()` should have rank 4. Got array with shape: {images.shape}"
            )
        if images.shape[self.channel_axis] not in image_files.COLOR_MODES.values():
            logging.warning(
                "Expected images with 1, 3 or 4 channels on axis %d. Found the shape %s.",
                self.channel_axis,
                images.shape,
            )
        if seed is not None:
            np.random.seed(seed)
        if self.rescale:
            images *= self.rescale
        if augment:
            changed = [self.random_transform(each) for _ in range(rounds) for each in images]
            images = np.array(changed, self.dtype)
        axes = (0, self.row_axis, self.col_axis)
        if self.featurewise_center:
            self.mean = np.mean(images, axis=axes, keepdims=True)[0]
            images -= self.mean
        if self.featurewise_std_normalization:
            self.std = np.std(images, axis=axes, keepdims=True)[0]
            images /= self.std + 1e-6
        if self.zca_whitening:
            flat = images.reshape(len(images), -1)
            vectors, values, _ = np.linalg.svd(flat.T @ flat / len(flat))
            scales = 1.0 / np.sqrt(values[np.newaxis] + self.zca_epsilon)
            self.principal_components = (vectors * scales) @ vectors.T


def _pair(zoom_range: Any) -> list[float]:
    if isinstance(zoom_range, float | int):
        return [1 - zoom_range, 1 + zoom_range]
    if len(zoom_range) == 2 and all(isinstance(each, float | int) for each in zoom_range):
        return list(zoom_range)
    raise ValueError(
        f"`zoom_range` should be a float or a tuple or list of two floats. Received: {zoom_range}"
    )


def _around_zero(limit: float) -> float:
    """Return a random number in [-limit, limit]. The limit 0 takes no random number."""
    return np.random.uniform(-limit, limit) if limit else 0


def _shift(limit: Any, size: int) -> float:
    """Return a random number of pixels.

    A list has the numbers to choose from, an integer the first number that is too large, and a
    number with a fraction the largest. Below 1, it is a part of the size.
    """
    if not limit:
        return 0
    if isinstance(limit, float | np.floating):
        pixels = np.random.uniform(-limit, limit)
    else:
        pixels = np.random.choice(limit) * np.random.choice([-1, 1])
    return float(pixels * size if np.max(limit) < 1 else pixels)
