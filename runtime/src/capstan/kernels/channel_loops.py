"""Loops of batch normalization, in the part of Python that is compiled (`hardware.cpu_loops`).

They take the rows from `start` to `stop` of matrices, which are passed as vectors, with the number
of their columns. `vectors` has a number for each column, for each name in the order of the loop.
"""

from typing import Any


def add_rows(values: Any, start: int, stop: int, width: int, sums: Any) -> int:
    """Add the rows to `sums`."""
    for row in range(start, stop):
        first = row * width
        for column in range(width):
            sums[column] += values[first + column]
    return 0


def add_squares(values: Any, start: int, stop: int, width: int, centres: Any, sums: Any) -> int:
    """Add the squares of the distances from `centres` to `sums`."""
    for row in range(start, stop):
        first = row * width
        for column in range(width):
            distance = values[first + column] - centres[column]
            sums[column] += distance * distance
    return 0


def normalize(values: Any, start: int, stop: int, width: int, vectors: Any, result: Any) -> int:
    """Write the normalized rows. The vectors are centres, factors and offsets."""
    for row in range(start, stop):
        first = row * width
        for column in range(width):
            distance = values[first + column] - vectors[column]
            scaled = distance * vectors[width + column]
            result[first + column] = scaled + vectors[2 * width + column]
    return 0


def add_slopes(
    slopes: Any, values: Any, start: int, stop: int, width: int, vectors: Any, sums: Any
) -> int:
    """Add the gradients by the offsets and by the scales to the two vectors `sums`.

    The vectors are centres and factors.
    """
    for row in range(start, stop):
        first = row * width
        for column in range(width):
            slope = slopes[first + column]
            distance = values[first + column] - vectors[column]
            sums[column] += slope
            sums[width + column] += slope * (distance * vectors[width + column])
    return 0


def slope_by_values(
    slopes: Any, values: Any, start: int, stop: int, width: int, vectors: Any, result: Any
) -> int:
    """Write the gradients by the rows.

    The vectors are centres, factors, the means of the slopes, the means of the slopes times the
    normalized values, and scales.
    """
    for row in range(start, stop):
        first = row * width
        for column in range(width):
            distance = values[first + column] - vectors[column]
            tilt = distance * vectors[width + column] * vectors[3 * width + column]
            slope = slopes[first + column] - vectors[2 * width + column] - tilt
            result[first + column] = slope * vectors[4 * width + column]
    return 0
