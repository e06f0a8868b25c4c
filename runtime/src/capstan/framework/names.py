"""Names of operations: which names are valid, and unique names within a graph."""

import re

_OP = re.compile(r"[A-Za-z0-9.][A-Za-z0-9_.\\\-/]*\Z")
_MARKS = ("^", "loc:@")
_INNER_SCOPE = re.compile(r"[A-Za-z0-9_.\\\-/]*\Z")


def text(name: str | bytes) -> str:
    """Return a name as a string. A caller may give a name as bytes in UTF-8."""
    return name.decode() if isinstance(name, bytes) else name


def check_op_name(name: str) -> None:
    """Raise ValueError unless `name` is a valid name of an operation."""
    if not _OP.match(name):
        raise ValueError(
            f"'{name}' is not a valid node name: names are made of letters, digits and _ . \\ - /, "
            "and do not start with _ \\ - or /"
        )


def check_scope_name(name: str, is_inner: bool) -> None:
    """Raise ValueError unless `name` is valid for a scope.

    The name of an inner scope may start with any character that is valid within a name.
    """
    if not (_INNER_SCOPE if is_inner else _OP).match(name):
        raise ValueError(f"'{name}' is not a valid scope name")


def within_scope(name: str, scope: str | None) -> str:
    """Return `name` with `scope` before it: an operation, a tensor, `^op` or `loc:@op`.

    >>> within_scope("^a", "s"), within_scope("loc:@a", "s/"), within_scope("a:0", None)
    ('^s/a', 'loc:@s/a', 'a:0')
    """
    if not scope:
        return name
    prefix = next((mark for mark in _MARKS if name.startswith(mark)), "")
    return f"{prefix}{scope.removesuffix('/')}/{name.removeprefix(prefix)}"


def without_scope(name: str, scope: str | None) -> str:
    """Return `name` without the `scope` before it. A name outside the scope stays unchanged.

    >>> without_scope("^s/a", "s"), without_scope("loc:@s/a", "s/"), without_scope("t/s/a:0", "s")
    ('^a', 'loc:@a', 't/s/a:0')
    """
    if not scope:
        return name
    prefix = next((mark for mark in _MARKS if name.startswith(mark)), "")
    bare, scope = name.removeprefix(prefix), scope.removesuffix("/")
    return prefix + bare[len(scope) :].lstrip("/") if bare.startswith(f"{scope}/") else name


class NameTable:
    """The names that are in use in a graph, which differ in more than upper and lower case.

    Not thread-safe.
    """

    __slots__ = ("_taken",)

    def __init__(self) -> None:
        self._taken: dict[str, int] = {}

    def unique(self, name: str, *, take: bool = True) -> str:
        """Return `name`, or `name` with the next free number appended if `name` is in use.

        The returned name is in use afterwards, unless `take` is False.

        >>> table = NameTable()
        >>> table.unique("a"), table.unique("A"), table.unique("a_1"), table.unique("a", take=False)
        ('a', 'A_1', 'a_1_1', 'a_2')
        """
        key = name.lower()
        count = self._taken.get(key, 0)
        if take:
            self._taken[key] = count + 1
        if count == 0:
            return name
        while f"{key}_{count}" in self._taken:
            count += 1
        if take:
            self._taken[key] = count + 1
            self._taken[f"{key}_{count}"] = 1
        return f"{name}_{count}"

    def take(self, name: str) -> None:
        """Mark `name` as in use."""
        self._taken.setdefault(name.lower(), 1)
