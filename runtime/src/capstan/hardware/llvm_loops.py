"""The loop of an elementwise program (`core.elementwise`) as a module of LLVM.

The module has the function `loop`, which is the inner loop of a ufunc: it takes the places of the
arrays, the number of elements, and the distances between the elements of each array, in bytes. It
computes blocks of elements as vectors. Elements that are not neighbours, and the last elements, are
first copied to a block on the stack. The writer is told which inputs are usually a single number.
Functions that take only such numbers are computed once, before the loop.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
from llvmlite import ir

from capstan.core import elementwise
from capstan.hardware import llvm_functions, llvm_numbers

NAME = "capstan_loop"
"""The name of the function."""

_BYTE, _INDEX, _POINTER = ir.IntType(8), ir.IntType(64), ir.PointerType()
_TRUTH = ir.IntType(1)


def is_supported(program: elementwise.Program) -> bool:
    """Return whether `write` has all functions and dtypes of a program."""
    dtypes = {*program.input_dtypes, *(call.dtype for call in program.calls)}
    return (
        program.dtype in llvm_numbers.DTYPES
        and dtypes <= {program.dtype, np.dtype(np.bool_)}
        and all(call.function in llvm_functions.NAMES for call in program.calls)
    )


def write(program: elementwise.Program, numbers: Sequence[bool], size: int) -> str:
    """Return the text of the module of a program.

    `numbers` says for each input whether it is usually a single number. The loop is correct, and
    slower, for other arrays. `size` is the number of bytes of a vector.
    """
    module = ir.Module(NAME)
    lanes = size // program.dtype.itemsize
    block = Block(module, program, numbers, lanes).write()
    _Loop(module, program, numbers, lanes, block).write()
    return str(module)


class Block:
    """Writes the function that computes some blocks of neighbours.

    It takes the addresses of a table of the arrays, and the number of blocks.
    """

    def __init__(
        self, module: ir.Module, program: elementwise.Program, numbers: Sequence[bool], lanes: int
    ) -> None:
        self._program, self._numbers, self._lanes = program, numbers, lanes
        signature = ir.FunctionType(ir.VoidType(), [_POINTER, _INDEX])
        self._function = ir.Function(module, signature, "block")
        self._function.linkage = "internal"
        self._function.attributes.add("noinline")
        self._before = ir.IRBuilder(self._function.append_basic_block("before"))
        self._loop = ir.IRBuilder(self._function.append_basic_block("loop"))
        self._values: list[llvm_numbers.Value] = []
        self._is_number: list[bool] = []

    def write(self) -> ir.Function:
        program, before, loop = self._program, self._before, self._loop
        table, count = self._function.args
        dtypes = [*program.input_dtypes, *program.result_dtypes]
        places = [
            before.load(before.gep(table, [_INDEX(index)], source_etype=_POINTER), typ=_POINTER)
            for index in range(len(dtypes))
        ]
        position = loop.phi(_INDEX)
        for index, dtype in enumerate(program.input_dtypes):
            self._take(places[index], dtype, position, self._numbers[index])
        for call in program.calls:
            self._call(call)
        for place, dtype, register in zip(
            places[program.inputs :], program.result_dtypes, program.results, strict=True
        ):
            self._store(place, dtype, position, self._vector(register))
        following = loop.add(position, _INDEX(1))
        position.add_incoming(_INDEX(0), before.block)
        position.add_incoming(following, loop.block)
        before.branch(loop.block)
        end = self._function.append_basic_block("end")
        loop.cbranch(loop.icmp_signed("<", following, count), loop.block, end)
        ir.IRBuilder(end).ret_void()
        return self._function

    def _take(self, place: Any, dtype: np.dtype[Any], position: Any, is_number: bool) -> None:
        """Load an input into the next register."""
        kind = _memory(dtype)
        builder = self._before if is_number else self._loop
        if not is_number:
            kind = ir.VectorType(kind, self._lanes)
            place = builder.gep(place, [position], source_etype=kind)
        value = builder.load(place, align=dtype.itemsize, typ=kind)
        if dtype == np.bool_:
            value = builder.icmp_unsigned("!=", value, ir.Constant(kind, _zeros(kind)))
        self._put(value, is_number)

    def _call(self, call: elementwise.Call) -> None:
        """Write a call, before the loop if all of its operands are numbers."""
        registers = [each for each in call.operands if isinstance(each, int)]
        is_number = all(self._is_number[register] for register in registers)
        builder = self._before if is_number else self._loop
        functions = llvm_functions.Functions(builder, self._program.dtype)
        operands = [self._operand(each, functions, is_number) for each in call.operands]
        keeps_truths = call.function in ("where", "logical_and", "logical_or", "logical_not")
        if not keeps_truths:
            operands = [_numeric(each, functions) for each in operands]
        if call.function == "where":
            operands[1:] = [_numeric(each, functions) for each in operands[1:]]
        self._put(functions.call(call.function, operands), is_number)

    def _operand(self, operand: Any, functions: llvm_functions.Functions, is_number: bool) -> Any:
        if isinstance(operand, int):
            return self._values[operand] if is_number else self._vector(operand)
        kind = llvm_numbers.number_type(self._program.dtype)
        like = kind if is_number else ir.VectorType(kind, self._lanes)
        return functions.constant(operand, like)

    def _put(self, value: Any, is_number: bool) -> None:
        self._values.append(value)
        self._is_number.append(is_number)

    def _vector(self, register: int) -> Any:
        """Return the value of a register as a vector."""
        value = self._values[register]
        if not self._is_number[register]:
            return value
        kind = ir.VectorType(value.type, self._lanes)
        first = self._before.insert_element(ir.Constant(kind, ir.Undefined), value, _INDEX(0))
        mask = ir.Constant(ir.VectorType(ir.IntType(32), self._lanes), [0] * self._lanes)
        return self._before.shuffle_vector(first, ir.Constant(kind, ir.Undefined), mask)

    def _store(self, place: Any, dtype: np.dtype[Any], position: Any, value: Any) -> None:
        kind = ir.VectorType(_memory(dtype), self._lanes)
        if dtype == np.bool_:
            value = self._loop.zext(value, kind)
        self._loop.store(
            value, self._loop.gep(place, [position], source_etype=kind), align=dtype.itemsize
        )


class _Loop:
    """Writes the function of the ufunc, which passes blocks to the function of `Block`."""

    def __init__(
        self,
        module: ir.Module,
        program: elementwise.Program,
        numbers: Sequence[bool],
        lanes: int,
        block: ir.Function,
    ) -> None:
        self._dtypes = [*program.input_dtypes, *program.result_dtypes]
        self._numbers = [*numbers, *(False for _ in program.results)]
        self._inputs, self._lanes, self._block = program.inputs, lanes, block
        signature = ir.FunctionType(ir.VoidType(), [_POINTER] * 4)
        self._function = ir.Function(module, signature, NAME)
        self._builder = ir.IRBuilder(self._function.append_basic_block("begin"))
        self._copies = {size: _copy(module, size) for size in {d.itemsize for d in self._dtypes}}

    def write(self) -> None:
        build, lanes = self._builder, _INDEX(self._lanes)
        arguments, dimensions, distances, _ = self._function.args
        count = build.load(dimensions, typ=_INDEX)
        places = [_element(build, arguments, index, _POINTER) for index in self._each]
        steps = [_element(build, distances, index, _INDEX) for index in self._each]
        blocks = [build.alloca(ir.ArrayType(_memory(dtype), self._lanes)) for dtype in self._dtypes]
        table = build.alloca(_POINTER, size=_INDEX(len(blocks)))
        are_numbers, are_neighbours = self._patterns(steps)
        whole = build.select(
            build.and_(are_numbers, are_neighbours), build.sdiv(count, lanes), _INDEX(0)
        )
        with build.if_then(build.icmp_signed(">", whole, _INDEX(0))):
            self._compute(table, places, whole)
        most = build.select(are_numbers, lanes, _INDEX(1))
        first = build.mul(whole, lanes)
        with counting(build, first, count, most) as start:
            left = build.sub(count, start)
            size = build.select(build.icmp_signed("<", left, most), left, most)
            for index in range(self._inputs):
                source = self._moved(places[index], steps[index], start)
                self._copy(index, blocks[index], self._width(index), source, steps[index], size)
            self._compute(table, blocks, _INDEX(1))
            for index in range(self._inputs, len(self._dtypes)):
                target = self._moved(places[index], steps[index], start)
                self._copy(index, target, steps[index], blocks[index], self._width(index), size)
        build.ret_void()

    @property
    def _each(self) -> range:
        return range(len(self._dtypes))

    def _width(self, index: int) -> Any:
        return _INDEX(self._dtypes[index].itemsize)

    def _patterns(self, steps: Sequence[Any]) -> tuple[Any, Any]:
        """Return whether the numbers are numbers, and whether all other arrays are whole."""
        build = self._builder
        patterns = [_TRUTH(1), _TRUTH(1)]
        for index, step in enumerate(steps):
            is_number = self._numbers[index]
            wanted = _INDEX(0) if is_number else self._width(index)
            which = 0 if is_number else 1
            found = build.icmp_signed("==", step, wanted)
            patterns[which] = build.and_(patterns[which], found)
        return patterns[0], patterns[1]

    def _compute(self, table: Any, places: Sequence[Any], count: Any) -> None:
        build = self._builder
        for index, place in enumerate(places):
            build.store(place, build.gep(table, [_INDEX(index)], source_etype=_POINTER))
        build.call(self._block, [table, count])

    def _moved(self, place: Any, step: Any, count: Any) -> Any:
        build = self._builder
        return build.gep(place, [build.mul(step, count)], source_etype=_BYTE)

    def _copy(self, index: int, *arguments: Any) -> None:
        self._builder.call(self._copies[self._dtypes[index].itemsize], arguments)


def _copy(module: ir.Module, size: int) -> ir.Function:
    """Write the function that copies elements of `size` bytes.

    It takes the place and the distance of the elements of the target and of the source, and their
    number, which is not 0.
    """
    signature = ir.FunctionType(ir.VoidType(), [_POINTER, _INDEX, _POINTER, _INDEX, _INDEX])
    function = ir.Function(module, signature, f"copy{size}")
    function.linkage = "internal"
    target, target_step, source, source_step, count = function.args
    build = ir.IRBuilder(function.append_basic_block())
    with counting(build, _INDEX(0), count, _INDEX(1)) as index:
        start = build.gep(source, [build.mul(source_step, index)], source_etype=_BYTE)
        end = build.gep(target, [build.mul(target_step, index)], source_etype=_BYTE)
        build.store(build.load(start, align=size, typ=ir.IntType(8 * size)), end, align=size)
    build.ret_void()
    return function


@contextmanager
def counting(build: ir.IRBuilder, first: Any, end: Any, step: Any) -> Iterator[Any]:
    """Write a loop whose counter begins at `first`, and stays below `end`."""
    before = build.block
    body, after = build.append_basic_block(), build.append_basic_block()
    build.cbranch(build.icmp_signed("<", first, end), body, after)
    build.position_at_end(body)
    counter = build.phi(_INDEX)
    yield counter
    following = build.add(counter, step)
    counter.add_incoming(first, before)
    counter.add_incoming(following, build.block)
    build.cbranch(build.icmp_signed("<", following, end), body, after)
    build.position_at_end(after)


def _element(build: ir.IRBuilder, table: Any, index: int, kind: ir.Type) -> Any:
    return build.load(build.gep(table, [_INDEX(index)], source_etype=kind), typ=kind)


def _memory(dtype: np.dtype[Any]) -> ir.Type:
    """Return the type of the elements of an array."""
    return _BYTE if dtype == np.bool_ else llvm_numbers.number_type(dtype)


def _zeros(kind: ir.Type) -> Any:
    return [0] * kind.count if isinstance(kind, ir.VectorType) else 0


def _numeric(value: Any, functions: llvm_functions.Functions) -> Any:
    """Return an operand as a number. NumPy converts truth values, too."""
    kind = value.type.element if isinstance(value.type, ir.VectorType) else value.type
    return functions.number(value) if kind == _TRUTH else value
