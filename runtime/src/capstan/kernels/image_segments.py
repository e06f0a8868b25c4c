"""Kernels that find connected pixels, and pairs of rows and columns (contrib/image/kernels)."""

import numpy as np

from capstan.core.arrays import Array
from capstan.core.shapes import show
from capstan.kernels.arithmetic import constantly
from capstan.kernels.registry import Function, Kernel, NodeContext, register
from capstan.kernels.rejection import invalid


def _components(images: Array) -> Array:
    """Number the sets of neighbours with the same value, from 1, in the order of first pixels."""
    if images.ndim != 3:
        raise invalid(f"Input images must have rank 3, but the shape is {show(images.shape)}")
    is_set = images != (b"" if images.dtype == object else 0)
    found = np.zeros(images.shape, np.int64)
    if is_set.any():
        firsts = _first_pixels(images, is_set)[is_set]
        found[is_set] = np.unique(firsts, return_inverse=True)[1] + 1
    return found


def _first_pixels(images: Array, is_set: Array) -> Array:
    """Return the number of the first pixel of the set of each pixel."""
    numbers = np.arange(images.size).reshape(images.shape)
    pairs = []
    for axis in (1, 2):
        before, after = (
            tuple(part if each == axis else slice(None) for each in range(3))
            for part in (slice(None, -1), slice(1, None))
        )
        is_pair = is_set[before] & (images[before] == images[after])
        pairs.append(np.stack([numbers[before][is_pair], numbers[after][is_pair]]))
    ends = np.concatenate(pairs, axis=1)
    roots = numbers.ravel()
    # The root of each set joins that of a neighbour with a smaller one, until no pair differs.
    while (differs := roots[ends[0]] != roots[ends[1]]).any():
        ends = ends[:, differs]
        low, high = np.sort(roots[ends], axis=0)
        np.minimum.at(roots, high, low)
        while not np.array_equal(further := roots[roots], roots):
            roots = further
    return roots.reshape(images.shape)


def _matching(node: NodeContext) -> Function:
    top = node.attrs["top_k"]

    def match(distances: Array, valid_rows: Array) -> tuple[Array, Array]:
        """Pair the row and the column of the least distance, again and again."""
        if distances.ndim != 2:
            raise invalid(f"distance_mat should be 2-dimensional, but got {show(distances.shape)}")
        if valid_rows.size != 1:
            raise invalid(
                "num_valid_rows argument should be a tensor with 1 element, but got "
                f"{valid_rows.size}"
            )
        rows, columns = distances.shape
        count = float(valid_rows.reshape(()))
        valid = rows if count < 0 else int(count + 0.1)
        if valid > rows:
            raise invalid(
                f"There should be at least {valid} rows in distance_mat, but only got {rows} rows."
            )
        of_rows, of_columns = np.full(rows, -1, np.int32), np.full(columns, -1, np.int32)
        left = top if top > 0 else min(valid, columns)
        for place in np.argsort(distances[:valid], axis=None, kind="stable"):
            if not left:
                break
            row, column = divmod(int(place), columns)
            if of_rows[row] < 0 and of_columns[column] < 0:
                of_rows[row], of_columns[column] = column, row
                left -= 1
        return of_rows, of_columns

    return match


register(Kernel("BipartiteMatch", _matching))
register(Kernel("ImageConnectedComponents", constantly(_components)))
