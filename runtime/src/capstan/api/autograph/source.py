"""The syntax tree of a Python function: of a `def`, a lambda or a method."""

import ast
import functools
import inspect
import linecache
from types import CodeType
from typing import Any

Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
_Owned = tuple[Definition, str]
"""A definition, and the name of the class around it, or an empty text."""


def definition(code: CodeType) -> ast.FunctionDef:
    """Return a copy of the definition of a function. Its lines are those of the file.

    A lambda becomes a `def`. The copy has neither decorators nor annotations. Defaults are left
    out, because they are values that the function object has. Private names of a class have their
    full form, as in a class.

    Raises:
        OSError: the source is not available.
        ValueError: the function is a generator or a coroutine.
    """
    generators = inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR
    if code.co_flags & generators:
        raise ValueError("generators and coroutines are not converted")
    found, owner = _find(code)
    made = _without_evaluated(found)
    if owner.strip("_"):
        _Mangle(owner).generic_visit(made)
    return made


def _find(code: CodeType) -> _Owned:
    """Return the definition of a function, and the class around it."""
    lines = linecache.getlines(code.co_filename)
    if not lines:
        raise OSError("could not get source code")
    is_lambda = code.co_name == "<lambda>"
    parts = []
    for node, owner in _parsed("".join(lines)):
        if isinstance(node, ast.Lambda) != is_lambda:
            continue
        first = node.lineno
        if not isinstance(node, ast.Lambda):
            if node.name != code.co_name:
                continue
            first = min([first, *(decorator.lineno for decorator in node.decorator_list)])
        if first == code.co_firstlineno:
            parts.append((node, owner))
    if len(parts) > 1:
        # Of functions in functions, the innermost that has all instructions.
        parts = [each for each in parts if _is_at(each[0], code)][-1:]
    if not parts:
        raise OSError("could not get source code")
    return parts[0]


@functools.lru_cache(maxsize=64)
def _parsed(text: str) -> list[_Owned]:
    """Return all definitions of a file. One that is in another comes after it."""
    found: list[_Owned] = []
    nodes: list[tuple[ast.AST, str]] = [(ast.parse(text), "")]
    for node, owner in nodes:  # the loop adds nodes
        if isinstance(node, Definition):
            found.append((node, owner))
        inner = node.name if isinstance(node, ast.ClassDef) else owner
        nodes += [(child, inner) for child in ast.iter_child_nodes(node)]
    return found


def _is_at(node: Definition, code: CodeType) -> bool:
    """Return whether the instructions of `code` come from the lines and columns of `node`."""
    body = node.body if isinstance(node.body, ast.expr) else node.body[0]
    places = [
        (line, column)
        for line, _, column, _ in code.co_positions()
        if line is not None and column is not None and (line, column) != (code.co_firstlineno, 0)
    ]
    start = body.lineno, body.col_offset
    end = node.end_lineno, node.end_col_offset
    return bool(places) and all(start <= place < end for place in places)


def _without_evaluated(node: Definition) -> ast.FunctionDef:
    """Return a copy without the parts that Python evaluates when it defines the function."""
    copy = _copied(node)
    arguments = copy.args
    arguments.defaults = []
    arguments.kw_defaults = [None] * len(arguments.kwonlyargs)
    for each in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs):
        each.annotation = None
    for each in (arguments.vararg, arguments.kwarg):
        if each is not None:
            each.annotation = None
    if isinstance(copy, ast.Lambda):
        returned = ast.copy_location(ast.Return(copy.body), copy.body)
        made = ast.FunctionDef("ag__lambda", arguments, [returned], [])
        return ast.fix_missing_locations(ast.copy_location(made, copy))
    assert isinstance(copy, ast.FunctionDef)
    copy.decorator_list, copy.returns = [], None
    return copy


def _copied(node: Any) -> Any:
    """Return a copy of a tree. `copy.deepcopy` takes much longer."""
    if isinstance(node, list):
        return [_copied(each) for each in node]
    if not isinstance(node, ast.AST):
        return node
    made = type(node)(**{name: _copied(value) for name, value in ast.iter_fields(node)})
    return ast.copy_location(made, node) if hasattr(node, "lineno") else made


class _Mangle(ast.NodeTransformer):
    """Gives the private names of a class their full form: `__x` is `_Owner__x`."""

    def __init__(self, owner: str) -> None:
        self._prefix = f"_{owner.lstrip('_')}"

    def generic_visit(self, node: ast.AST) -> ast.AST:
        for name in ("arg", "asname", "attr", "id", "name", "rest"):
            is_known = isinstance(getattr(node, name, None), str)
            if is_known and not isinstance(node, ast.keyword | ast.alias):
                setattr(node, name, self._full(getattr(node, name)))
        if isinstance(node, ast.Global | ast.Nonlocal):
            node.names = [self._full(name) for name in node.names]
        return super().generic_visit(node)

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        node.name = self._full(node.name)
        return node

    def _full(self, name: str) -> str:
        is_private = name.startswith("__") and not name.endswith("__")
        return self._prefix + name if is_private else name
