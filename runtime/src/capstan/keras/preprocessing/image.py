"""`tf.keras.preprocessing.image` (python/keras/preprocessing/image.py)."""

from typing import Any

from capstan.api.absent import absent
from capstan.keras.preprocessing.affine import apply_affine_transform as apply_affine_transform
from capstan.keras.preprocessing.file_batches import DirectoryIterator as DirectoryIterator
from capstan.keras.preprocessing.image_batches import Iterator as Iterator
from capstan.keras.preprocessing.image_batches import NumpyArrayIterator as NumpyArrayIterator
from capstan.keras.preprocessing.image_changes import (
    apply_brightness_shift as apply_brightness_shift,
)
from capstan.keras.preprocessing.image_changes import apply_channel_shift as apply_channel_shift
from capstan.keras.preprocessing.image_changes import random_brightness as random_brightness
from capstan.keras.preprocessing.image_changes import random_channel_shift as random_channel_shift
from capstan.keras.preprocessing.image_changes import random_rotation as random_rotation
from capstan.keras.preprocessing.image_changes import random_shear as random_shear
from capstan.keras.preprocessing.image_changes import random_shift as random_shift
from capstan.keras.preprocessing.image_changes import random_zoom as random_zoom
from capstan.keras.preprocessing.image_files import array_to_img as array_to_img
from capstan.keras.preprocessing.image_files import img_to_array as img_to_array
from capstan.keras.preprocessing.image_files import load_img as load_img
from capstan.keras.preprocessing.image_files import save_img as save_img
from capstan.keras.preprocessing.image_generator import ImageDataGenerator as ImageDataGenerator


def __getattr__(name: str) -> Any:
    raise absent("tf.keras.preprocessing.image", name)
