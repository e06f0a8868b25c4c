"""`tf.image`: images in files, sizes, colours and random changes (python/ops/image_ops_impl.py).

An image has the shape [height, width, channels]. Most functions also take a batch of images, of
shape [batch, height, width, channels]. The values of a float image are between 0 and 1.
"""

from typing import Any

from capstan.api.absent import absent
from capstan.api.image_boxes import draw_bounding_boxes, sample_distorted_bounding_box
from capstan.api.image_colours import (
    adjust_brightness,
    adjust_contrast,
    adjust_gamma,
    adjust_hue,
    adjust_saturation,
    convert_image_dtype,
    grayscale_to_rgb,
    hsv_to_rgb,
    per_image_standardization,
    random_brightness,
    random_contrast,
    random_hue,
    random_saturation,
    rgb_to_grayscale,
    rgb_to_hsv,
)
from capstan.api.image_files import (
    decode_and_crop_jpeg,
    decode_bmp,
    decode_gif,
    decode_image,
    decode_jpeg,
    decode_png,
    encode_jpeg,
    encode_png,
    extract_jpeg_shape,
    is_jpeg,
)
from capstan.api.image_shapes import (
    ResizeMethod,
    central_crop,
    crop_to_bounding_box,
    flip_left_right,
    flip_up_down,
    pad_to_bounding_box,
    random_flip_left_right,
    random_flip_up_down,
    resize_area,
    resize_bicubic,
    resize_bilinear,
    resize_image_with_crop_or_pad,
    resize_images,
    resize_nearest_neighbor,
    rot90,
    transpose_image,
)
from capstan.api.nn_morphology import extract_image_patches, extract_patches

# The names that TensorFlow 1.15 also has.
resize = resize_images
resize_with_crop_or_pad = resize_image_with_crop_or_pad
transpose = transpose_image

__all__ = [
    "ResizeMethod", "adjust_brightness", "adjust_contrast", "adjust_gamma", "adjust_hue",
    "adjust_saturation", "central_crop", "convert_image_dtype", "crop_to_bounding_box",
    "decode_and_crop_jpeg", "decode_bmp", "decode_gif", "decode_image", "decode_jpeg",
    "decode_png", "draw_bounding_boxes", "encode_jpeg", "encode_png", "extract_image_patches",
    "extract_jpeg_shape", "extract_patches",
    "flip_left_right", "flip_up_down", "grayscale_to_rgb", "hsv_to_rgb", "is_jpeg",
    "pad_to_bounding_box", "per_image_standardization", "random_brightness", "random_contrast",
    "random_flip_left_right", "random_flip_up_down", "random_hue", "random_saturation", "resize",
    "resize_area", "resize_bicubic", "resize_bilinear", "resize_image_with_crop_or_pad",
    "resize_images", "resize_nearest_neighbor", "resize_with_crop_or_pad", "rgb_to_grayscale",
    "rgb_to_hsv", "rot90", "sample_distorted_bounding_box", "transpose", "transpose_image",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    raise absent("tf.image", name)
