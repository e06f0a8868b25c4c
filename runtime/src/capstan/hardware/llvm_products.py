"""Products of narrow matrices, as a module of LLVM.

A BLAS first copies both matrices into an order of its own. If a matrix is narrow, the copies take
longer than the product. The function here reads both matrices where they lie, and keeps a tile of
the result in registers (`llvm_tiles`). The elements of the left matrix may have any distances, so
overlapping windows of an image are a matrix, too.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np
from llvmlite import ir

from capstan.hardware import llvm_crew, llvm_expressions, llvm_tiles
from capstan.hardware.llvm_expressions import POINTER, WORD
from capstan.hardware.llvm_loops import counting

NAME: Final = "capstan_products"
"""The name of the function that is written."""

OF_ROW: Final = f"{NAME}_of_row"
"""The name of the function that takes its arguments as a row (`llvm_crew`)."""

LOOPS: Final = ("first", "second", "third", "fourth")
"""The loops around a product, from the outermost."""

MATRICES: Final = ("left", "right", "result")

FIELDS: Final = (
    *LOOPS,
    *(f"{loop}_{matrix}" for loop in LOOPS for matrix in MATRICES),
    *("rows", "depth", "columns"),
    *("left_row", "left_column", "right_row", "result_row"),
    *("repeats", "repeat_left", "repeat_right"),
    "is_first",
)
"""The numbers that the function takes: counts, sizes, and distances in elements.

It adds `first * second * third * fourth` products to the result. Each step of a loop moves each
matrix by the distance of the loop. A left matrix has `rows` rows and `depth` columns, a right
matrix `columns` columns, which are neighbours. Each product is the sum of `repeats` products of
such matrices, which a tile adds up in registers. If `is_first` is not 0, the product is written to
the result, whose numbers before do not matter.
"""

_Numbers = Mapping[str, Any]


def write(dtype: np.dtype[Any], size: int, heights: Sequence[int]) -> str:
    """Return the text of the module, for vectors of `size` bytes.

    `heights` are the numbers of rows of tiles, from the largest to 1. The function takes array
    objects: those that begin with the first left matrix, right matrix and result, and one of int64
    with the numbers `FIELDS`.
    """
    module = ir.Module(NAME)
    tiles = llvm_tiles.Tiles(module, dtype, size // dtype.itemsize, heights)
    function = ir.Function(module, ir.FunctionType(ir.VoidType(), [POINTER] * 4), NAME)
    build = ir.IRBuilder(function.append_basic_block())
    *places, table = (llvm_expressions.elements(build, each) for each in function.args)
    numbers = {
        name: build.load(build.gep(table, [WORD(at)], source_etype=WORD), typ=WORD)
        for at, name in enumerate(FIELDS)
    }
    _Products(build, tiles, numbers, heights).write(places, LOOPS)
    build.ret_void()
    llvm_crew.write_row_function(module, function, OF_ROW)
    return str(module)


class _Products:
    """Writes the loops around the tiles."""

    def __init__(
        self,
        build: ir.IRBuilder,
        tiles: llvm_tiles.Tiles,
        numbers: _Numbers,
        heights: Sequence[int],
    ) -> None:
        self._build, self._tiles = build, tiles
        self._numbers, self._heights = numbers, heights

    def write(self, places: Sequence[Any], loops: Sequence[str]) -> None:
        """Write the products whose first matrices are at `places`."""
        if not loops:
            self._product(places)
            return
        loop, *within = loops
        with counting(self._build, WORD(0), self._numbers[loop], WORD(1)) as count:
            moved = [
                self._moved(place, count, self._numbers[f"{loop}_{matrix}"])
                for place, matrix in zip(places, MATRICES, strict=True)
            ]
            self.write(moved, within)

    def _product(self, places: Sequence[Any]) -> None:
        build, columns = self._build, self._numbers["columns"]
        start: Any = WORD(0)
        for vectors in llvm_tiles.WIDTHS:
            width = vectors * self._tiles.lanes
            end = self._end(start, columns, width)
            with counting(build, start, end, WORD(width)) as column:
                self._column(places, column, vectors)
            start = end
        with build.if_then(build.icmp_signed("<", start, columns)):
            self._column(places, start, llvm_tiles.PART)

    def _column(self, places: Sequence[Any], column: Any, vectors: int) -> None:
        """Write the tiles that begin at a column, from the top of the result to its end."""
        build, numbers = self._build, self._numbers
        left, *others = places
        right, result = (self._moved(place, column, WORD(1)) for place in others)
        rest = build.sub(numbers["columns"], column)
        start: Any = WORD(0)
        for height in self._heights if vectors else self._tiles.heights_of_parts:
            end = self._end(start, numbers["rows"], height)
            with counting(build, start, end, WORD(height)) as row:
                self._tiles.call(
                    build,
                    height,
                    vectors,
                    left=self._moved(left, row, numbers["left_row"]),
                    left_row=numbers["left_row"],
                    left_column=numbers["left_column"],
                    right=right,
                    right_row=numbers["right_row"],
                    result=self._moved(result, row, numbers["result_row"]),
                    result_row=numbers["result_row"],
                    depth=numbers["depth"],
                    rest=rest,
                    repeats=numbers["repeats"],
                    repeat_left=numbers["repeat_left"],
                    repeat_right=numbers["repeat_right"],
                    is_first=numbers["is_first"],
                )
            start = end

    def _end(self, start: Any, size: Any, each: int) -> Any:
        """Return where the last of the whole parts of `each` ends that follow `start`."""
        build = self._build
        whole = build.sdiv(build.sub(size, start), WORD(each))
        return build.add(start, build.mul(whole, WORD(each)))

    def _moved(self, place: Any, count: Any, distance: Any) -> Any:
        return self._tiles.moved(self._build, place, self._build.mul(count, distance))
