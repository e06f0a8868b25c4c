"""`tf.debugging.assert_shapes`: sizes that several tensors share (python/ops/check_ops.py)."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from capstan.api import check_ranks, control_flow_ops
from capstan.api.scoped import scoped
from capstan.framework import convert
from capstan.framework import graph as graphs
from capstan.framework.raw import raw

_REST = (Ellipsis, "*")
"""The symbols of any number of axes at the front."""


class _Claim(NamedTuple):
    """What a shape says of a tensor: the symbols of its axes, or of its last axes."""

    tensor: Any
    symbols: tuple[Any, ...]
    is_open: bool


def assert_shapes(
    shapes: Any,
    data: Sequence[Any] | None = None,
    summarize: int | None = None,
    message: str | None = None,
    name: str | None = None,
) -> graphs.Operation:
    """Require shapes of tensors, in which equal symbols stand for equal sizes.

    `shapes` has pairs of a tensor and a shape, also as a dictionary. A size of a shape is a number,
    a symbol such as "N", or None or "." for any size. A shape that begins with `...` or "*" is that
    of the last axes. None as a shape requires nothing. A scalar counts as a vector of size 1.

    Returns:
        An operation. It raises InvalidArgumentError in a step with other shapes, and shows `data`,
        or the tensor and its shape.

    Raises:
        ValueError: a static shape differs, or a shape is not a sequence or has `...` elsewhere.
    """
    message = message or ""
    pairs = shapes.items() if isinstance(shapes, Mapping) else shapes
    with scoped(name, "assert_shapes", (data,)):
        claims = [
            _claim(convert.convert_to_tensor(tensor), shape, message)
            for tensor, shape in pairs
            if shape is not None
        ]
        ranks = [*_rank_checks(claims, data, summarize, message)]
        sizes = [*_size_checks(claims, data, summarize, message)]
        with graphs.get_default_graph().control_dependencies(ranks):
            return control_flow_ops.group(*sizes)


def _claim(tensor: Any, shape: Any, message: str) -> _Claim:
    if not hasattr(shape, "__iter__"):
        raise ValueError(
            f"{message}.  Tensor {tensor.name}.  Specified shape must be an iterable.  An iterable "
            "has the attribute `__iter__` or `__getitem__`.  Received specified shape: "
            f"{shape}"
        )
    symbols = tuple(shape)
    for place, symbol in enumerate(symbols):
        if place and symbol in _REST:
            raise ValueError(
                f"{message}.  Tensor {tensor.name} specified shape index {place}.  Symbol `...` or "
                "`*` for a variable number of unspecified dimensions is only allowed as the first "
                "entry"
            )
    is_open = bool(symbols) and symbols[0] in _REST
    symbols = symbols[1:] if is_open else symbols
    return _Claim(tensor, symbols or (1,), is_open)


def _rank_checks(claims: list[_Claim], data: Any, summarize: Any, message: str) -> Iterator[Any]:
    for tensor, symbols, is_open in claims:
        more = (data, summarize, message)
        if len(symbols) == 1 and not is_open:
            yield check_ranks.assert_rank_in(tensor, [0, 1], *more)
        elif len(symbols) > 1:
            check = check_ranks.assert_rank_at_least if is_open else check_ranks.assert_rank
            yield check(tensor, len(symbols), *more)


def _size_checks(claims: list[_Claim], data: Any, summarize: Any, message: str) -> Iterator[Any]:
    """Give the checks of sizes that are not known. Compare the others here."""
    first: dict[Any, tuple[Any, str]] = {}
    for tensor, symbols, is_open in claims:
        for place, symbol in enumerate(symbols):
            if symbol is None or symbol == ".":
                continue
            axis = place - len(symbols) if is_open else place
            size = _size(tensor, axis)
            number = _number(symbol)
            if number is None and symbol not in first:
                text = f"Specified by tensor {tensor.name} dimension {axis}"
                first[symbol] = size, text
                continue
            wanted, by = (number, "Specified explicitly") if number is not None else first[symbol]
            if isinstance(size, int) and isinstance(wanted, int):
                if size != wanted:
                    raise ValueError(
                        f"{message}.  {by}.  Tensor {tensor.name} dimension {axis} must have size "
                        f"{wanted}.  Received size {size}, shape {tensor.shape}"
                    )
                continue
            shown = data
            if data is None:
                start = f"Tensor {tensor.name} dimension"
                shown = [message, by, start, axis, "must have size", wanted, "Received shape: "]
                shown.append(raw.Shape(tensor))
            yield control_flow_ops.Assert(raw.Equal(size, wanted), shown, summarize)


def _number(symbol: Any) -> int | None:
    """Return the size that a symbol is, or None."""
    try:
        return int(symbol)
    except (TypeError, ValueError):
        return None


def _size(tensor: Any, axis: int) -> Any:
    """Return the size of an axis, as a number if it is known. A scalar has size 1."""
    static = tensor.shape.internal
    if static is not None:
        size = (static or (1,))[axis]
        if size is not None:
            return size
        return raw.StridedSlice(raw.Shape(tensor), [axis], [axis + 1 or len(static)], [1],
                                shrink_axis_mask=1)  # fmt: skip
    sizes = raw.Shape(tensor)
    # A scalar has no sizes.
    with_one = raw.ConcatV2([sizes, raw.Fill(raw.Reshape(raw.Cast(raw.Equal(raw.Rank(tensor), 0),
                             DstT="int32"), [1]), 1)], 0)  # fmt: skip
    return raw.GatherV2(with_one, raw.FloorMod(axis, raw.Size(with_one)), 0)
