"""The elements of lists and dictionaries that a converted block changes in place.

`d[key] = value` and `values.append(x)` change an object that other variables may share. Such a
container is a symbol of its own, `d[:]`, whose value is a copy of the elements.
"""

from collections.abc import Callable, Sequence
from typing import Any

from capstan.api.autograph import state
from capstan.api.autograph.undefined import is_undefined
from capstan.framework import nest

_ELEMENTS = "[:]"


def is_content(name: str) -> bool:
    """Return whether a symbol stands for the elements of a container."""
    return name.endswith(_ELEMENTS)


def content(name: str, read: Callable[[], Any]) -> list[Any] | dict[Any, Any] | None:
    """Return a copy of the elements of a list or dictionary. Return None for any other value.

    Raises:
        TypeError: a dictionary has keys without an order.
    """
    try:
        container = read()
    except Exception:  # noqa: BLE001 - there is no container yet
        return None
    try:
        copy = _copy(container)
    except TypeError as error:
        raise TypeError(
            f"'{name}' has a dictionary whose keys cannot be sorted ({error}), so a conditional or "
            "a loop over tensors cannot change it. Use keys of one type, for example strings"
        ) from error
    return copy if isinstance(copy, list | dict) else None


def _copy(value: Any) -> Any:
    """Return a copy of a list or dictionary and of those in it. Return other values themselves."""
    if type(value) is list:
        return [_copy(each) for each in value]
    if isinstance(value, dict):
        sorted(value)  # conditionals and loops pass elements on in the order of the keys
        return {key: _copy(each) for key, each in value.items()}
    return value


def set_content(read: Callable[[], Any], elements: Any) -> None:
    """Give a container elements in place. None changes nothing."""
    if elements is not None and not is_undefined(elements):
        _fill(read(), elements)


def _fill(container: Any, elements: Any) -> None:
    if isinstance(elements, dict):
        found = {key: _filled(container.get(key), each) for key, each in elements.items()}
        container.clear()
        container.update(found)
        return
    old = [*container, *[None] * len(elements)]
    container[:] = [_filled(inner, each) for inner, each in zip(old, elements, strict=False)]


def _filled(inner: Any, value: Any) -> Any:
    """Return `value`, in the container that has held it if there is one."""
    kind = dict if isinstance(value, dict) else list
    if inner is value or type(value) not in (list, dict) or not isinstance(inner, kind):
        return value
    _fill(inner, value)
    return inner


def known(names: Sequence[str], before: Sequence[Any], after: Sequence[Any]) -> list[Any]:
    """Return the values after a block, without those of containers that the block has made."""
    return [
        None if is_content(name) and start is None else end
        for name, start, end in zip(names, before, after, strict=False)
    ]


def kept(names: Sequence[str], starts: Sequence[Any], *ends: Sequence[Any]) -> list[list[bool]]:
    """Return for each value which leaves no block has changed. Only containers have such leaves."""
    found = []
    for name, start, *values in zip(names, starts, *ends, strict=True):
        leaves = [nest.flatten(value) for value in (start, *values)]
        is_same = is_content(name) and len(set(map(len, leaves))) == 1
        columns = zip(*leaves, strict=True) if is_same else ()
        found.append([all(leaf is column[0] for leaf in column) for column in columns])
    return found


def restored(after: Any, before: Any, is_kept: Sequence[bool]) -> Any:
    """Return a value with those leaves of `before` that are kept, for example Python's numbers."""
    if not any(is_kept):
        return after
    leaves = zip(nest.flatten(after), nest.flatten(before), is_kept, strict=True)
    return nest.packed(after, [old if same else new for new, old, same in leaves])


def without_growth(
    names: Sequence[str], starts: Sequence[Any], ends: Sequence[Any]
) -> tuple[list[Any], set[int]]:
    """Return the values after an iteration, and the places of containers that differ in size.

    Such a container has got values while the graph is built, which stay in it.

    Raises:
        TypeError: a tensor of the iteration is in a container that has grown or shrunk.
    """
    values, grown = list(ends), set()
    for place, (name, start, end) in enumerate(zip(names, starts, ends, strict=True)):
        if not is_content(name) or start is None:
            continue
        if _keys(start) == _keys(end):
            continue
        old = {id(leaf) for leaf in nest.flatten(start)}
        new = [*nest.flatten(end), *(end if isinstance(end, dict) else ())]
        if any(id(leaf) not in old and state.is_tensor(leaf) for leaf in new):
            raise TypeError(
                f"'{name.removesuffix(_ELEMENTS)}' does not have the same elements before and "
                "after an iteration: a list or dictionary cannot grow or shrink in a loop over "
                "tensors. Use a tf.TensorArray, or give it all its elements before the loop"
            )
        values[place] = start
        grown.add(place)
    return values, grown


def _keys(elements: Any) -> Any:
    return list(elements) if isinstance(elements, dict) else len(elements)
