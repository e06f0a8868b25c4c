"""Images are decoded, resized and changed as in TensorFlow."""

import io
import struct
import zlib
from collections.abc import Callable
from typing import Any

import genuine
import numpy as np
import pytest
from PIL import Image

import capstan

pytestmark = genuine.MARKS

Case = Callable[[Any], Any]
RANDOM = np.random.default_rng(7)
BYTES = RANDOM.integers(0, 256, (5, 7, 3), np.uint8)
FLOATS = RANDOM.random((2, 6, 4, 3), np.float32)
SMOOTH = np.asarray(
    Image.fromarray(BYTES).resize((32, 24), Image.Resampling.BICUBIC)
)  # JPEG files keep smooth images


def file(form: str, mode: str = "RGB", **options: Any) -> bytes:
    content = io.BytesIO()
    Image.fromarray(SMOOTH).convert(mode).save(content, form, **options)
    return content.getvalue()


WIDE = RANDOM.integers(0, 65536, (6, 9, 4), np.uint16)
PNG, GREY, ALPHA = file("PNG"), file("PNG", "LA"), file("PNG", "RGBA")
JPEG, BMP, GIF = file("JPEG"), file("BMP"), file("GIF", "P")
HUGE = PNG[:16] + struct.pack(">2I", 40_000, 40_000) + PNG[24:29]
HUGE += struct.pack(">I", zlib.crc32(HUGE[12:])) + PNG[33:]

# TensorFlow and Pillow compute JPEG files by different approximations.
FILES: list[tuple[Case, int]] = [
    *((lambda v1, c=c: v1.image.decode_png(PNG, channels=c), 0) for c in (0, 3, 4)),
    *((lambda v1, c=c: v1.image.decode_png(GREY, channels=c), 0) for c in (0, 1, 4)),
    (lambda v1: v1.image.decode_png(ALPHA), 0),
    (lambda v1: v1.image.decode_png(file("PNG", "P")), 0),
    (lambda v1: v1.image.decode_png(PNG, dtype=v1.uint16) // v1.cast(257, v1.uint16), 0),
    (lambda v1: v1.image.decode_png(file("PNG", "I;16"), dtype=v1.uint16), 0),
    (lambda v1: v1.image.decode_jpeg(JPEG), 8),
    (lambda v1: v1.image.decode_jpeg(JPEG, channels=1), 8),
    (lambda v1: v1.image.decode_jpeg(JPEG, ratio=2), 8),
    (lambda v1: v1.image.decode_jpeg(PNG), 0),
    # At the right edge of a crop inside the image, TensorFlow interpolates the colours otherwise.
    (lambda v1: v1.image.decode_and_crop_jpeg(JPEG, [3, 4, 9, 8])[:, :7], 8),
    (lambda v1: v1.image.decode_and_crop_jpeg(JPEG, [3, 24, 9, 8]), 8),
    (lambda v1: v1.image.decode_and_crop_jpeg(JPEG, [0, 0, 12, 16], ratio=2, channels=1), 8),
    (lambda v1: v1.image.extract_jpeg_shape(JPEG), 0),
    (lambda v1: v1.image.extract_jpeg_shape(file("JPEG", "L"), v1.int64), 0),
    (lambda v1: v1.image.is_jpeg(JPEG), 0),
    (lambda v1: v1.image.is_jpeg(PNG), 0),
    (lambda v1: v1.image.decode_bmp(BMP), 0),
    (lambda v1: v1.image.decode_gif(GIF), 0),
    (lambda v1: v1.image.decode_image(GIF), 0),
    (lambda v1: v1.image.decode_image(PNG, dtype=v1.float32), 1e-6),
    (lambda v1: v1.image.decode_image(JPEG, channels=3), 8),
    *(
        (lambda v1, n=n: v1.image.decode_png(v1.image.encode_png(SMOOTH[..., :n])), 0)
        for n in (1, 3)
    ),
    (lambda v1: v1.image.decode_png(v1.image.encode_png(SMOOTH[..., :1].astype(np.uint16))), 0),
    (lambda v1: v1.image.decode_jpeg(v1.image.encode_jpeg(SMOOTH, quality=90)), 24),
    (lambda v1: v1.image.decode_jpeg(v1.image.encode_jpeg(SMOOTH[..., :1])), 24),
]

SIZES = [(3, 3), (5, 2), (13, 9), (6, 4), (1, 1)]
BOXES = RANDOM.uniform(-0.3, 1.3, (2, 14, 4)).astype(np.float32)
VALUES: list[Case] = [
    *(
        lambda v1, n=n: v1.image.draw_bounding_boxes(FLOATS[..., [0, 1, 2, 0][:n]], BOXES)
        for n in (1, 3, 4)
    ),
    lambda v1: v1.image.draw_bounding_boxes(FLOATS, BOXES, colors=[[0.5, 1, 0], [1, 0, 0.25]]),
    lambda v1: v1.image.draw_bounding_boxes(FLOATS, np.zeros((2, 0, 4), np.float32)),
    lambda v1: v1.image.draw_bounding_boxes(FLOATS.astype(np.float16), BOXES),
    *(
        lambda v1, m=m, s=s, a=a: v1.image.resize_images(FLOATS, s, m, align_corners=a)
        for m in range(4)
        for s in SIZES
        for a in (False, True)
    ),
    lambda v1: v1.image.resize_area(FLOATS[:, :1], [3, 5], align_corners=True),
    lambda v1: v1.image.resize_images(BYTES, [10, 10]),
    lambda v1: v1.image.resize_images(BYTES, [10, 10], 1),
    lambda v1: v1.image.resize_images(BYTES, [20, 14], preserve_aspect_ratio=True),
    *(
        lambda v1, n=n: getattr(v1.image, n)(FLOATS, [7, 9], half_pixel_centers=True)
        for n in ("resize_bilinear", "resize_nearest_neighbor", "resize_bicubic")
    ),
    lambda v1: v1.image.central_crop(BYTES, 0.5),
    lambda v1: v1.image.central_crop(v1.placeholder_with_default(FLOATS, [None] * 4), 0.4),
    lambda v1: v1.image.crop_to_bounding_box(BYTES, 1, 2, 3, 4),
    lambda v1: v1.image.pad_to_bounding_box(BYTES, 1, 2, 9, 10),
    lambda v1: v1.image.resize_image_with_crop_or_pad(BYTES, 9, 4),
    lambda v1: v1.image.resize_image_with_crop_or_pad(
        v1.placeholder_with_default(FLOATS, [None] * 4), 3, 9
    ),
    lambda v1: v1.image.flip_left_right(BYTES),
    lambda v1: v1.image.flip_up_down(FLOATS),
    lambda v1: v1.image.transpose_image(BYTES),
    *(lambda v1, k=k: v1.image.rot90(BYTES, k) for k in range(5)),
    *(lambda v1, i=i: v1.image.adjust_brightness(i, -0.3) for i in (BYTES, FLOATS)),
    *(lambda v1, i=i: v1.image.adjust_contrast(i, 1.7) for i in (BYTES, FLOATS)),
    *(lambda v1, i=i: v1.image.adjust_gamma(i, 2.0, 0.5) for i in (BYTES, FLOATS)),
    *(lambda v1, i=i: v1.image.adjust_hue(i, 0.3) for i in (BYTES, FLOATS)),
    *(lambda v1, i=i: v1.image.adjust_saturation(i, 0.4) for i in (BYTES, FLOATS)),
    lambda v1: v1.image.rgb_to_hsv(FLOATS),
    lambda v1: v1.image.hsv_to_rgb(FLOATS),
    *(lambda v1, i=i: v1.image.rgb_to_grayscale(i) for i in (BYTES, FLOATS)),
    lambda v1: v1.image.grayscale_to_rgb(v1.constant(BYTES[..., :1])),
    *(lambda v1, i=i: v1.image.per_image_standardization(i) for i in (BYTES, FLOATS)),
    lambda v1: v1.image.per_image_standardization(np.ones((3, 3, 3), np.uint8)),
    lambda v1: v1.image.per_image_standardization(50 + FLOATS),
    *(
        lambda v1, i=i, t=t: v1.image.convert_image_dtype(i, getattr(v1, t), saturate=True)
        for i in (BYTES, FLOATS, BYTES.astype(np.int32) * 9_000_000)
        for t in ("uint8", "uint16", "int16", "int32", "float32")
    ),
]


def slope(v1: Any, name: str, images: Any, size: Any, **options: Any) -> Any:
    """Return the gradient of the weighted pixels of resized images."""
    x = v1.constant(images)
    y = v1.cast(getattr(v1.image, name)(x, size, **options), v1.float32)
    weights = np.cos(np.arange(np.prod(y.shape.as_list()))).reshape(y.shape.as_list())
    return v1.gradients(y * weights, x)[0]


SLOPES: list[Case] = [
    lambda v1, n=n, s=s, t=t, o=o: slope(v1, n, FLOATS.astype(t), s, **o)
    for n in ("resize_bilinear", "resize_nearest_neighbor", "resize_bicubic")
    for s in SIZES
    for t in (np.float32, np.float64)
    for o in ({}, {"align_corners": True}, {"half_pixel_centers": True})
]


def value(v1: Any, case: Case) -> Any:
    with v1.Graph().as_default(), v1.Session() as session:
        return np.asarray(session.run(case(v1)))


def differences(v1: Any, cases: list[tuple[Case, float]]) -> list[Any]:
    """Return the number of each case whose result is not TensorFlow's, and what is wrong."""
    wrong = []
    for number, (case, tolerance) in enumerate(cases):
        ours, theirs = value(capstan, case), value(v1, case)
        if (ours.dtype, ours.shape) != (theirs.dtype, theirs.shape):
            wrong.append((number, ours.dtype, ours.shape, theirs.dtype, theirs.shape))
        elif ours.size:
            distance = np.abs(ours.astype(np.float64) - theirs.astype(np.float64)).max()
            if distance > tolerance:
                wrong.append((number, distance))
    return wrong


def window(tf: Any, size: Any = (40, 60, 3), boxes: Any = None, **options: Any) -> Any:
    """Return the box of a random window."""
    boxes = [[0.1, 0.2, 0.4, 0.5], [0.6, 0.7, 0.9, 0.8]] if boxes is None else boxes
    boxes = np.reshape(np.float32(boxes), (1, -1, 4))
    return tf.image.sample_distorted_bounding_box(size, boxes, **options)[2]


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"min_object_covered": 0.9, "area_range": [0.2, 0.5]},
        {"aspect_ratio_range": [2.0, 3.0], "boxes": [], "use_image_if_no_bounding_boxes": True},
        {"area_range": [0.99, 1.0], "max_attempts": 2},
    ],
)
def test_random_windows_are_distributed_as_in_tensorflow(v1: Any, options: dict[str, Any]) -> None:
    drawn = []
    for tf in (capstan, v1):
        with tf.Graph().as_default(), tf.Session() as session:
            case = window(tf, seed=5, **options)
            boxes = np.concatenate([session.run(case)[0] for _ in range(1500)])
        height, width = boxes[:, 2] - boxes[:, 0], boxes[:, 3] - boxes[:, 1]
        drawn.append(np.stack([boxes[:, 0], boxes[:, 1], height, width], 1))
    found, expected = drawn
    for statistic in (np.mean, np.std):
        spread = expected.std(0) + 1e-3
        assert (np.abs(statistic(found, 0) - statistic(expected, 0)) < 0.2 * spread).all()


def test_a_window_is_the_slice_that_its_box_says() -> None:
    with capstan.Graph().as_default(), capstan.Session() as session:
        begin, size, box = capstan.image.sample_distorted_bounding_box(
            [5, 7, 3], [[[0.0, 0.0, 1.0, 1.0]]]
        )
        part = capstan.slice(BYTES, begin, size)
        for _ in range(5):
            found, corners, (top, left, _) = session.run([part, box, begin])
            bottom, right = top + found.shape[0], left + found.shape[1]
            np.testing.assert_array_equal(found, BYTES[top:bottom, left:right])
            expected = np.float32([[[top / 5, left / 7, bottom / 5, right / 7]]])
            np.testing.assert_allclose(corners, expected, rtol=1e-6)


def test_files_are_decoded_to_the_same_pixels(v1: Any) -> None:
    assert differences(v1, FILES) == []


@pytest.mark.parametrize("channels", [1, 2, 3, 4])
def test_files_of_16_bits_per_channel_are_read_and_written_as_in_tensorflow(
    v1: Any, channels: int
) -> None:
    written = {
        tf: value(tf, lambda tf: tf.image.encode_png(WIDE[..., :channels])).item()
        for tf in (v1, capstan)
    }
    wanted = [0, 1, 3, 4] if channels < 3 else [0, 3, 4]
    for png in written.values():
        cases: list[tuple[Case, int]] = [
            (lambda tf, n=n, t=t, png=png: tf.image.decode_png(png, channels=n, dtype=t), 0)
            for n in wanted
            for t in ("uint8", "uint16")
        ]
        assert differences(v1, cases) == []
        found = value(capstan, lambda tf, png=png: tf.image.decode_png(png, dtype=tf.uint16))
        np.testing.assert_array_equal(found, WIDE[..., :channels])


@pytest.mark.parametrize("channels", [1, 2, 3, 4])
def test_a_smooth_png_of_16_bits_is_about_as_short_as_that_of_tensorflow(
    v1: Any, channels: int
) -> None:
    down, right = np.arange(200)[:, np.newaxis], np.arange(256)
    slopes = [200 * down + 0 * right, 250 * right + 0 * down, 90 * (down + right), right * down]
    image = np.stack(slopes[:channels], -1).astype(np.uint16)
    own, expected = (
        value(tf, lambda tf: tf.image.encode_png(image)).item() for tf in (capstan, v1)
    )
    assert len(own) < 2 * len(expected)
    for png in (own, expected):
        found = value(capstan, lambda tf, png=png: tf.image.decode_png(png, dtype=tf.uint16))
        np.testing.assert_array_equal(found, image)
    read = value(v1, lambda tf: tf.image.decode_png(own, dtype=tf.uint16))
    np.testing.assert_array_equal(read, image)


def test_a_png_of_16_bits_is_filtered_across_the_pieces_of_an_image(v1: Any) -> None:
    """In such rows, the filter by the mean of two neighbours has the shortest differences."""
    row = (200 >> np.arange(256) % 8 << 8).astype(np.uint16)
    image = np.tile(row[:, np.newaxis], (600, 1, 2))
    png = value(capstan, lambda tf: tf.image.encode_png(image)).item()
    read = value(v1, lambda tf: tf.image.decode_png(png, channels=4, dtype=tf.uint16))
    np.testing.assert_array_equal(read[..., ::3], image)


def test_images_are_changed_to_the_same_values(v1: Any) -> None:
    def tolerance(case: Case) -> float:
        # A sum in another order may round an integer the other way.
        result = value(capstan, case)
        return 1.0 if result.dtype.kind in "ui" else 2e-5 * max(1.0, float(np.abs(result).max()))

    assert differences(v1, [(case, tolerance(case)) for case in VALUES]) == []


def test_gradients_of_resized_images_have_the_same_values(v1: Any) -> None:
    assert differences(v1, [(case, 2e-5) for case in SLOPES]) == []


def test_decode_jpeg_gives_an_image_of_another_format_four_channels(v1: Any) -> None:
    def case(tf: Any) -> Any:
        return tf.image.decode_jpeg(ALPHA, channels=4)

    np.testing.assert_array_equal(value(capstan, case), value(v1, case))


@pytest.mark.parametrize(
    "case, message",
    [
        (lambda tf: tf.image.decode_png(b""), r"Expected image \(JPEG, PNG, or GIF\), got empty"),
        (lambda tf: tf.image.decode_jpeg(b"text"), "got unknown format"),
        (lambda tf: tf.image.decode_png(PNG[:100]), "Invalid PNG data"),
        (lambda tf: tf.image.decode_gif(GIF[:-99]), "Invalid GIF data"),
        (lambda tf: tf.image.decode_image(GIF[:-99]), "Invalid GIF data"),
        (lambda tf: tf.image.decode_png(HUGE), "exceeds limit of 178956970 pixels"),
        (lambda tf: tf.image.decode_png(PNG, channels=5), "channels must be"),
        (lambda tf: tf.image.decode_jpeg(JPEG, channels=4), "JPEG does not support 4 channels"),
        (lambda tf: tf.image.decode_image(JPEG, channels=4), "JPEG does not support 4 channels"),
        (lambda tf: tf.image.decode_jpeg(JPEG, ratio=3), "ratio must be 1, 2, 4, or 8, got 3"),
        (
            lambda tf: tf.image.decode_and_crop_jpeg(JPEG, [1, 2, 24, 4]),
            "is not inside of an image",
        ),
        (lambda tf: tf.image.decode_and_crop_jpeg(JPEG, [1, 2, 0, 4]), "is not inside of an image"),
        (lambda tf: tf.image.decode_and_crop_jpeg(PNG, [1, 2, 3, 4]), "reads only JPEG"),
        (lambda tf: tf.image.extract_jpeg_shape(PNG), "reads only JPEG"),
        (lambda tf: tf.image.draw_bounding_boxes(FLOATS, BOXES[:1]), r"shape \[2, boxes, 4\]"),
        (lambda tf: window(tf, boxes=[]), "No bounding boxes provided as input"),
        (lambda tf: window(tf, boxes=[[0.5, 0.5, 0.2, 0.9]]), "each minimum below its maximum"),
        (lambda tf: window(tf, boxes=[[0.5, 0.5, 0.7, 1.2]]), r"must be in \[0.0, 1.0\]"),
        (lambda tf: window(tf, size=[0, 5, 3]), "must be positive"),
        (lambda tf: window(tf, min_object_covered=1.5), r"covered must be in \[0, 1\]"),
        (lambda tf: window(tf, aspect_ratio_range=[2.0, 1.0]), "Aspect ratio range"),
        (lambda tf: window(tf, area_range=[0.5, 1.5]), "Area range"),
        (lambda tf: window(tf, max_attempts=0), "Max attempts"),
        (lambda tf: tf.image.encode_jpeg(SMOOTH, quality=101), r"quality must be in \[0,100\]"),
        (lambda tf: tf.image.encode_png(np.zeros((1, 1, 5), np.uint8)), "got 5"),
        (lambda tf: tf.image.encode_png(np.zeros((1, 1, 5), np.uint16)), "got 5"),
        (lambda tf: tf.image.adjust_gamma(FLOATS, tf.constant(-1.0)), "Gamma should be a non-neg"),
        (
            lambda tf: tf.image.grayscale_to_rgb(tf.placeholder_with_default(BYTES, None)),
            "Last dimension of a grayscale image should be size 1",
        ),
        (lambda tf: tf.image.resize_bilinear(FLOATS, [0, 1]), "output dimensions must be positive"),
    ],
)
def test_wrong_images_are_refused(case: Case, message: str) -> None:
    with pytest.raises(capstan.errors.InvalidArgumentError, match=message):
        value(capstan, case)


@pytest.mark.parametrize(
    "case, message",
    [
        (lambda tf: tf.image.resize_images(np.zeros(3), [1, 1]), "either 3 or 4 dimensions"),
        (lambda tf: tf.image.resize_images(FLOATS, [1]), "'size' must be a 1-D Tensor of 2"),
        (lambda tf: tf.image.resize_images(FLOATS, [1, 1], 9), "method is not implemented"),
        (lambda tf: tf.image.central_crop(FLOATS, 0.0), r"within \(0, 1\]"),
        (lambda tf: tf.image.crop_to_bounding_box(BYTES, 3, 0, 3, 1), "height must be >= target"),
        (lambda tf: tf.image.pad_to_bounding_box(BYTES, 0, 0, 3, 9), "height must be <= target"),
        (lambda tf: tf.image.random_hue(BYTES, 0.6), "max_delta must be <= 0.5"),
        (lambda tf: tf.image.random_contrast(BYTES, 2, 1), "upper must be > lower"),
        (lambda tf: tf.image.adjust_gamma(FLOATS, -1), "Gamma should be a non-negative"),
        (lambda tf: tf.image.grayscale_to_rgb(BYTES), "Last dimension of a grayscale image should"),
        (lambda tf: tf.image.grayscale_to_rgb(np.zeros(1)), "at least two-dimensional"),
    ],
)
def test_wrong_arguments_are_refused(case: Case, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        value(capstan, case)


def test_random_changes_are_one_of_the_possible_changes() -> None:
    image = capstan.image
    for function, flipped in (
        (image.random_flip_left_right, BYTES[:, ::-1]),
        (image.random_flip_up_down, BYTES[::-1]),
    ):
        with capstan.Graph().as_default(), capstan.Session() as session:
            single, batch = function(BYTES, seed=3), function(np.stack([BYTES] * 8), seed=3)
            found = [session.run(single) for _ in range(8)] + list(session.run(batch))
            assert single.name.startswith(function.__name__ + "/")
            assert batch.name.startswith(function.__name__ + "_1/")
            kinds = {each.tobytes() for each in found}
            assert kinds == {BYTES.tobytes(), flipped.tobytes()}
    with capstan.Graph().as_default(), capstan.Session() as session:
        bright = image.random_brightness(FLOATS, 0.2)
        change = session.run(bright) - FLOATS
        assert np.ptp(change) < 1e-5
        assert abs(change.mean()) <= 0.2
        for changed in (
            image.random_contrast(FLOATS, 0.5, 0.6),
            image.random_hue(FLOATS, 0.1),
            image.random_saturation(FLOATS, 0.5, 0.6),
        ):
            assert not np.array_equal(session.run(changed), FLOATS)
        part = session.run(capstan.random_crop(BYTES, [2, 3, 3]))
        places = np.lib.stride_tricks.sliding_window_view(BYTES, (2, 3, 3))
        assert (places == part).all((-3, -2, -1)).any()


def test_the_gradient_of_hsv_images_is_tensorflows(v1: Any) -> None:
    """Equal channels and channels of 0 are places without a derivative."""
    corners = np.array(np.meshgrid(*[[0, 0.2, 1]] * 3), np.float32).reshape(3, -1).T
    colours = np.concatenate([corners, FLOATS.reshape(-1, 3)])

    def run(tf: Any) -> Any:
        with tf.Graph().as_default(), tf.Session() as session:
            x = tf.constant(colours)
            y = tf.image.rgb_to_hsv(x)
            return session.run([tf.gradients(y[:, part], x)[0] for part in range(3)])

    for value, wanted in zip(run(capstan), run(v1), strict=True):
        np.testing.assert_allclose(value, wanted, rtol=1e-4, atol=1e-5, strict=True)
