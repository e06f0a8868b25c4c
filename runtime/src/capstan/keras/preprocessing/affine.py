"""Affine transformations of images, computed by NumPy
(keras_preprocessing/image/affine_transformations.py).

The values are those of `scipy.ndimage.affine_transform` with the orders 0 and 1.
"""

from typing import Any

import numpy as np

_MODES = ("constant", "nearest", "reflect", "wrap")


def apply_affine_transform(
    x: Any,
    theta: float = 0,
    tx: float = 0,
    ty: float = 0,
    shear: float = 0,
    zx: float = 1,
    zy: float = 1,
    row_axis: int = 0,
    col_axis: int = 1,
    channel_axis: int = 2,
    fill_mode: str = "nearest",
    cval: float = 0.0,
    order: int = 1,
) -> Any:
    """Return an image that is rotated, shifted, sheared and zoomed about its center, in this order.

    `theta` and `shear` are degrees, `tx` and `ty` pixels along the rows and the columns. A pixel
    that comes from outside of the image gets `cval` in the mode "constant", else the value of a
    pixel inside: of the nearest one, or of the repeated image, mirrored for "reflect". The order 0
    takes the nearest pixel, and 1 interpolates between four pixels.

    Raises:
        ValueError: the mode or the order is unknown.
    """
    matrix = _matrix(theta, tx, ty, shear, zx, zy)
    if matrix is None:
        return x
    if fill_mode not in _MODES:
        raise ValueError(f"Unknown fill_mode {fill_mode!r}. Known modes are {', '.join(_MODES)}")
    if order not in (0, 1):
        raise ValueError(
            f"The order of the interpolation is 0 or 1, not {order}: splines are not supported"
        )
    matrix = _about_center(matrix, x.shape[row_axis], x.shape[col_axis])
    made = _sampled(np.moveaxis(x, channel_axis, 0), matrix, fill_mode, cval, order)
    return np.moveaxis(made, 0, channel_axis)


def _matrix(
    theta: float, tx: float, ty: float, shear: float, zx: float, zy: float
) -> np.ndarray | None:
    """Return the product of the transformations, or None if nothing changes."""
    parts: list[Any] = []
    if theta != 0:
        angle = np.deg2rad(theta)
        cosine, sine = np.cos(angle), np.sin(angle)
        parts.append([[cosine, -sine, 0], [sine, cosine, 0], [0, 0, 1]])
    if tx != 0 or ty != 0:
        parts.append([[1, 0, tx], [0, 1, ty], [0, 0, 1]])
    if shear != 0:
        angle = np.deg2rad(shear)
        parts.append([[1, -np.sin(angle), 0], [0, np.cos(angle), 0], [0, 0, 1]])
    if zx != 1 or zy != 1:
        parts.append([[zx, 0, 0], [0, zy, 0], [0, 0, 1]])
    if not parts:
        return None
    product = np.array(parts[0], float)
    for part in parts[1:]:
        product = product @ np.array(part, float)
    return product


def _about_center(matrix: np.ndarray, height: int, width: int) -> np.ndarray:
    row, column = height / 2 + 0.5, width / 2 + 0.5
    to_center = np.array([[1, 0, row], [0, 1, column], [0, 0, 1]])
    from_center = np.array([[1, 0, -row], [0, 1, -column], [0, 0, 1]])
    return np.asarray(to_center @ matrix @ from_center)


def _sampled(
    planes: np.ndarray, matrix: np.ndarray, mode: str, cval: float, order: int
) -> np.ndarray:
    """Return planes [channels, rows, columns] whose pixel p is the one at `matrix @ p`."""
    sizes = planes.shape[1:]
    rows, columns = np.indices(sizes)
    places = [row[2] + rows * row[0] + columns * row[1] for row in matrix[:2]]
    inside = np.ones(sizes, bool)
    if mode == "constant":
        for place, size in zip(places, sizes, strict=True):
            inside &= (place >= 0) & (place <= size - 1)
    places = [_moved(place, size, mode) for place, size in zip(places, sizes, strict=True)]
    found = np.zeros(planes.shape)
    for row, row_weight in _neighbours(places[0], sizes[0], order):
        for column, weight in _neighbours(places[1], sizes[1], order):
            found += planes[:, row, column] * (row_weight * weight)
    found = np.where(inside, found, cval)
    return found.astype(planes.dtype)


def _moved(place: np.ndarray, size: int, mode: str) -> np.ndarray:
    """Return the coordinates in the range that `_neighbours` can extend."""
    last = size - 1
    if mode == "wrap":
        # As in SciPy, the first and the last pixel are the same one: the period is size - 1.
        if last == 0:
            return np.zeros_like(place)
        below = place + last * (np.trunc(-place / last) + 1)
        above = place - last * np.trunc(place / last)
        return np.where(place < 0, below, np.where(place > last, above, place))
    return place if mode == "reflect" else np.clip(place, 0, last)


def _neighbours(place: np.ndarray, size: int, order: int) -> list[tuple[np.ndarray, Any]]:
    """Return the pixels beside coordinates, and their weights."""
    if order == 0:
        return [(_reflected(np.floor(place + 0.5), size), 1.0)]
    start = np.floor(place)
    share = place - start
    return [(_reflected(start, size), 1 - share), (_reflected(start + 1, size), share)]


def _reflected(number: np.ndarray, size: int) -> np.ndarray:
    """Return the pixel inside of the image for a number of a pixel of the mirrored image."""
    period = number.astype(int) % (2 * size)
    return np.where(period < size, period, 2 * size - 1 - period)
