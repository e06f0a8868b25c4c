"""Compiles functions of a small part of Python for the processor, such as loops over bytes.

A function computes with arrays and 64-bit integers. All names are local, and each keeps the kind of
its first value:

* An array of numbers has `x[i]`, and `len(x)`, its first size. A list of arrays has `x[k]`.
* Integers wrap around. `//`, `%` and `>>` take them as unsigned, comparisons as signed. A number of
  an array becomes such an integer when it is read, and loses its upper bits when it is written.
* Floating-point numbers have the precision of their arrays. An integer beside one is converted.
* The statements are assignments, `if`, `while`, `for` over `range`, `continue`, `break` and
  `return`. A function may call others, and may return several integers.
* `x if test else y` computes both `x` and `y`. `min` and `max` take two numbers of one kind.

`core.words.word` is one instruction.
"""

import ast
import inspect
import textwrap
from collections.abc import Callable, Sequence
from typing import Any

from llvmlite import ir

from capstan.hardware import llvm_crew, llvm_expressions
from capstan.hardware.llvm_expressions import (
    FLOATS,
    POINTER,
    TRUTH,
    WORD,
    ArrayValue,
    Kind,
    NotCompilable,
)

NAME, OF_ROW = "capstan_call", "capstan_call_of_row"
"""The names of a function, and of the one that takes its arguments as a row (`llvm_crew`)."""


def write(function: Callable[..., Any], kinds: Sequence[Kind]) -> str:
    """Return the text of a module of LLVM with the function, which is called `NAME` there.

    It takes the addresses of array objects, and integers. A list of arrays is an array of the
    addresses of array objects. The arrays are in C order.

    Raises:
        NotCompilable: the function is not in the part of Python that can be compiled.
    """
    module = ir.Module(NAME)
    signature = ir.FunctionType(WORD, [WORD if kind is int else POINTER for kind in kinds])
    made = ir.Function(module, signature, NAME)
    build = ir.IRBuilder(made.append_basic_block("begin"))
    arguments = [
        argument if kind is int else llvm_expressions.array_value(build, kind, argument)
        for kind, argument in zip(kinds, made.args, strict=True)
    ]
    build.ret(_Functions(module).call(build, function, arguments))
    llvm_crew.write_row_function(module, made, OF_ROW)
    return str(module)


class _Functions:
    """The functions of a module, each written once for arguments of the same kinds."""

    def __init__(self, module: ir.Module) -> None:
        self._module = module
        self._made: dict[Any, ir.Function] = {}

    def call(self, build: ir.IRBuilder, function: Callable[..., Any], given: Sequence[Any]) -> Any:
        """Write a call, and return its result: an integer, or a tuple of integers."""
        kinds = tuple(each.dtype if isinstance(each, ArrayValue) else each.type for each in given)
        made = self._made.get((function, kinds)) or self._write(function, kinds)
        passed: list[Any] = []
        for each in given:
            passed += (each.place, each.elements) if isinstance(each, ArrayValue) else (each,)
        found = build.call(made, passed)
        if found.type == WORD:
            return found
        return tuple(build.extract_value(found, at) for at in range(len(found.type.elements)))

    def _write(self, function: Callable[..., Any], kinds: Sequence[Any]) -> ir.Function:
        tree = ast.parse(textwrap.dedent(inspect.getsource(function))).body[0]
        assert isinstance(tree, ast.FunctionDef)
        counts = {
            len(node.value.elts) if isinstance(node.value, ast.Tuple) else 1
            for node in ast.walk(tree)
            if isinstance(node, ast.Return)
        }
        if len(counts) != 1:
            raise NotCompilable(f"the results of {function.__name__}")
        count = counts.pop()
        types: list[ir.Type] = []
        for kind in kinds:
            types += (kind,) if isinstance(kind, ir.Type) else (POINTER, POINTER)
        result = WORD if count == 1 else ir.LiteralStructType([WORD] * count)
        name = self._module.get_unique_name(function.__name__)
        made = ir.Function(self._module, ir.FunctionType(result, types), name)
        made.linkage = "internal"
        self._made[function, tuple(kinds)] = made
        _Function(self, made, function).write(tree, kinds)
        return made


class _Function(llvm_expressions.Expressions):
    """Writes one function."""

    def __init__(
        self, functions: _Functions, made: ir.Function, function: Callable[..., Any]
    ) -> None:
        super().__init__(functions.call, made, function)
        self._loops: list[tuple[ir.Block, ir.Block]] = []

    def write(self, tree: ast.FunctionDef, kinds: Sequence[Any]) -> None:
        first, passed = self._build.block, iter(self._made.args)
        for argument, kind in zip(tree.args.args, kinds, strict=True):
            is_array = not isinstance(kind, ir.Type)
            value = ArrayValue(kind, next(passed), next(passed)) if is_array else next(passed)
            self._assign(argument.arg, value)
        self._body(tree.body)
        if not self._build.block.is_terminated:
            self._build.unreachable()
        self._head.branch(first)

    def _assign(self, name: str, value: Any) -> None:
        if isinstance(value, ArrayValue):
            places = value.place, value.elements
            slots = self._names.setdefault(
                name, (value.dtype, [self._slot(POINTER) for _ in places])
            )
            for slot, place in zip(slots[1], places, strict=True):
                self._build.store(place, slot)
            return
        if value.type == TRUTH:
            value = self._build.zext(value, WORD)
        slot = self._names.setdefault(name, (None, [self._slot(value.type)]))
        kind = slot[1][0].allocated_type
        self._build.store(self._as(value, kind), slot[1][0])

    def _body(self, statements: Sequence[ast.stmt]) -> None:
        for statement in statements:
            if self._build.block.is_terminated:
                return
            self._statement(statement)

    def _statement(self, node: ast.stmt) -> None:
        match node:
            case ast.Expr(ast.Constant()) | ast.Pass():
                pass
            case ast.Expr(ast.Call() as call):
                self._value(call)
            case ast.Assign([target], value):
                self._store(target, self._value(value))
            case ast.AugAssign(target, operator, value):
                left = self._value(target)
                self._store(target, self._operate(operator, left, self._value(value)))
            case ast.If(test, body, orelse):
                self._if(test, body, orelse)
            case ast.While(test, body, []):
                self._while(lambda: self._truth(self._value(test)), body)
            case ast.For(ast.Name(name), ast.Call(ast.Name("range"), limits), body, []):
                self._for(name, [self._value(limit) for limit in limits], body)
            case ast.Continue() | ast.Break():
                self._build.branch(self._loops[-1][isinstance(node, ast.Break)])
            case ast.Return(ast.expr() as value):
                self._return(value)
            case _:
                raise NotCompilable(ast.unparse(node))

    def _return(self, value: ast.expr) -> None:
        nodes = value.elts if isinstance(value, ast.Tuple) else [value]
        found = [self._as(self._value(node), WORD) for node in nodes]
        result = found[0]
        if len(found) > 1:
            result = ir.Constant(self._made.function_type.return_type, ir.Undefined)
            for at, each in enumerate(found):
                result = self._build.insert_value(result, each, at)
        self._build.ret(result)

    def _store(self, target: ast.expr, value: Any) -> None:
        match target:
            case ast.Name(name):
                self._assign(name, value)
            case ast.Tuple(targets):
                for each, part in zip(targets, value, strict=True):
                    self._store(each, part)
            case ast.Subscript(owner, index):
                array = self._value(owner)
                place, kind = self._element(array, self._value(index))
                if kind in FLOATS.values():
                    value = self._as(value, kind)
                else:
                    value = self._as(value, WORD)
                    value = self._build.trunc(value, kind) if kind.width < 64 else value
                self._build.store(value, place, align=1)
            case _:
                raise NotCompilable(ast.unparse(target))

    def _if(self, test: ast.expr, body: Sequence[ast.stmt], other: Sequence[ast.stmt]) -> None:
        yes, no, after = (self._made.append_basic_block(name) for name in ("yes", "no", "after"))
        chosen = self._truth(self._value(test))
        self._build.cbranch(chosen, yes, no)
        for block, statements in ((yes, body), (no, other)):
            self._build = ir.IRBuilder(block)
            self._body(statements)
            if not self._build.block.is_terminated:
                self._build.branch(after)
        self._build = ir.IRBuilder(after)

    def _while(
        self,
        test: Callable[[], Any],
        body: Sequence[ast.stmt],
        step: Callable[[], None] | None = None,
    ) -> None:
        names = ("test", "body", "next", "end")
        head, inside, following, end = (self._made.append_basic_block(name) for name in names)
        self._build.branch(head)
        self._build = ir.IRBuilder(head)
        goes_on = test()
        self._build.cbranch(goes_on, inside, end)
        self._build = ir.IRBuilder(inside)
        self._loops.append((following, end))
        self._body(body)
        self._loops.pop()
        if not self._build.block.is_terminated:
            self._build.branch(following)
        self._build = ir.IRBuilder(following)
        if step is not None:
            step()
        self._build.branch(head)
        self._build = ir.IRBuilder(end)

    def _for(self, name: str, limits: Sequence[Any], body: Sequence[ast.stmt]) -> None:
        start, stop = (WORD(0), limits[0]) if len(limits) == 1 else limits[:2]
        step = limits[2] if len(limits) > 2 else WORD(1)
        counter = self._slot(WORD)
        self._build.store(start, counter)

        def test() -> Any:
            at = self._build.load(counter, typ=WORD)
            self._assign(name, at)
            return self._build.icmp_signed("<", at, stop)

        def advance() -> None:
            at = self._build.load(counter, typ=WORD)
            self._build.store(self._build.add(at, step), counter)

        self._while(test, body, advance)
