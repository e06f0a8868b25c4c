"""Functions of LLVM that add the product of two matrices to a tile of a third."""

import itertools
from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np
from llvmlite import ir

from capstan.hardware.llvm_expressions import FLOATS, POINTER, WORD

WIDTHS: Final = (2, 1)
"""The numbers of vectors in a row of a tile, from the largest. A number of the left matrix serves
all vectors of its row."""

PART: Final = 0
"""Stands for the width of tiles that are narrower than a vector."""

_UNROLLED: Final = 4
"""The steps of a pass over neighbours in the left matrix, in a tile that is one vector wide. So it
computes fewer addresses for its few products."""

_AHEAD: Final = 8
"""A tile asks for the row of the right matrix that it will read so many steps later. The rows of a
large matrix lie in different pages of memory, so the processor does not guess which one is next.

If a row has a multiple of 4 KiB, all rows compete for the same few lines of the cache."""

_LINE: Final = 64
"""The bytes of a line of the cache."""

_ARGUMENTS: Final = {
    "left": POINTER,
    "left_row": WORD,
    "left_column": WORD,
    "right": POINTER,
    "right_row": WORD,
    "result": POINTER,
    "result_row": WORD,
    "depth": WORD,
    "rest": WORD,
    "repeats": WORD,
    "repeat_left": WORD,
    "repeat_right": WORD,
    "is_first": WORD,
}
"""The arguments of a function: addresses, distances in elements, the number of rows of a right
matrix, the number of columns of the result from the tile on, and the number of products that are
added to the tile, with the distances of their matrices. The last says whether the tile begins with
zeros instead of the result."""

_INT32: Final = ir.IntType(32)

_READ, _CLOSEST, _DATA = _INT32(0), _INT32(3), _INT32(1)
"""The operands of a prefetch: data that will be read, for the cache nearest the core."""

_Body = Callable[[Sequence[Any], Sequence[Any]], list[Any]]


class Tiles:
    """The functions of a module, for tiles of each height and width."""

    def __init__(
        self, module: ir.Module, dtype: np.dtype[Any], lanes: int, heights: Sequence[int]
    ) -> None:
        self.lanes = lanes
        """The numbers in a vector."""
        self._module = module
        self._number = FLOATS[dtype.itemsize]
        self._vector = ir.VectorType(self._number, lanes)
        self._align = dtype.itemsize
        self._suffix = f"v{lanes}f{8 * dtype.itemsize}"
        self.heights_of_parts = [height for height in heights if not height & (height - 1)]
        """The heights of tiles that are narrower than a vector. There are few, to compile less."""
        self._functions = {
            (height, width): self._write(height, width)
            for width in (*WIDTHS, PART)
            for height in (heights if width else self.heights_of_parts)
        }

    def call(self, build: ir.IRBuilder, height: int, width: int, **arguments: Any) -> None:
        """Write a call for a tile. The arguments are `_ARGUMENTS`."""
        build.call(self._functions[height, width], [arguments[name] for name in _ARGUMENTS])

    def moved(self, build: ir.IRBuilder, place: Any, distance: Any) -> Any:
        """Return the address of the element that is that many elements behind `place`."""
        return build.gep(place, [distance], source_etype=self._number)

    def _write(self, height: int, width: int) -> ir.Function:
        signature = ir.FunctionType(ir.VoidType(), list(_ARGUMENTS.values()))
        function = ir.Function(self._module, signature, f"tile_{height}_{width}")
        function.linkage = "internal"
        function.attributes.add("noinline")
        given = dict(zip(_ARGUMENTS, function.args, strict=True))
        build = ir.IRBuilder(function.append_basic_block())
        mask = None if width else self._mask(build, given["rest"])
        starts = [WORD(vector * self.lanes) for vector in range(max(width, 1))]
        rows = [build.mul(given["left_row"], WORD(row)) for row in range(height)]
        lefts = [self.moved(build, given["left"], row) for row in rows]
        places = [
            self.moved(build, given["result"], build.add(distance, start))
            for distance in (build.mul(given["result_row"], WORD(row)) for row in range(height))
            for start in starts
        ]
        is_first = build.icmp_signed("!=", given["is_first"], WORD(0))
        zeros = ir.Constant(self._vector, [0.0] * self.lanes)
        before = [self._load(build, place, mask) for place in places]
        sums = [build.select(is_first, zeros, found) for found in before]
        sums = self._summed(build, given, lefts, starts, sums, mask)
        for place, total in zip(places, sums, strict=True):
            self._store(build, place, total, mask)
        build.ret_void()
        return function

    def _summed(
        self,
        build: ir.IRBuilder,
        given: dict[str, Any],
        lefts: Sequence[Any],
        starts: Sequence[Any],
        sums: Sequence[Any],
        mask: Any,
    ) -> list[Any]:
        """Write the loops over the products and their depth. Return the vectors of the tile."""

        def one_product(places: Sequence[Any], before: Sequence[Any]) -> list[Any]:
            column, row = places
            steps = given["left_column"], given["right_row"]
            done = WORD(0)
            if len(starts) == 1:
                done = build.mul(passes, WORD(_UNROLLED))
                wide = WORD(_UNROLLED), build.mul(given["right_row"], WORD(_UNROLLED))
                before = self._repeated(build, passes, wide, places, before, neighbours)
                column = build.add(column, done)
                row = build.add(row, build.mul(done, given["right_row"]))
            rest = build.sub(given["depth"], done)
            return self._repeated(build, rest, steps, (column, row), before, one_row)

        def neighbours(places: Sequence[Any], before: Sequence[Any]) -> list[Any]:
            column, row = places
            sums = list(before)
            for step in range(_UNROLLED):
                sums = one_row((build.add(column, WORD(step)), row), sums)
                row = build.add(row, given["right_row"])
            return sums

        def one_row(places: Sequence[Any], before: Sequence[Any]) -> list[Any]:
            column, row = places
            if len(starts) > 1:
                ahead = build.add(row, build.mul(given["right_row"], WORD(_AHEAD)))
                self._prefetch(build, self.moved(build, given["right"], ahead), len(starts))
            vectors = [
                self._load(build, self.moved(build, given["right"], build.add(row, start)), mask)
                for start in starts
            ]
            numbers = [
                self._spread(build, build.load(self.moved(build, left, column), typ=self._number))
                for left in lefts
            ]
            pairs = itertools.product(numbers, vectors)
            return [
                self._multiplied(build, *pair, total)
                for pair, total in zip(pairs, before, strict=True)
            ]

        is_near = build.icmp_signed("==", given["left_column"], WORD(1))
        passes = build.select(is_near, build.sdiv(given["depth"], WORD(_UNROLLED)), WORD(0))
        steps = given["repeat_left"], given["repeat_right"]
        zeros = [WORD(0), WORD(0)]
        return self._repeated(build, given["repeats"], steps, zeros, sums, one_product)

    def _repeated(
        self,
        build: ir.IRBuilder,
        count: Any,
        steps: Sequence[Any],
        places: Sequence[Any],
        sums: Sequence[Any],
        write: _Body,
    ) -> list[Any]:
        """Write a loop whose `places` move by `steps`. Return the sums after it.

        `write` writes its body, and returns the sums after a pass.
        """
        first, body, after = build.block, *(build.append_basic_block() for _ in range(2))
        build.cbranch(build.icmp_signed(">", count, WORD(0)), body, after)
        build.position_at_end(body)
        counters = [build.phi(WORD) for _ in (count, *places)]
        before = [build.phi(self._vector) for _ in sums]
        made = write(counters[1:], before)
        moved = [build.add(*pair) for pair in zip(counters, (WORD(1), *steps), strict=True)]
        last = build.block
        build.cbranch(build.icmp_signed("<", moved[0], count), body, after)
        starts = [WORD(0), *places, *sums]
        for phi, start, following in zip(
            [*counters, *before], starts, [*moved, *made], strict=True
        ):
            phi.add_incoming(start, first)
            phi.add_incoming(following, last)
        build.position_at_end(after)
        found = [build.phi(self._vector) for _ in sums]
        for phi, start, following in zip(found, sums, made, strict=True):
            phi.add_incoming(start, first)
            phi.add_incoming(following, last)
        return found

    def _prefetch(self, build: ir.IRBuilder, place: Any, vectors: int) -> None:
        """Ask for the lines of the cache in which so many vectors lie."""
        numbers = vectors * self.lanes
        for start in (*range(0, numbers, _LINE // self._align), numbers - 1):
            at = self.moved(build, place, WORD(start))
            operands = at, _READ, _CLOSEST, _DATA
            self._intrinsic(build, "prefetch", ir.VoidType(), *operands)

    def _mask(self, build: ir.IRBuilder, count: Any) -> Any:
        """Return which of the numbers of a vector are among the next `count`."""
        places = ir.Constant(ir.VectorType(WORD, self.lanes), list(range(self.lanes)))
        return build.icmp_signed("<", places, self._spread(build, count))

    def _spread(self, build: ir.IRBuilder, value: Any) -> Any:
        """Return a vector of equal numbers."""
        unknown = ir.Constant(ir.VectorType(value.type, self.lanes), ir.Undefined)
        zeros = ir.Constant(ir.VectorType(_INT32, self.lanes), [0] * self.lanes)
        first = build.insert_element(unknown, value, WORD(0))
        return build.shuffle_vector(first, unknown, zeros)

    def _multiplied(self, build: ir.IRBuilder, a: Any, b: Any, c: Any) -> Any:
        """Return `a * b + c`, which is rounded once if the processor can do so."""
        return self._intrinsic(build, "fmuladd", self._vector, a, b, c)

    def _load(self, build: ir.IRBuilder, place: Any, mask: Any) -> Any:
        if mask is None:
            return build.load(place, align=self._align, typ=self._vector)
        zeros = ir.Constant(self._vector, [0.0] * self.lanes)
        align = _INT32(self._align)
        return self._intrinsic(build, "masked.load", self._vector, place, align, mask, zeros)

    def _store(self, build: ir.IRBuilder, place: Any, value: Any, mask: Any) -> None:
        if mask is None:
            build.store(value, place, align=self._align)
        else:
            align = _INT32(self._align)
            self._intrinsic(build, "masked.store", ir.VoidType(), value, place, align, mask)

    def _intrinsic(self, build: ir.IRBuilder, name: str, result: ir.Type, *operands: Any) -> Any:
        if name == "prefetch":
            full = "llvm.prefetch.p0"
        else:
            pointer = ".p0" if name.startswith("masked") else ""
            full = f"llvm.{name}.{self._suffix}{pointer}"
        function = self._module.globals.get(full)
        if function is None:
            kinds = [operand.type for operand in operands]
            function = ir.Function(self._module, ir.FunctionType(result, kinds), full)
        return build.call(function, operands)
