"""Replace conditionals and loops by calls of `ag__` with the blocks as functions. Pure.

    if x > 0:            def if_body():
        y = 1                nonlocal y
                             y = 1
                         ...
                         ag__.if_stmt(x > 0, if_body, else_body, get_state, set_state, ("y",), 1)

The functions read and assign the variables of the function around them. `get_state` and
`set_state` read and assign all symbols that a block assigns.
"""

import ast
from typing import Any

from capstan.api.autograph import build, symbols


def convert(function: ast.FunctionDef) -> None:
    """Change the function in place. It has no jumps."""
    converting = _Control(function)
    body = converting.block(function.body)
    own = symbols.parameters(function) | converting.global_names | converting.outer_names
    locals_ = sorted(name for name in converting.shared if name.isidentifier() and name not in own)
    start = [
        statement
        for name in locals_
        for statement in build.statements(f"{name} = ag__.Undefined({name!r})", function)
    ]
    # A declaration must stand before the first use of its names.
    place = 0
    while place < len(body) and (
        isinstance(body[place], ast.Global | ast.Nonlocal) or _is_text(body[place])
    ):
        place += 1
    function.body = [*body[:place], *start, *body[place:]]


def _is_text(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


class _Control:
    def __init__(self, function: ast.FunctionDef) -> None:
        self._live = symbols.Liveness.of(function)
        self.global_names = symbols.declared(function.body, (ast.Global,))
        self.outer_names = symbols.declared(function.body, (ast.Nonlocal,))
        self._local = symbols.parameters(function) | set(symbols.assigned(function.body))
        self._local -= self.global_names | self.outer_names
        self.shared: set[str] = set()
        """The symbols that blocks and the function around them share."""
        self._count = 0

    def block(self, block: list[ast.stmt]) -> list[ast.stmt]:
        return [made for node in block for made in self._statement(node)]

    def _statement(self, node: Any) -> list[ast.stmt]:
        match node:
            case ast.If():
                return self._if(node)
            case ast.While():
                return self._while(node)
            case ast.For():
                return self._for(node)
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                return [node]
            case _:
                return [self._inner(node)]

    def _inner(self, node: Any) -> ast.stmt:
        """Convert the blocks of a statement that is neither a conditional nor a loop."""
        for name in ("body", "orelse", "finalbody"):
            if isinstance(getattr(node, name, None), list):
                setattr(node, name, self.block(getattr(node, name)))
        for each in (*getattr(node, "handlers", ()), *getattr(node, "cases", ())):
            each.body = self.block(each.body)
        statement: ast.stmt = node
        return statement

    def _if(self, node: ast.If) -> list[ast.stmt]:
        names = self._assigned([*node.body, *node.orelse])
        live = self._live.after[node]
        outputs = [name for name in names if _is_live(name, live)]
        names = [*outputs, *(name for name in names if name not in outputs)]
        number = self._next(names)
        body, orelse = self.block(node.body), self.block(node.orelse)
        text = f"""
def ag__if_body_{number}():
    {self._declared(names)}
    BODY
def ag__else_body_{number}():
    {self._declared(names)}
    ELSE
{self._state(names, number)}
ag__.if_stmt(TEST, ag__if_body_{number}, ag__else_body_{number},
             ag__get_state_{number}, ag__set_state_{number},
             {build.text_tuple(names)}, {len(outputs)})
"""
        return build.statements(text, node, TEST=node.test, BODY=body, ELSE=orelse)

    def _while(self, node: ast.While) -> list[ast.stmt]:
        names = self._assigned([node.test, *node.body])
        names, carried = self._carried(node, names)
        number = self._next(names)
        text = f"""
def ag__loop_test_{number}():
    {self._declared(symbols.assigned([node.test]))}
    return TEST
def ag__loop_body_{number}():
    {self._declared(names)}
    BODY
{self._state(carried, number)}
ag__.while_stmt(ag__loop_test_{number}, ag__loop_body_{number},
                ag__get_state_{number}, ag__set_state_{number},
                {build.text_tuple(carried)}, OPTIONS)
"""
        body = self.block(node.body)
        return build.statements(text, node, TEST=node.test, BODY=body, OPTIONS=_options(node))

    def _for(self, node: ast.For) -> list[ast.stmt]:
        names = self._assigned([node.target, *node.body])
        names, carried = self._carried(node, names)
        number = self._next(names)
        extra = getattr(node, "extra_test", None)
        test = f"def ag__extra_test_{number}():\n    return TEST" if extra is not None else ""
        text = f"""
{test}
def ag__loop_body_{number}(ag__item):
    {self._declared(names)}
    TARGET = ag__item
    BODY
{self._state(carried, number)}
ag__.for_stmt(ITERATED, {f"ag__extra_test_{number}" if extra is not None else None},
              ag__loop_body_{number}, ag__get_state_{number}, ag__set_state_{number},
              {build.text_tuple(carried)}, OPTIONS)
"""
        return build.statements(
            text,
            node,
            TEST=extra,
            TARGET=node.target,
            BODY=self.block(node.body),
            ITERATED=node.iter,
            OPTIONS=_options(node),
        )

    def _assigned(self, nodes: list[Any]) -> list[str]:
        """Return the symbols that nodes assign, but no outer containers that only methods change.

        A list of a function around this one to which a block appends is often a log of the Python
        calls. The value of a variable that a node assigns includes the elements.
        """
        names = symbols.assigned(nodes)
        items = symbols.items_assigned(nodes)
        return [
            name
            for name in names
            if not name.endswith("[:]")
            or (name[:-3] not in names and (symbols.root(name) in self._local or name in items))
        ]

    def _carried(self, node: ast.stmt, names: list[str]) -> tuple[list[str], list[str]]:
        """Return the symbols of a loop, and those that an iteration passes on."""
        live = self._live.around[node]
        return names, [name for name in names if _is_live(name, live)]

    def _next(self, names: list[str]) -> int:
        self.shared.update(names)
        self._count += 1
        return self._count

    def _declared(self, names: list[str]) -> str:
        """Return the declarations of the names that a block shares."""
        plain = [name for name in names if name.isidentifier()]
        inner = [name for name in plain if name not in self.global_names]
        outer = [name for name in plain if name in self.global_names]
        lines = [f"nonlocal {', '.join(inner)}"] if inner else []
        lines += [f"global {', '.join(outer)}"] if outer else []
        return "; ".join(lines) or "pass"

    def _state(self, names: list[str], number: int) -> str:
        loads = "".join(f"{_loaded(name)}, " for name in names)
        stores = "; ".join(
            _stored(name, f"ag__values[{place}]") for place, name in enumerate(names)
        )
        return f"""
def ag__get_state_{number}():
    return ({loads})
def ag__set_state_{number}(ag__values):
    {self._declared(names)}
    {stores or "pass"}
"""


def _is_live(symbol: str, live: frozenset[str]) -> bool:
    """Return whether the value of a symbol may be needed later.

    An attribute or an element always may, because other variables can hold the object.
    """
    return not symbol.isidentifier() or symbol in live


def _loaded(symbol: str) -> str:
    if symbol.endswith("[:]"):
        return f"ag__.content({symbol[:-3]!r}, lambda: {symbol[:-3]})"
    return f"ag__.load({symbol!r}, lambda: {symbol})"


def _stored(symbol: str, value: str) -> str:
    if symbol.endswith("[:]"):
        return f"ag__.set_content(lambda: {symbol[:-3]}, {value})"
    owner, _, attribute = symbol.rpartition(".")
    if not owner:
        return f"{symbol} = {value}"
    return f"ag__.set_attribute({owner}, {attribute!r}, {value})"


def _options(node: ast.stmt) -> ast.expr:
    """Return the options of a loop, which `set_loop_options` in its body has given."""
    made = ast.Constant(None)
    options: ast.expr = getattr(node, "options", made)
    return ast.copy_location(options, node) if options is made else options
