"""Operations that sample images give the values, gradients and shapes of TensorFlow."""

from typing import Any

import genuine
import numpy as np
import pytest

import capstan

pytestmark = genuine.MARKS

RANDOM = np.random.RandomState(2)
IMAGES = RANDOM.uniform(-1, 1, (2, 6, 5, 3)).astype(np.float32)
TRANSFORMS = np.float32([[1, 0.2, -3.5, -0.1, 1.1, 1.25, 0.01, 0.02], [0.5, 0, 9, 0, 2, -7, 0, 0]])
FILTERS = (
    *("lanczos1", "lanczos3", "lanczos5", "gaussian", "box", "triangle", "keyscubic"),
    "mitchellcubic",
)
PADDINGS = np.int32([[0, 0], [2, 1], [1, 3], [0, 0]])
KERNEL = RANDOM.uniform(-1, 1, (3, 2, 3, 4)).astype(np.float32)


def scaled(tf: Any, x: Any, kind: str, is_wide: bool) -> Any:
    return tf.raw_ops.ScaleAndTranslate(
        images=x, size=[4, 9], scale=[0.55, 1.9], translation=[0.43, -1.27], kernel_type=kind,
        antialias=is_wide,
    )  # fmt: skip


def transformed(tf: Any, x: Any, interpolation: str, mode: str) -> Any:
    return tf.raw_ops.ImageProjectiveTransformV3(
        images=x, transforms=TRANSFORMS, output_shape=[7, 4], fill_value=2.0,
        interpolation=interpolation, fill_mode=mode,
    )  # fmt: skip


def of_version_2(tf: Any, x: Any) -> Any:
    return tf.raw_ops.ImageProjectiveTransformV2(
        images=x, transforms=TRANSFORMS[:1], output_shape=[6, 5], interpolation="BILINEAR"
    )


def glimpses(tf: Any, x: Any, is_centered: bool, is_normalized: bool) -> Any:
    return tf.raw_ops.ExtractGlimpseV2(
        input=x, size=[3, 2], offsets=np.float32([[0.4, -0.3], [1.5, 1]]), centered=is_centered,
        normalized=is_normalized, uniform_noise=False, noise="zero",
    )  # fmt: skip


def padded(tf: Any, x: Any, mode: str) -> Any:
    return tf.raw_ops.FusedPadConv2D(
        input=x[:1],
        paddings=PADDINGS,
        filter=KERNEL,
        mode=mode,
        strides=[1, 2, 1, 1],
        padding="VALID",
    )


def resized(tf: Any, x: Any, is_aligned: bool) -> Any:
    return tf.raw_ops.FusedResizeAndPadConv2D(
        input=x[:1], size=[9, 8], paddings=PADDINGS, filter=KERNEL, mode="REFLECT",
        strides=[1, 1, 1, 1], padding="SAME", resize_align_corners=is_aligned,
    )  # fmt: skip


CASES: list[tuple[Any, bool]] = [
    *(
        (lambda tf, x, kind=kind, wide=wide: scaled(tf, x, kind, wide), True)
        for kind in FILTERS
        for wide in (True, False)
    ),
    (lambda tf, x: scaled(tf, tf.cast(x * 90, tf.int16), "lanczos3", True), False),
    *(
        (
            lambda tf, x, how=how, mode=mode: transformed(tf, x, how, mode),
            how == "NEAREST" and mode == "CONSTANT",
        )
        for how in ("NEAREST", "BILINEAR")
        for mode in ("CONSTANT", "REFLECT", "WRAP", "NEAREST")
    ),
    (of_version_2, True),
    (lambda tf, x: transformed(tf, tf.cast(x * 90, tf.int32), "BILINEAR", "CONSTANT"), False),
    *(
        (lambda tf, x, c=c, n=n: glimpses(tf, x, c, n), False)
        for c in (False, True)
        for n in (False, True)
    ),
    *((lambda tf, x, mode=mode: padded(tf, x, mode), False) for mode in ("REFLECT", "SYMMETRIC")),
    *((lambda tf, x, a=a: resized(tf, x, a), False) for a in (False, True)),
]
"""Functions of the images, and whether TensorFlow's gradient by them is compared."""


def namespace(tf: Any, library: Any) -> Any:
    """Return the functions of TensorFlow 1 together with `raw_ops`."""
    names = ("cast", "int16", "int32", "float32", "identity")
    return type("Namespace", (), {name: staticmethod(getattr(library, name)) for name in names} | {
        "raw_ops": tf.raw_ops
    })  # fmt: skip


def outcomes(tf: Any, target: str, cases: Any) -> list[Any]:
    """Return the static shapes and the values of cases and of their gradients."""
    library = tf.compat.v1 if hasattr(tf, "raw_ops") and tf is not capstan else capstan
    with library.Graph().as_default(), library.Session(target) as session:
        x = library.placeholder(library.float32, IMAGES.shape)
        results = []
        for build, has_gradient in cases:
            y = build(namespace(tf, library), x)
            results.append(y)
            if has_gradient:
                weights = np.cos(np.arange(np.prod(y.shape.as_list()))).reshape(y.shape.as_list())
                results.append(library.gradients(y * weights.astype(np.float32), x)[0])
        found = session.run(results, {x: IMAGES})
        return [(y.shape.as_list(), value) for y, value in zip(results, found, strict=True)]


def test_values_gradients_and_static_shapes_are_tensorflows(tf: Any, tasks: genuine.Tasks) -> None:
    expected = outcomes(tf, "", CASES)
    for found in (outcomes(capstan, "", CASES), outcomes(tf, tasks.target(), CASES)):
        for at, ((shape, value), (wanted_shape, wanted)) in enumerate(
            zip(found, expected, strict=True)
        ):
            assert shape == wanted_shape, at
            np.testing.assert_allclose(
                value, wanted, rtol=1e-4, atol=2e-5, strict=True, err_msg=str(at)
            )


@pytest.mark.parametrize("kind", ["uint8", "int32", "int64", "float32", "float64"])
def test_projections_between_pixels_are_those_of_tensorflow_to_the_last_bit(
    tf: Any, tasks: genuine.Tasks, kind: str
) -> None:
    v1, found = tf.compat.v1, []
    draw = np.random.default_rng(3)
    images = (draw.random((2, 17, 19, 3)) * 255).astype(kind)
    transforms = np.float32([[1, 0, 0, 0, 1, 0, 0, 0]] * 2 + draw.normal(size=(2, 8)) * 0.05)
    transforms[:, 6:] *= 0.02
    for target in ("", tasks.target()):
        with v1.Graph().as_default(), v1.Session(target) as session:
            made = [
                tf.raw_ops.ImageProjectiveTransformV3(
                    images=images, transforms=transforms, output_shape=[20, 20], fill_value=7.0,
                    interpolation="BILINEAR", fill_mode=mode,
                )
                for mode in ("CONSTANT", "REFLECT", "WRAP", "NEAREST")
            ]  # fmt: skip
            found.append(session.run(made))
    np.testing.assert_array_equal(*found)


def test_each_image_is_padded_before_a_convolution() -> None:
    """TensorFlow pads the second image of a batch with pixels of the first."""
    with capstan.Graph().as_default(), capstan.Session() as session:
        x = capstan.constant(IMAGES)
        wide = capstan.pad(x, PADDINGS, "SYMMETRIC")
        plain = capstan.nn.conv2d(wide, KERNEL, [1, 2, 1, 1], "VALID")
        fused = capstan.raw_ops.FusedPadConv2D(
            input=x, paddings=PADDINGS, filter=KERNEL, mode="SYMMETRIC", strides=[1, 2, 1, 1],
            padding="VALID",
        )  # fmt: skip
        assert fused.shape.as_list() == plain.shape.as_list()
        found, wanted = session.run([fused, plain])
    np.testing.assert_allclose(found, wanted, rtol=1e-5)


def test_the_client_of_tensorflow_2_resizes_by_filters(tf: Any, tasks: genuine.Tasks) -> None:
    v1, found = tf.compat.v1, []
    for target in ("", tasks.target()):
        with v1.Graph().as_default(), v1.Session(target) as session:
            made = [
                tf.image.resize(v1.constant(IMAGES), [3, 8], method=method, antialias=True)
                for method in ("bilinear", "bicubic", "lanczos3", "gaussian", "mitchellcubic")
            ]
            found.append(session.run(made))
    for value, wanted in zip(*found, strict=True):
        np.testing.assert_allclose(value, wanted, rtol=1e-4, atol=1e-5)


def test_the_gradient_of_a_transform_goes_back_by_the_inverse() -> None:
    """TensorFlow 2 has this gradient only for some modes."""
    contrib = capstan.contrib.image
    with capstan.Graph().as_default(), capstan.Session() as session:
        x = capstan.constant(IMAGES)
        moved = contrib.translate(x, [1.0, 2.0])
        slope = capstan.gradients(moved, x)[0]
        values, by_x = session.run([moved, slope])
    np.testing.assert_array_equal(values[:, 2:, 1:], IMAGES[:, :-2, :-1])
    np.testing.assert_array_equal(values[:, :2], 0)
    np.testing.assert_array_equal(by_x[:, :-2, :-1], 1)
    np.testing.assert_array_equal(by_x[:, -2:], 0)


def test_contrib_rotates_composes_and_warps_images() -> None:
    contrib = capstan.contrib.image
    square = IMAGES[:, :5]
    with capstan.Graph().as_default(), capstan.Session() as session:
        quarter = contrib.rotate(square, np.pi / 2)
        plane = contrib.rotate(square[0, :, :, 0], np.pi)
        one = contrib.rotate(square[0], [np.pi / 2], interpolation="bilinear")
        there = contrib.translations_to_projective_transforms([3.0, 1.0])
        back = contrib.translations_to_projective_transforms([-3.0, -1.0])
        both = contrib.compose_transforms(there, back)
        flow = np.zeros((2, 6, 5, 2), np.float32)
        flow[..., 0], flow[..., 1] = 1, 0.5
        warped = contrib.dense_image_warp(IMAGES, flow)
        assert warped.shape.as_list() == [2, 6, 5, 3]
        values = session.run([quarter, plane, one, both, warped])
        with pytest.raises(TypeError, match="rank between 2 and 4"):
            contrib.rotate([1.0], 0.0)
        with pytest.raises(TypeError, match="Invalid dtype"):
            contrib.rotate([["a"]], 0.0)
    np.testing.assert_array_equal(values[0], np.rot90(square, axes=(1, 2)))
    np.testing.assert_array_equal(values[1], square[0, ::-1, ::-1, 0])
    np.testing.assert_allclose(values[2], np.rot90(square[0]), atol=1e-5)
    np.testing.assert_allclose(values[3], [[1, 0, 0, 0, 1, 0, 0, 0]])
    wanted = (IMAGES[:, :5, 1:] + IMAGES[:, :5, :-1]) / 2
    np.testing.assert_allclose(values[4][:, 1:, 1:], wanted, atol=1e-6)
    np.testing.assert_allclose(values[4][:, 0, 1:], wanted[:, 0], atol=1e-6)


def test_the_first_versions_of_a_window_and_of_contrast_are_those_of_the_second() -> None:
    """TensorFlow 2 builds no graph with the first version of the contrast."""
    with capstan.Graph().as_default(), capstan.Session() as session:
        boxes = np.float32([[[0.1, 0.2, 0.9, 0.8]]])
        begin, size, drawn = capstan.raw_ops.SampleDistortedBoundingBox(
            image_size=[50, 40, 3], bounding_boxes=boxes, min_object_covered=0.9, seed=3
        )
        contrast = capstan.raw_ops.AdjustContrast(
            images=IMAGES, contrast_factor=3.0, min_value=-0.5, max_value=0.75
        )
        plain = capstan.image.adjust_contrast(IMAGES, 3.0)
        (at, extent, box), found, wanted = session.run([(begin, size, drawn), contrast, plain])
    np.testing.assert_allclose(found, np.clip(wanted, -0.5, 0.75), rtol=1e-5)
    np.testing.assert_allclose(box[0, 0, :2], at[:2] / np.array([50, 40]), rtol=1e-5)
    low, high = at[:2], at[:2] + extent[:2]
    overlap = np.prod(np.minimum(high, [45, 32]) - np.maximum(low, [5, 8]))
    assert overlap >= 0.9 * 40 * 24 * 0.98


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda ops, x: ops.ScaleAndTranslate(
            images=x, size=[2, 2], scale=[0.0, 1], translation=[0.0, 0]), "greater than zero"),
        (lambda ops, x: ops.ScaleAndTranslate(
            images=x, size=[2, 2], scale=[1.0, 1], translation=[0.0, 0], kernel_type="no"),
         "Unrecognized kernel type"),
        (lambda ops, x: ops.ImageProjectiveTransformV2(
            images=x, transforms=TRANSFORMS, output_shape=[2, 2], interpolation="no"),
         "Invalid interpolation"),
        (lambda ops, x: ops.ImageProjectiveTransformV2(
            images=x, transforms=np.zeros([3, 8]), output_shape=[2, 2], interpolation="NEAREST"),
         "num_images x 8"),
    ],
)  # fmt: skip
def test_arguments_that_do_not_fit_are_refused(build: Any, message: str) -> None:
    refusal = pytest.raises(capstan.errors.InvalidArgumentError, match=message)
    with capstan.Graph().as_default(), capstan.Session() as session, refusal:
        session.run(build(capstan.raw_ops, capstan.constant(IMAGES)))
