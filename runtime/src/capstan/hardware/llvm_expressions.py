"""Expressions of a small part of Python as instructions of LLVM (`llvm_python`)."""

import ast
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from llvmlite import ir

WORD, BYTE, TRUTH, POINTER = ir.IntType(64), ir.IntType(8), ir.IntType(1), ir.PointerType()
FLOATS = {4: ir.FloatType(), 8: ir.DoubleType()}
HEAD = object.__basicsize__
"""The bytes of an array object before its first member, the address of its elements."""
SIZES = 16
"""The address of the sizes follows that many bytes later (PyArrayObject in ndarraytypes.h)."""

Kind = Any
"""The kind of an argument: a dtype for an array, a tuple of one dtype for a list of arrays, or
`int`."""


class NotCompilable(Exception):
    """A function uses more than the part of Python that this module knows."""


@dataclass(frozen=True, slots=True)
class ArrayValue:
    """An array: the addresses of its object and of its elements."""

    dtype: Kind
    place: Any
    elements: Any


def array_value(build: ir.IRBuilder, dtype: Kind, place: Any) -> ArrayValue:
    return ArrayValue(dtype, place, elements(build, place))


def elements(build: ir.IRBuilder, place: Any) -> Any:
    """Return the address of the elements of the array object at `place`."""
    return member(build, place, HEAD, POINTER)


def member(build: ir.IRBuilder, place: Any, offset: int, kind: ir.Type) -> Any:
    at = build.gep(place, [WORD(offset)], source_etype=BYTE)
    return build.load(at, typ=kind)


class Expressions:
    """Writes the expressions of one function. Names are slots on the stack."""

    def __init__(
        self, write_call: Callable[..., Any], made: ir.Function, function: Callable[..., Any]
    ) -> None:
        """`write_call` writes a call of another function of Python."""
        self._write_call, self._made, self._function = write_call, made, function
        self._head = ir.IRBuilder(made.append_basic_block("head"))
        self._build = ir.IRBuilder(made.append_basic_block("body"))
        self._names: dict[str, Any] = {}

    def _slot(self, kind: ir.Type) -> Any:
        return self._head.alloca(kind)

    def _as(self, value: Any, kind: ir.Type) -> Any:
        if value.type == kind:
            return value
        if value.type == TRUTH:
            value = self._build.zext(value, WORD)
            return self._as(value, kind)
        if value.type == WORD and kind in FLOATS.values():
            return self._build.sitofp(value, kind)
        raise NotCompilable(f"a value of another kind in {self._function.__name__}")

    def _element(self, array: ArrayValue, index: Any) -> tuple[Any, ir.Type]:
        """Return the address and the type of an element."""
        dtype = array.dtype
        kind = FLOATS[dtype.itemsize] if dtype.kind == "f" else ir.IntType(8 * dtype.itemsize)
        return self._build.gep(array.elements, [index], source_etype=kind), kind

    def _truth(self, value: Any) -> Any:
        if value.type == TRUTH:
            return value
        return self._build.icmp_signed("!=", value, WORD(0))

    def _value(self, node: ast.expr) -> Any:
        match node:
            case ast.Constant(bool() | int() as number):
                return WORD(int(number) - (int(number) >> 63 << 64))
            case ast.Name(name):
                return self._read(name)
            case ast.BinOp(left, operator, right):
                return self._operate(operator, self._value(left), self._value(right))
            case ast.UnaryOp(ast.USub() | ast.Not() as operator, operand):
                return self._negated(operator, self._value(operand))
            case ast.Compare(left, [operator], [right]):
                return self._compare(operator, self._value(left), self._value(right))
            case ast.IfExp(test, body, orelse):
                return self._choose(self._truth(self._value(test)), body, orelse)
            case ast.BoolOp(operator, values):
                return self._either(isinstance(operator, ast.Or), values)
            case ast.Subscript(owner, index):
                return self._load(self._value(owner), self._value(index))
            case ast.Call(ast.Name(name), arguments):
                return self._called(name, [self._value(each) for each in arguments])
            case _:
                raise NotCompilable(ast.unparse(node))

    def _negated(self, operator: ast.unaryop, value: Any) -> Any:
        if isinstance(operator, ast.Not):
            return self._build.not_(self._truth(value))
        return self._operate(ast.Sub(), WORD(0), value)

    def _read(self, name: str) -> Any:
        if name not in self._names:
            value = self._function.__globals__.get(name)
            if not isinstance(value, int):
                raise NotCompilable(f"the name {name} in {self._function.__name__}")
            return WORD(value - (value >> 63 << 64))
        dtype, slots = self._names[name]
        found = [self._build.load(slot, typ=slot.allocated_type) for slot in slots]
        return found[0] if dtype is None else ArrayValue(dtype, *found)

    def _load(self, array: ArrayValue, index: Any) -> Any:
        if isinstance(array.dtype, tuple):
            place = self._build.gep(array.elements, [index], source_etype=POINTER)
            return array_value(self._build, array.dtype[0], self._build.load(place, typ=POINTER))
        place, kind = self._element(array, index)
        value = self._build.load(place, typ=kind, align=1)
        if kind in FLOATS.values() or kind == WORD:
            return value
        is_signed = array.dtype.kind == "i"
        return self._build.sext(value, WORD) if is_signed else self._build.zext(value, WORD)

    def _called(self, name: str, arguments: Sequence[Any]) -> Any:
        if name == "len":
            (array,) = arguments
            sizes = member(self._build, array.place, HEAD + SIZES, POINTER)
            return self._build.load(sizes, typ=WORD)
        if name == "word":
            array, at = arguments
            place = self._build.gep(array.elements, [at], source_etype=BYTE)
            return self._build.load(place, typ=WORD, align=1)
        if name in _EXTREMES:
            left, right = arguments
            return self._build.select(self._compare(_EXTREMES[name], right, left), right, left)
        function = self._function.__globals__[name]
        return self._write_call(self._build, function, arguments)

    def _operate(self, operator: ast.operator, left: Any, right: Any) -> Any:
        kinds = {left.type, right.type}
        floats = [kind for kind in (left.type, right.type) if kind in FLOATS.values()]
        kind = floats[0] if floats else WORD
        if len(kinds) > 1 and len(floats) > 1:
            raise NotCompilable(f"numbers of two precisions in {self._function.__name__}")
        name = (_OF_FLOATS if floats else _OF_WORDS).get(type(operator))
        if name is None:
            raise NotCompilable(f"{type(operator).__name__} in {self._function.__name__}")
        return getattr(self._build, name)(self._as(left, kind), self._as(right, kind))

    def _compare(self, operator: ast.cmpop, left: Any, right: Any) -> Any:
        sign = _SIGNS[type(operator)]
        floats = [each.type for each in (left, right) if each.type in FLOATS.values()]
        kind = floats[0] if floats else WORD
        compare = self._build.fcmp_ordered if floats else self._build.icmp_signed
        return compare(sign, self._as(left, kind), self._as(right, kind))

    def _choose(self, truth: Any, body: ast.expr, orelse: ast.expr) -> Any:
        """Write a choice without a branch: both values are computed."""
        values = [self._value(body), self._value(orelse)]
        kind = next((value.type for value in values if value.type in FLOATS.values()), WORD)
        return self._build.select(truth, *(self._as(value, kind) for value in values))

    def _either(self, is_or: bool, nodes: Sequence[ast.expr]) -> Any:
        """Write `and` or `or`, which skip the operands after the one that decides."""
        slot, end = self._slot(TRUTH), self._made.append_basic_block("decided")
        for node in nodes:
            value = self._truth(self._value(node))
            self._build.store(value, slot)
            if node is nodes[-1]:
                self._build.branch(end)
                break
            following = self._made.append_basic_block("undecided")
            self._build.cbranch(value, *((end, following) if is_or else (following, end)))
            self._build = ir.IRBuilder(following)
        self._build = ir.IRBuilder(end)
        return self._build.load(slot, typ=TRUTH)


_OF_WORDS = {
    ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.FloorDiv: "udiv", ast.Mod: "urem",
    ast.BitAnd: "and_", ast.BitOr: "or_", ast.BitXor: "xor", ast.LShift: "shl", ast.RShift: "lshr",
}  # fmt: skip
_OF_FLOATS = {ast.Add: "fadd", ast.Sub: "fsub", ast.Mult: "fmul", ast.Div: "fdiv"}
_EXTREMES = {"min": ast.Lt(), "max": ast.Gt()}
_SIGNS = {
    ast.Eq: "==", ast.NotEq: "!=", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=",
}  # fmt: skip
