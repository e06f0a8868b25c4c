"""Which names the statements of a function assign and read, and which of them are read later. Pure.

A symbol is a name, an attribute of a name such as `self.x`, or the elements of a container, such
as `d[:]` if a statement is `d[key] = value` or `d.append(value)`.
"""

import ast
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)
_CHANGES = frozenset(
    {
        *("append", "clear", "extend", "insert", "pop", "popitem", "remove", "reverse"),
        *("setdefault", "sort", "update"),
    }
)
"""The methods of lists and dictionaries that change them."""
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


def assigned(nodes: Iterable[ast.AST]) -> list[str]:
    """Return the symbols that statements assign, in order. Inner functions are left out."""
    return list(dict.fromkeys(name for node in nodes for name in _assigned(node)))


def _assigned(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        yield node.name
        return
    if isinstance(node, ast.Lambda):
        return
    if isinstance(node, _COMPREHENSIONS):
        yield from (
            each.target.id
            for each in ast.walk(node)
            if isinstance(each, ast.NamedExpr) and isinstance(each.target, ast.Name)
        )
        return
    yield from _own(node)
    for child in ast.iter_child_nodes(node):
        yield from _assigned(child)


def _own(node: ast.AST) -> list[str]:
    """Return the symbols that a node itself assigns, without its parts."""
    found: list[str | None] = []
    match node:
        case ast.Name(name, ast.Store() | ast.Del()):
            found = [name]
        case ast.Attribute(_, _, ast.Store()):
            found = [_dotted(node)]
        case ast.Subscript() | ast.Call():
            container = _changed(node)
            found = [f"{container}[:]" if container is not None else None]
        case ast.alias(name, asname):
            found = [(asname or name).partition(".")[0]]
        case ast.MatchMapping():
            found = [node.rest]
        case ast.ExceptHandler() | ast.MatchAs() | ast.MatchStar():
            found = [node.name]
        case _:
            pass
    return [name for name in found if name]


def _changed(node: ast.Subscript | ast.Call) -> str | None:
    """Return the text of the container that an assignment or a call changes, or None."""
    if isinstance(node, ast.Subscript):
        return None if isinstance(node.ctx, ast.Load) else _container(node.value)
    called = node.func
    if isinstance(called, ast.Attribute) and called.attr == "call" and node.args:
        called = node.args[0]  # `ag__.call(d.append, ...)`
    is_change = isinstance(called, ast.Attribute) and called.attr in _CHANGES
    return _container(called.value) if is_change else None  # type: ignore[attr-defined]


def _container(node: ast.expr) -> str | None:
    """Return the text of the container that holds an element, maybe in a container inside it.

    Only names and attributes are part of the text, because an index may change in a block.
    """
    return _container(node.value) if isinstance(node, ast.Subscript) else _dotted(node)


def root(symbol: str) -> str:
    """Return the variable to which a symbol belongs."""
    return symbol.partition(".")[0].partition("[")[0]


def _dotted(node: ast.expr) -> str | None:
    """Return the text of attributes of a name, or None for any other expression."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        start = _dotted(node.value)
        return None if start is None else f"{start}.{node.attr}"
    return None


def read(node: Any) -> set[str]:
    """Return the names that a node reads, also in inner functions, but not their own names."""
    if node is None:
        return set()
    if isinstance(node, list):
        return set().union(*map(read, node))
    if isinstance(node, ast.Name):
        return set() if isinstance(node.ctx, ast.Store) else {node.id}
    if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
        return {node.target.id} | read(node.value)
    if isinstance(node, ast.Lambda):
        return (read(node.body) - _parameters(node.args)) | read(_defaults(node.args))
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        own = _parameters(node.args) | set(assigned(node.body)) - declared(node.body)
        return (read(node.body) - own) | read(_defaults(node.args)) | read(node.decorator_list)
    if isinstance(node, _COMPREHENSIONS):
        targets = {name for each in node.generators for name in assigned([each.target])}
        inner = list(ast.iter_child_nodes(node))
        return read(inner) - targets
    return read(list(ast.iter_child_nodes(node)))


def _parameters(arguments: ast.arguments) -> set[str]:
    return {each.arg for each in ast.walk(arguments) if isinstance(each, ast.arg)}


def parameters(function: ast.FunctionDef) -> set[str]:
    """Return the names of the parameters of a function."""
    return _parameters(function.args)


def _defaults(arguments: ast.arguments) -> list[ast.expr]:
    return [*arguments.defaults, *(each for each in arguments.kw_defaults if each is not None)]


def declared(
    nodes: Sequence[ast.stmt], kind: tuple[type[ast.stmt], ...] = (ast.Global, ast.Nonlocal)
) -> set[str]:
    """Return the names that `global` and `nonlocal` declare, outside of inner functions."""
    found: set[str] = set()
    for node in nodes:
        if isinstance(node, kind):
            found.update(node.names)  # type: ignore[attr-defined]
        elif not isinstance(node, _SCOPES):
            inner = [each for each in ast.iter_child_nodes(node) if isinstance(each, ast.stmt)]
            found |= declared(inner, kind)
            for each in ast.iter_child_nodes(node):
                if isinstance(each, ast.ExceptHandler | ast.match_case):
                    found |= declared(each.body, kind)
    return found


@dataclass(slots=True)
class Liveness:
    """The names that are read later, for each conditional and each loop of one function.

    `after` has the names that are read after a statement. `around` has the names that are read
    after a loop, or by a later iteration of it.
    """

    after: dict[ast.stmt, frozenset[str]] = field(default_factory=dict)
    around: dict[ast.stmt, frozenset[str]] = field(default_factory=dict)
    _always: frozenset[str] = frozenset()
    _captured: dict[str, set[str]] = field(default_factory=dict)

    @classmethod
    def of(cls, function: ast.FunctionDef) -> "Liveness":
        """Analyse a function that leaves its loops only by their conditions."""
        found = cls(_always=frozenset(declared(function.body)))
        for node in ast.walk(function):
            if isinstance(node, ast.FunctionDef) and node is not function:
                found._captured[node.name] = read(node)
        found._block(function.body, found._always)
        return found

    def _block(self, block: Sequence[ast.stmt], live: frozenset[str]) -> frozenset[str]:
        for statement in reversed(block):
            live = self._before(statement, live) | self._always
        return live

    def _read(self, node: Any) -> frozenset[str]:
        names = read(node)
        for name in list(names):
            names |= self._captured.get(name, set())
        return frozenset(names)

    def _before(self, node: ast.stmt, live: frozenset[str]) -> frozenset[str]:
        """Return the names that are live before a statement, for those that are live after it."""
        self.after[node] = live
        match node:
            case ast.If():
                either = self._block(node.body, live) | self._block(node.orelse, live)
                return either | self._read(node.test)
            case ast.While() | ast.For():
                return self._loop(node, live)
            case ast.With():
                inner = self._block(node.body, live)
                targets = [item.optional_vars for item in node.items if item.optional_vars]
                return (inner - set(assigned(targets))) | self._read(list(node.items))
            case ast.Try() | ast.TryStar():
                # Any statement of the block may be the last one that runs.
                every = live | self._read(node)
                for block in (node.finalbody, node.orelse, node.body):
                    self._block(block, every)
                for handler in node.handlers:
                    self._block(handler.body, every)
                return every
            case ast.Match():
                inner = live.union(*(self._block(case.body, live) for case in node.cases))
                return inner | self._read(node)
            case _:
                return (live - set(assigned([node]))) | self._read(node)

    def _loop(self, node: ast.While | ast.For, live: frozenset[str]) -> frozenset[str]:
        is_for = isinstance(node, ast.For)
        targets = set(assigned([node.target])) if isinstance(node, ast.For) else set()
        test = getattr(node, "extra_test", None) if is_for else node.test  # type: ignore[union-attr]
        head = live | self._read(test)
        while True:
            again = head | (self._block(node.body, head) - targets)
            if again == head:
                break
            head = again
        self.around[node] = head
        return head | self._read(node.iter) if isinstance(node, ast.For) else head


def items_assigned(nodes: Iterable[ast.AST]) -> set[str]:
    """Return the containers, such as `d[:]`, to whose elements statements assign."""
    return {
        f"{_container(node.value)}[:]"
        for start in nodes
        for node in ast.walk(start)
        if isinstance(node, ast.Subscript) and not isinstance(node.ctx, ast.Load)
    }
