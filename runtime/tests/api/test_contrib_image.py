"""`tf.contrib.image`: splines, warps by points, connected pixels, pairs, and colours in YIQ."""

import colorsys
from typing import Any

import numpy as np
import pytest
from scipy import interpolate, ndimage

import capstan as tf
from capstan.framework.raw import raw

pytestmark = pytest.mark.e2e

image = tf.contrib.image


def run(fetch: Any, feeds: Any = None) -> Any:
    with tf.Session() as session:
        return session.run(fetch, feeds)


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(4)


@pytest.mark.parametrize("dimensions", [1, 3])
@pytest.mark.parametrize(
    ("order", "kernel"),
    [(1, "linear"), (2, "thin_plate_spline"), (3, "cubic")],
)
def test_a_spline_is_that_of_scipy(
    rng: np.random.Generator, dimensions: int, order: int, kernel: str
) -> None:
    points = rng.random((2, 12, dimensions))
    values, queries = rng.random((2, 12, 2)), rng.random((2, 7, dimensions))
    found = image.interpolate_spline(points, values, queries, order)
    assert found.shape.as_list() == [2, 7, 2]
    for each, (at, there, ask) in zip(
        run(found), zip(points, values, queries, strict=True), strict=True
    ):
        spline = interpolate.RBFInterpolator(at, there, kernel=kernel, degree=1)
        np.testing.assert_allclose(each, spline(ask), atol=1e-3 if order == 1 else 1e-6)


def test_a_smooth_spline_is_that_of_scipy(rng: np.random.Generator) -> None:
    points, values, queries = rng.random((1, 12, 2)), rng.random((1, 12, 1)), rng.random((1, 7, 2))
    found = run(image.interpolate_spline(points, values, queries, 2, 0.01))
    smooth = interpolate.RBFInterpolator(
        points[0], values[0], smoothing=0.01, kernel="thin_plate_spline"
    )
    np.testing.assert_allclose(found[0], smooth(queries[0]), rtol=1e-6)


@pytest.mark.parametrize("order", [1, 2, 3, 4, 6])
def test_a_spline_goes_through_its_points_and_keeps_linear_functions(
    rng: np.random.Generator, order: int
) -> None:
    points = tf.placeholder(tf.float64, [None, None, 2])
    linear = points @ np.array([[[2.0], [-1.0]]]) + 3.0
    queries = rng.random((1, 5, 2))
    found = image.interpolate_spline(points, linear, queries, order)
    again = image.interpolate_spline(points, linear, points, order)
    feeds = {points: rng.random((1, 9, 2))}
    expected = queries @ [[2], [-1]] + 3
    np.testing.assert_allclose(run(found, feeds), expected, atol=1e-4)
    np.testing.assert_allclose(*run([again, linear], feeds), atol=1e-4)


def test_a_spline_has_the_gradients_of_differences(rng: np.random.Generator) -> None:
    points, values, queries = rng.random((1, 6, 2)), rng.random((1, 6, 1)), rng.random((1, 3, 2))
    arguments = [tf.constant(each) for each in (points, values, queries)]
    total = tf.reduce_sum(image.interpolate_spline(*arguments, 2) ** 2)
    with tf.Session():
        for each in arguments:
            assert tf.test.compute_gradient_error(each, each.shape, total, [], delta=1e-6) < 1e-4


def test_a_spline_names_an_unknown_size() -> None:
    unknown = tf.placeholder(tf.float32, [1, 3, None])
    with pytest.raises(ValueError, match=r"input points \(d\) must be statically-inferrable"):
        image.interpolate_spline(unknown, tf.zeros([1, 3, 1]), unknown, 2)
    with pytest.raises(ValueError, match=r"output values \(k\) must be statically-inferrable"):
        image.interpolate_spline(tf.zeros([1, 3, 1]), unknown, tf.zeros([1, 3, 1]), 2)


@pytest.mark.parametrize("order", [1, 2, 3])
@pytest.mark.parametrize("border", [0, 1, 2])
def test_warped_images_have_the_pixels_of_the_points_at_their_new_places(
    rng: np.random.Generator, order: int, border: int
) -> None:
    pictures = rng.random((2, 9, 11, 3)).astype(np.float32)
    sources = np.array([[[2, 3], [5, 7], [6, 2], [3, 8]]] * 2, np.float32)
    places = sources + np.array([[[1, 0], [0, -1], [-1, 1], [1, 1]]], np.float32)
    warped, flow = run(image.sparse_image_warp(pictures, sources, places, order, 0.0, border))
    for example in range(2):
        for source, place in zip(sources[example], places[example], strict=True):
            (y, x), (row, column) = source.astype(int), place.astype(int)
            np.testing.assert_allclose(
                warped[example, row, column], pictures[example, y, x], atol=1e-3
            )
            np.testing.assert_allclose(flow[example, row, column], place - source, atol=1e-3)
    if border:
        corners = flow[:, ::8, ::10]
        np.testing.assert_allclose(corners, np.zeros_like(corners), atol=1e-3)
    if border == 2:
        np.testing.assert_allclose(flow[:, 0, 5], np.zeros((2, 2)), atol=1e-3)


def test_points_that_stay_leave_images_of_any_batch_as_they_are(rng: np.random.Generator) -> None:
    pictures = tf.placeholder(tf.float64, [None, 5, 6, 1])
    points = tf.placeholder(tf.float32, [None, 4, 2])
    warped, flow = image.sparse_image_warp(pictures, points, points)
    assert flow.shape.as_list() == [None, 5, 6, 2]
    values = rng.random((3, 5, 6, 1))
    corners = np.array([[[0, 0], [0, 5], [4, 0], [4, 4]]] * 3)
    np.testing.assert_allclose(run(warped, {pictures: values, points: corners}), values)
    with pytest.raises(ValueError, match="height and the width of the images must be known"):
        image.sparse_image_warp(tf.placeholder(tf.float32, [1, None, 3, 1]), points, points)


@pytest.mark.parametrize("density", [0.3, 0.6, 0.9])
def test_components_are_numbered_as_scipy_numbers_them(
    rng: np.random.Generator, density: float
) -> None:
    pictures = rng.random((3, 17, 23)) < density
    found = image.connected_components(pictures)
    assert (found.dtype, found.shape.as_list()) == (tf.int32, [3, 17, 23])
    count = 0
    for labels, picture in zip(run(found), pictures, strict=True):
        expected, number = ndimage.label(picture)
        np.testing.assert_array_equal(labels, np.where(expected, expected + count, 0))
        count += number


SPIRAL = """
.######
.#....#
.#.##.#
.#..#.#
.####.#
......#
#######
"""


@pytest.mark.parametrize(
    ("picture", "expected"),
    [
        ([[True, False, True], [True, False, False]], [[1, 0, 2], [1, 0, 0]]),
        ([[2, 2, 1], [1, 2, 1]], [[1, 1, 2], [3, 1, 2]]),
        ([["a", "a", ""], ["", "b", "a"]], [[1, 1, 0], [0, 2, 3]]),
        ([[0.5, -0.0], [float("nan"), float("nan")]], [[1, 0], [2, 3]]),
        (np.zeros((2, 3), np.uint8), np.zeros((2, 3))),
        (np.zeros((0, 3), np.uint8), np.zeros((0, 3))),
        (
            [[each == "#" for each in row] for row in SPIRAL.split()],
            [[int(each == "#") for each in row] for row in SPIRAL.split()],
        ),
    ],
)
def test_neighbours_of_one_value_are_connected(picture: Any, expected: Any) -> None:
    np.testing.assert_array_equal(run(image.connected_components(picture)), expected)


def test_a_long_way_through_an_image_is_one_component() -> None:
    picture = np.zeros((101, 64), bool)
    picture[::2] = True
    picture[1::4, -1] = picture[3::4, 0] = True
    assert run(image.connected_components(picture)).max() == 1


def test_components_need_images() -> None:
    with pytest.raises(TypeError, match=r"images should have rank 2 \(HW\) or 3 \(NHW\)"):
        image.connected_components([True])
    with pytest.raises(tf.errors.InvalidArgumentError, match="must have rank 3"):
        run(raw.ImageConnectedComponents(tf.placeholder(tf.float32)), {"Placeholder:0": [1.0]})


DISTANCES = [[0.5, 0.1, 0.8], [0.3, 0.2, 0.15]]


@pytest.mark.parametrize(
    ("rows", "top", "expected"),
    [
        (-1, -1, ([1, 2], [-1, 0, 1])),
        (2, 1, ([1, -1], [-1, 0, -1])),
        (1, -1, ([1, -1], [-1, 0, -1])),
        ([0], -1, ([-1, -1], [-1, -1, -1])),
    ],
)
def test_pairs_have_the_least_distances(rows: Any, top: int, expected: Any) -> None:
    found = image.bipartite_match(DISTANCES, tf.constant(rows, tf.float32), top)
    assert [each.shape.as_list() for each in found] == [[2], [3]]
    assert [each.tolist() for each in run(list(found))] == list(expected)


def test_pairs_are_not_chosen_among_missing_rows() -> None:
    with pytest.raises(tf.errors.InvalidArgumentError, match="at least 3 rows"):
        run(image.bipartite_match(DISTANCES, 3.0))


YIQ = np.array([colorsys.rgb_to_yiq(*unit) for unit in np.eye(3)]).T
"""The matrix of the standard library, which is a little different."""


def changed(colour: Any, turn: float, saturation: float, value: float) -> Any:
    y, i, q = YIQ @ colour
    chroma = complex(i, q) * np.exp(1j * turn) * saturation * value
    return np.linalg.solve(YIQ, [y * value, chroma.real, chroma.imag])


@pytest.mark.parametrize("change", [(0, 1, 1), (0.7, 1, 1), (0, 0.4, 1), (-1.2, 1.5, 0.6)])
def test_colours_turn_in_yiq(rng: np.random.Generator, change: Any) -> None:
    colours = 0.4 + 0.2 * rng.random((2, 4, 5, 3))
    expected = np.apply_along_axis(changed, -1, colours, *change)
    found = image.adjust_hsv_in_yiq(colours.astype(np.float32), *change)
    assert found.shape.as_list() == [2, 4, 5, 3]
    np.testing.assert_allclose(run(found), expected, atol=0.02)
    whole = (255 * colours).astype(np.uint8)
    found = run(image.adjust_hsv_in_yiq(whole, *change))
    assert found.dtype == np.uint8
    np.testing.assert_allclose(found, 255 * expected, atol=6)


def test_random_colours_stay_in_their_limits() -> None:
    colours = np.full((4, 4, 3), [0.5, 0.4, 0.3], np.float32)
    same = image.random_hsv_in_yiq(colours)
    scaled = image.random_hsv_in_yiq(colours, lower_value=0.5, upper_value=0.9, seed=3)
    with tf.Session() as session:
        np.testing.assert_allclose(session.run(same), colours, atol=0.005)
        ratios = [np.mean(session.run(scaled) / colours) for _ in range(20)]
    assert 0.49 < min(ratios) < 0.7 < max(ratios) < 0.91
    with pytest.raises(ValueError, match="max_delta_hue must be non-negative, but is -1"):
        image.random_hsv_in_yiq(colours, -1)
    with pytest.raises(ValueError, match="lower_value must not be above upper_value"):
        image.random_hsv_in_yiq(colours, lower_value=2)


def test_colours_have_three_channels() -> None:
    with pytest.raises(ValueError, match="Shape must be at least rank 3 but is rank 2"):
        image.adjust_hsv_in_yiq(tf.zeros([2, 3]))
    with pytest.raises(ValueError, match="input must have 3 channels but instead has 4 channels"):
        image.adjust_hsv_in_yiq(tf.zeros([2, 2, 4]))
