"""`tf.image`: images in files, sizes, colours and random changes (python/ops/image_ops_impl.py).

An image has the shape [height, width, channels]. Most functions also take a batch of images, of
shape [batch, height, width, channels]. The values of a float image are between 0 and 1.
"""

from typing import Any

from capstan.api.absent import absent
from capstan.api.image_boxes import (
    crop_and_resize,
    draw_bounding_boxes,
    extract_glimpse,
    sample_distorted_bounding_box,
)
from capstan.api.image_colour_spaces import rgb_to_yiq, rgb_to_yuv, yiq_to_rgb, yuv_to_rgb
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
from capstan.api.image_edges import image_gradients, sobel_edges, total_variation
from capstan.api.image_files import (
    adjust_jpeg_quality,
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
    random_jpeg_quality,
)
from capstan.api.image_padding import resize_image_with_pad
from capstan.api.image_quality import psnr, ssim, ssim_multiscale
from capstan.api.image_resizing import (
    ResizeMethod,
    resize_area,
    resize_bicubic,
    resize_bilinear,
    resize_images,
    resize_nearest_neighbor,
)
from capstan.api.image_shapes import (
    central_crop,
    crop_to_bounding_box,
    pad_to_bounding_box,
    resize_image_with_crop_or_pad,
)
from capstan.api.image_suppression import (
    combined_non_max_suppression,
    non_max_suppression,
    non_max_suppression_overlaps,
    non_max_suppression_padded,
    non_max_suppression_with_scores,
)
from capstan.api.image_turns import (
    flip_left_right,
    flip_up_down,
    random_flip_left_right,
    random_flip_up_down,
    rot90,
    transpose_image,
)
from capstan.api.input_ops import random_crop
from capstan.api.nn_morphology import extract_image_patches, extract_patches

# The names that TensorFlow 1.15 also has.
resize = resize_images
resize_with_crop_or_pad = resize_image_with_crop_or_pad
transpose = transpose_image

__all__ = [
    "ResizeMethod", "adjust_brightness", "adjust_contrast", "adjust_gamma", "adjust_hue",
    "adjust_jpeg_quality", "adjust_saturation", "central_crop", "combined_non_max_suppression",
    "convert_image_dtype", "crop_and_resize", "crop_to_bounding_box", "decode_and_crop_jpeg",
    "decode_bmp", "decode_gif", "decode_image", "decode_jpeg", "decode_png",
    "draw_bounding_boxes", "encode_jpeg", "encode_png", "extract_glimpse",
    "extract_image_patches", "extract_jpeg_shape", "extract_patches", "flip_left_right",
    "flip_up_down", "grayscale_to_rgb", "hsv_to_rgb", "image_gradients", "is_jpeg",
    "non_max_suppression", "non_max_suppression_overlaps", "non_max_suppression_padded",
    "non_max_suppression_with_scores", "pad_to_bounding_box", "per_image_standardization",
    "psnr", "random_brightness", "random_contrast", "random_crop", "random_flip_left_right",
    "random_flip_up_down", "random_hue", "random_jpeg_quality", "random_saturation", "resize",
    "resize_area", "resize_bicubic", "resize_bilinear", "resize_image_with_crop_or_pad",
    "resize_image_with_pad", "resize_images", "resize_nearest_neighbor",
    "resize_with_crop_or_pad", "rgb_to_grayscale", "rgb_to_hsv", "rgb_to_yiq", "rgb_to_yuv",
    "rot90", "sample_distorted_bounding_box", "sobel_edges", "ssim", "ssim_multiscale",
    "total_variation", "transpose", "transpose_image", "yiq_to_rgb", "yuv_to_rgb",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    raise absent("tf.image", name)
