"""Convert a Python function into one whose control flow also works on tensors.

The passes, in order: `source` finds the syntax tree, `plain` takes out what blocks that become
functions cannot have, `directives` takes out options of loops,
`jumps` replaces jumps by flags, `expressions` replaces operators and calls, and `control` replaces
conditionals and loops. All lines of the new function are those of the file, so errors show them.
"""

import __future__

import ast
import functools
import types
from collections.abc import Callable
from typing import Any

from capstan.api.autograph import build, control, directives, expressions, jumps, plain, source

OPERATORS = "ag__"
"""The name under which a converted function knows the operators."""
_NAME = "ag__function"
_FUTURE = __future__.annotations.compiler_flag
"""The choices of a file, by `from __future__ import`, that change how its functions compile."""


def converted(function: Any, operators: Any) -> Callable[..., Any]:
    """Return a copy of a Python function, which calls `operators` for its control flow.

    Raises:
        OSError: the source of the function is not available.
        ValueError: the function cannot be converted.
    """
    made = code(function)
    cells = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))
    cells[OPERATORS] = types.CellType(operators)
    copy = types.FunctionType(
        made,
        function.__globals__,
        function.__name__,
        function.__defaults__,
        tuple(cells[name] for name in made.co_freevars),
    )
    copy.__kwdefaults__ = function.__kwdefaults__
    copy.__qualname__, copy.__doc__ = function.__qualname__, function.__doc__
    copy.__module__ = function.__module__
    return operators.artifact(copy)  # type: ignore[no-any-return]


def code(function: Any) -> types.CodeType:
    """Return the code of the converted function."""
    original = function.__code__
    return _code(original, original.co_filename)


@functools.lru_cache(maxsize=1024)
def _code(original: types.CodeType, filename: str) -> types.CodeType:
    factory = _factory(original)
    module = ast.Module([factory], [])
    future = original.co_flags & _FUTURE
    compiled = compile(module, filename, "exec", flags=future, dont_inherit=True)
    outer = next(each for each in compiled.co_consts if isinstance(each, types.CodeType))
    inner = next(
        each
        for each in outer.co_consts
        if isinstance(each, types.CodeType) and each.co_name == _NAME
    )
    return inner.replace(co_name=original.co_name)


def _factory(original: types.CodeType) -> ast.FunctionDef:
    """Return a function whose parameters are the free variables of the converted function."""
    tree = source.definition(original)
    convert(tree)
    tree.name = _NAME  # else a function that calls itself would not find its global name
    free = ", ".join((OPERATORS, *original.co_freevars))
    text = f"def ag__factory({free}):\n    FUNCTION\n    return {_NAME}"
    (factory,) = build.statements(text, tree, FUNCTION=[tree])
    assert isinstance(factory, ast.FunctionDef)
    ast.fix_missing_locations(factory)
    return factory


def text(function: Any) -> str:
    """Return the source of the converted function."""
    tree = source.definition(function.__code__)
    convert(tree)
    tree.name = function.__name__.replace("<lambda>", "tf__lambda")
    return ast.unparse(ast.fix_missing_locations(tree))


def convert(function: ast.FunctionDef) -> None:
    """Change a function, and the functions in it, in place."""
    for inner in _inner(function.body):
        if not _yields(inner):
            convert(inner)
            mark = build.expression(f"{OPERATORS}.artifact", inner)
            inner.decorator_list = [*inner.decorator_list, mark]
    plain.prepare(function)
    directives.take(function)
    jumps.lower(function)
    expressions.convert(function)
    control.convert(function)


def _inner(block: list[ast.stmt]) -> list[ast.FunctionDef]:
    """Return the functions that a block defines, but not those in other functions or classes."""
    found: list[ast.FunctionDef] = []
    for node in block:
        if isinstance(node, ast.FunctionDef):
            found.append(node)
        elif not isinstance(node, ast.AsyncFunctionDef | ast.ClassDef):
            for child in ast.iter_child_nodes(node):
                if isinstance(child, ast.stmt):
                    found += _inner([child])
                elif isinstance(child, ast.ExceptHandler | ast.match_case):
                    found += _inner(child.body)
    return found


def _yields(function: ast.FunctionDef) -> bool:
    nodes: list[ast.AST] = list(function.body)
    while nodes:
        node = nodes.pop()
        if isinstance(node, ast.Yield | ast.YieldFrom | ast.Await):
            return True
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            nodes += ast.iter_child_nodes(node)
    return False
