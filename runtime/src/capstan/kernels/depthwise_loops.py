"""Loops of convolutions that filter each channel by itself, in the part of Python that is compiled
(`hardware.cpu_loops`).

All arrays are passed as vectors. A row of output pixels is divided into runs: a number of a run is
the sum over the taps of the filter, of a number of the images times the number of the weights at
the same place in the run. `sizes` has

* 0: the rows of an output image, the runs of a row, the numbers of a run,
* 3: the rows and columns of the filter,
* 5: the distances, in an image, of rows of output pixels, of runs, of rows of the filter, and of
  columns of the filter,
* 9: the sizes of an image and of an output image,
* 11: the number of all images, and of those from `start` on that a call takes.
"""

from typing import Any


def convolve(images: Any, weights: Any, result: Any, sizes: Any, start: int) -> int:
    """Write the convolution of some images."""
    run = sizes[2]
    for image in range(start, last(sizes, start)):
        for at in range(sizes[0] * sizes[1]):
            out = image * sizes[10] + at * run
            for number in range(run):
                result[out + number] = 0
            tap = 0
            for i in range(sizes[3]):
                place = first(sizes, image, at) + i * sizes[7]
                for _ in range(sizes[4] // 3):
                    add_three(images, place, weights, tap, result, out, sizes)
                    place += 3 * sizes[8]
                    tap += 3 * run
                for _ in range(sizes[4] % 3):
                    for number in range(run):
                        result[out + number] += images[place + number] * weights[tap + number]
                    place += sizes[8]
                    tap += run
    return 0


def add_three(
    images: Any, place: int, weights: Any, tap: int, result: Any, out: int, sizes: Any
) -> int:
    """Add the products of three neighbouring taps to a run."""
    run = sizes[2]
    second = place + sizes[8]
    third = second + sizes[8]
    for number in range(run):
        result[out + number] += (
            images[place + number] * weights[tap + number]
            + images[second + number] * weights[tap + run + number]
            + images[third + number] * weights[tap + 2 * run + number]
        )
    return 0


def spread(slopes: Any, weights: Any, result: Any, sizes: Any, start: int) -> int:
    """Add the gradients by some images to `result`."""
    run = sizes[2]
    for image in range(start, last(sizes, start)):
        for at in range(sizes[0] * sizes[1]):
            out = image * sizes[10] + at * run
            for i in range(sizes[3]):
                for j in range(sizes[4]):
                    tap = (i * sizes[4] + j) * run
                    place = first(sizes, image, at) + i * sizes[7] + j * sizes[8]
                    for number in range(run):
                        result[place + number] += slopes[out + number] * weights[tap + number]
    return 0


def correlate(images: Any, slopes: Any, part: Any, result: Any, sizes: Any, start: int) -> int:
    """Add the gradients by the weights of some images to `result`.

    `part` is zeros before and after. It takes the sums over an image, because shorter sums of
    numbers of one precision are more exact.
    """
    run = sizes[2]
    for image in range(start, last(sizes, start)):
        for at in range(sizes[0] * sizes[1]):
            out = image * sizes[10] + at * run
            for i in range(sizes[3]):
                for j in range(sizes[4]):
                    tap = (i * sizes[4] + j) * run
                    place = first(sizes, image, at) + i * sizes[7] + j * sizes[8]
                    for number in range(run):
                        part[tap + number] += images[place + number] * slopes[out + number]
        for number in range(len(part)):
            result[number] += part[number]
            part[number] = 0
    return 0


def first(sizes: Any, image: int, at: int) -> Any:
    """Return the place in the images of the first number of a run, for the first tap."""
    row = at // sizes[1]
    return image * sizes[9] + row * sizes[5] + (at - row * sizes[1]) * sizes[6]


def last(sizes: Any, start: int) -> Any:
    """Return the number behind the last image of a call."""
    return min(start + sizes[12], sizes[11])
