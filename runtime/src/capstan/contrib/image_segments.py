"""Connected pixels, and pairs of rows and columns (contrib/image/python/ops/image_ops.py)."""

from typing import Any

from capstan.api import math_ops
from capstan.core import dtypes
from capstan.framework import convert
from capstan.framework import graph as graphs
from capstan.framework.raw import raw


def connected_components(images: Any) -> Any:
    """Return the number of the component of each pixel, as int32, in the shape of `images`.

    The shape is [height, width] or [batch, height, width]. A component is a set of pixels that are
    connected by their edges and have the same value, other than 0. Components are numbered from 1,
    in the order of their first pixels, through all images. Pixels of the value 0 get 0.

    Raises:
        TypeError: the images have another rank.
    """
    with graphs.get_default_graph().name_scope("connected_components"):
        given = convert.convert_to_tensor(images)
        rank = given.shape.ndims
        if rank not in (2, 3):
            raise TypeError(
                f"images should have rank 2 (HW) or 3 (NHW). Static shape is {given.shape}"
            )
        batch = given if rank == 3 else raw.ExpandDims(given, 0)
        found = math_ops.cast(raw.ImageConnectedComponents(batch), dtypes.int32)
        return found if rank == 3 else found[0]


def bipartite_match(
    distance_mat: Any, num_valid_rows: Any, top_k: int = -1, name: str = "bipartite_match"
) -> Any:
    """Return the column of each row, and the row of each column, or -1 where there is none.

    The row and the column of the least distance become a pair, then those of the least distance
    among the others, and so on. Of equal distances, the first one counts. Only the first
    `num_valid_rows` rows take part, or all if it is negative. A positive `top_k` is the largest
    number of pairs. `distance_mat` is a matrix of float32. The results are vectors of int32.

    Raises:
        InvalidArgumentError: in a step, the matrix has fewer rows than `num_valid_rows`.
    """
    return raw.BipartiteMatch(distance_mat, num_valid_rows, top_k=top_k, name=name)
