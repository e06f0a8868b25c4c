"""Replace `return`, `break` and `continue` inside of conditionals and loops by flags. Pure.

After this pass a function returns only in its last statement, and a loop ends only when its
condition is false. A `for` may have a condition too: its attribute `extra_test`.
"""

import ast
from dataclasses import dataclass

from capstan.api.autograph import build

RETURNED = "ag__returned"
"""The variable that has the result of a function which returns in several places."""
_DONE = "ag__done"


@dataclass(frozen=True, slots=True)
class _Loop:
    broken: str = ""
    skipped: str = ""


def lower(function: ast.FunctionDef) -> None:
    """Change the function in place."""
    _move_assigning_tests(function.body)
    body = function.body
    returns = _count(body, ast.Return)
    is_plain = returns == 0 or (returns == 1 and isinstance(body[-1], ast.Return))
    lowering = _Lowering(keeps_return=is_plain)
    lowered, _ = lowering.block(_nested(body), _Loop())
    if is_plain:
        function.body = lowered
        return
    start = build.statements(
        f"{_DONE} = False\n{RETURNED} = ag__.Undefined({RETURNED!r})", function
    )
    end = build.statements(f"return ag__.result({RETURNED})", body[-1])
    function.body = [*start, *lowered, *end]


def _move_assigning_tests(body: list[ast.stmt]) -> None:
    """Move the conditions of loops that assign variables into the bodies of the loops.

    The condition of a loop over tensors cannot change a variable.
    """
    for node in _statements(body):
        if not isinstance(node, ast.While) or node.orelse:
            continue
        if any(isinstance(each, ast.NamedExpr) for each in ast.walk(node.test)):
            stop = build.statements("if not TEST:\n  break", node, TEST=node.test)
            node.body = [*stop, *node.body]
            node.test = ast.copy_location(ast.Constant(True), node)


def _count(body: list[ast.stmt], kind: type[ast.stmt]) -> int:
    return sum(isinstance(node, kind) for node in _statements(body))


def _statements(body: list[ast.stmt]) -> list[ast.stmt]:
    """Return all statements of a block and of its inner blocks, but not of inner functions."""
    found: list[ast.stmt] = []
    for node in body:
        found.append(node)
        for block in _blocks(node):
            found += _statements(block)
    return found


def _blocks(node: ast.stmt) -> list[list[ast.stmt]]:
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return []
    found = [getattr(node, name, []) for name in ("body", "orelse", "finalbody")]
    parts = (*getattr(node, "handlers", ()), *getattr(node, "cases", ()))
    found += [each.body for each in parts]
    return [block for block in found if block]


def _nested(block: list[ast.stmt]) -> list[ast.stmt]:
    """Return the block with the statements after a conditional that jumps in its other branch."""
    for place, node in enumerate(block):
        if isinstance(node, ast.If):
            rest = block[place + 1 :]
            if rest and _jumps(node.body):
                node.orelse = [*node.orelse, *rest]
                block = block[: place + 1]
            elif rest and node.orelse and _jumps(node.orelse):
                node.body = [*node.body, *rest]
                block = block[: place + 1]
            node.body, node.orelse = _nested(node.body), _nested(node.orelse)
            if len(block) == place + 1:
                return block
        elif not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            for name in ("body", "orelse", "finalbody"):
                if getattr(node, name, None):
                    setattr(node, name, _nested(getattr(node, name)))
            for each in (*getattr(node, "handlers", ()), *getattr(node, "cases", ())):
                each.body = _nested(each.body)
    return block


def _jumps(block: list[ast.stmt]) -> bool:
    """Return whether no statement after the block runs."""
    if not block:
        return False
    last = block[-1]
    if isinstance(last, ast.If):
        return _jumps(last.body) and _jumps(last.orelse)
    return isinstance(last, ast.Return | ast.Break | ast.Continue)


class _Lowering:
    def __init__(self, *, keeps_return: bool) -> None:
        self._keeps_return = keeps_return
        self._loops = 0

    def block(self, block: list[ast.stmt], loop: _Loop) -> tuple[list[ast.stmt], set[str]]:
        """Return the block without jumps, and the flags that its statements may set."""
        made: list[ast.stmt] = []
        flags: set[str] = set()
        for place, node in enumerate(block):
            statements, added = self._statement(node, loop)
            made += statements
            flags |= added
            rest = block[place + 1 :]
            if added and rest:
                inner, more = self.block(rest, loop)
                guard = build.statements(f"if {_none_of(added)}:\n  BODY", rest[0], BODY=inner)
                return made + guard, flags | more
        return made, flags

    def _statement(self, node: ast.stmt, loop: _Loop) -> tuple[list[ast.stmt], set[str]]:
        match node:
            case ast.Return() if not self._keeps_return:
                value = node.value or ast.copy_location(ast.Constant(None), node)
                text = f"{RETURNED} = VALUE\n{_DONE} = True"
                return build.statements(text, node, VALUE=value), {_DONE}
            case ast.Break():
                return build.statements(f"{loop.broken} = True", node), {loop.broken}
            case ast.Continue():
                return build.statements(f"{loop.skipped} = True", node), {loop.skipped}
            case ast.While() | ast.For():
                return self._loop(node, loop)
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                return [node], set()
            case _:
                return [node], self._inner(node, loop)

    def _inner(self, node: ast.stmt, loop: _Loop) -> set[str]:
        """Lower the blocks of a statement, and return the flags that they may set."""
        flags: set[str] = set()
        for name in ("body", "orelse", "finalbody"):
            if isinstance(getattr(node, name, None), list):
                lowered, added = self.block(getattr(node, name), loop)
                if name == "orelse" and isinstance(node, ast.Try) and flags and lowered:
                    text = f"if {_none_of(flags)}:\n  BODY"
                    lowered = build.statements(text, lowered[0], BODY=lowered)
                setattr(node, name, lowered)
                flags |= added
        for each in (*getattr(node, "handlers", ()), *getattr(node, "cases", ())):
            each.body, added = self.block(each.body, loop)
            flags |= added
        return flags

    def _loop(self, node: ast.While | ast.For, outer: _Loop) -> tuple[list[ast.stmt], set[str]]:
        self._loops += 1
        inner = _Loop(f"ag__break_{self._loops}", f"ag__continue_{self._loops}")
        node.body, flags = self.block(node.body, inner)
        before: list[ast.stmt] = []
        if inner.skipped in flags:
            node.body = [*build.statements(f"{inner.skipped} = False", node), *node.body]
        if inner.broken in flags:
            before = build.statements(f"{inner.broken} = False", node)
        ending = flags - {inner.skipped}
        if ending:
            test = _none_of(ending)
            if isinstance(node, ast.While):
                node.test = build.expression(f"{test} and TEST", node, TEST=node.test)
            else:
                node.extra_test = build.expression(test, node)  # type: ignore[attr-defined]
        after, node.orelse = node.orelse, []
        outside = flags & {_DONE}
        made = [*before, node]
        if after:
            lowered, added = self.block(after, outer)
            if ending:
                text = f"if {_none_of(ending)}:\n  BODY"
                lowered = build.statements(text, after[0], BODY=lowered)
            made += lowered
            outside |= added
        return made, outside


def _none_of(flags: set[str]) -> str:
    return " and ".join(f"not {flag}" for flag in sorted(flags))
