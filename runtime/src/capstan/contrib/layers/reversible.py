"""Blocks of reversible layers (contrib/layers/python/layers/rev_block_lib.py).

A layer computes y1 = x1 + f(x2) and y2 = x2 + g(y1). Its inputs follow from its outputs, so the
gradients of a block need the outputs of the last layer only (Gomez et al., 2017).
"""

import re
from collections.abc import Callable, Sequence
from typing import Any, Final

from capstan.api import control_flow_ops, math_ops, scope_block, variable_scope
from capstan.api.custom_gradient import custom_gradient
from capstan.framework import gradients
from capstan.framework.raw import raw

_OWNER: Final = re.compile(r".*revlayer_(\d+)/([fg])/.*")
Function = Callable[..., Any]
Pair = tuple[Any, Any]


class RevBlock:
    """Reversible layers with the functions `f` and `g`, or with a function of each for each layer.

    The functions keep the shape of their first argument, and get no tensors but their arguments:
    if there are side inputs, the list of these is the second argument. The variables are in the
    scopes `revlayer_N/f` and `revlayer_N/g`. They are resource variables. The first call makes
    them, in the scope of the block, and later calls use them again.

    Raises:
        ValueError: a list has another size than `num_layers`.
    """

    def __init__(
        self, f: Any, g: Any, num_layers: int = 1, f_side_input: Sequence[Any] | None = None,
        g_side_input: Sequence[Any] | None = None, use_efficient_backprop: bool = True,
        name: str = "revblock", _reuse: Any = None,
    ) -> None:  # fmt: skip
        self.num_layers = num_layers
        self.f_side_input, self.g_side_input = list(f_side_input or ()), list(g_side_input or ())
        self.f, self.g = self._in_scopes(f, "f"), self._in_scopes(g, "g")
        self._is_efficient, self._name, self._reuse = use_efficient_backprop, name, _reuse
        self._scope: Any = None

    def _in_scopes(self, given: Any, kind: str) -> list[Function]:
        functions = given if isinstance(given, list) else [given] * self.num_layers
        if len(functions) != self.num_layers:
            raise ValueError(
                f"{kind} has {len(functions)} functions, but there are {self.num_layers} layers"
            )
        return [
            _in_scope(function, f"revlayer_{number}/{kind}")
            for number, function in enumerate(functions)
        ]

    def forward(self, x1: Any, x2: Any) -> Pair:
        """Return the outputs of the last layer."""
        with self._opened():
            if not self._is_efficient:
                return self._layers(x1, x2, self.f_side_input, self.g_side_input)
            count = len(self.f_side_input)

            def computed(x1: Any, x2: Any, *sides: Any) -> Any:
                outputs = self._layers(x1, x2, list(sides[:count]), list(sides[count:]), True)

                def gradient(*slopes: Any, variables: Sequence[Any] = ()) -> Any:
                    return self._gradients(outputs, slopes, variables, sides)

                return outputs, gradient

            found = custom_gradient(computed)(x1, x2, *self.f_side_input, *self.g_side_input)
            return found[0], found[1]

    def backward(self, y1: Any, y2: Any) -> Pair:
        """Return the inputs of the first layer for outputs of the last one."""
        with self._opened():
            for f, g in zip(reversed(self.f), reversed(self.g), strict=True):
                y2 = y2 - _applied(g, y1, self.g_side_input)
                y1 = y1 - _applied(f, y2, self.f_side_input)
            return y1, y2

    def _opened(self) -> Any:
        if self._scope is not None:
            return scope_block.variable_scope(self._scope, reuse=True)
        # As in a layer of TensorFlow: a block that reuses variables gets no new name.
        named = self._name if self._reuse else None
        with scope_block.variable_scope(named, self._name) as self._scope:
            pass
        return scope_block.variable_scope(self._scope)

    def _layers(
        self, x1: Any, x2: Any, f_side: Sequence[Any], g_side: Sequence[Any], gated: bool = False
    ) -> Pair:
        for f, g in zip(self.f, self.g, strict=True):
            x1 = x1 + _applied(f, x2, f_side)
            x2 = x2 + _applied(g, x1, g_side)
            if gated:
                x1, x2 = control_flow_ops.tuple([x1, x2])
        return x1, x2

    def _gradients(
        self, outputs: Pair, slopes: Sequence[Any], variables: Sequence[Any], sides: Sequence[Any]
    ) -> Any:
        """Return the gradients of the inputs and side inputs, and those of the variables."""
        owned: dict[tuple[int, str], list[Any]] = {}
        for variable in variables:
            match = _OWNER.match(variable.name)
            if match is None:
                raise ValueError(f"{variable.name} is not in the scope of a layer of the block")
            owned.setdefault((int(match[1]), match[2]), []).append(variable)
        count = len(self.f_side_input)
        state = _Backward(
            outputs,
            [
                raw.ZerosLike(output) if slope is None else slope
                for output, slope in zip(outputs, slopes, strict=True)
            ],
            {"f": list(sides[:count]), "g": list(sides[count:])},
        )
        with scope_block.variable_scope(self._scope, reuse=True):
            for number in reversed(range(self.num_layers)):
                pairs = [owned.get((number, kind), []) for kind in "fg"]
                state.step(self.f[number], self.g[number], *pairs)
        side_slopes = [_sum(each) for kind in "fg" for each in state.of_sides[kind]]
        return [*state.slopes, *side_slopes], [state.of_variables.get(each) for each in variables]


class _Backward:
    """The way back through the layers: the outputs of a layer, and the gradients so far."""

    def __init__(self, outputs: Pair, slopes: Sequence[Any], sides: dict[str, list[Any]]) -> None:
        self.outputs, self.slopes, self._sides = outputs, list(slopes), sides
        self.of_variables: dict[Any, Any] = {}
        self.of_sides: dict[str, list[list[Any]]] = {
            kind: [[] for _ in tensors] for kind, tensors in sides.items()
        }

    def step(
        self, f: Function, g: Function, f_variables: list[Any], g_variables: list[Any]
    ) -> None:
        """Go from the outputs of a layer to its inputs."""
        (y1, y2), (slope1, slope2) = self.outputs, self.slopes
        x2, of_y1 = self._part("g", g, y1, y2, slope2, g_variables)
        slope1 = slope1 + of_y1
        x1, of_x2 = self._part("f", f, x2, y1, slope1, f_variables)
        # All results together, so that the next layer does not begin before this one is done.
        owned = [*f_variables, *g_variables]
        joined = [x1, x2, slope1, slope2 + of_x2, *(self.of_variables[each] for each in owned)]
        joined = control_flow_ops.tuple(joined)
        self.outputs, self.slopes = (joined[0], joined[1]), list(joined[2:4])
        self.of_variables.update(zip(owned, joined[4:], strict=True))

    def _part(
        self, kind: str, function: Function, x: Any, y: Any, slope: Any, variables: list[Any]
    ) -> Pair:
        """Return y - function(x), and the gradient of x."""
        x = raw.StopGradient(x)
        sides = [raw.StopGradient(each) for each in self._sides[kind]]
        value = _applied(function, x, sides)
        found = gradients.gradients(value, [x, *variables, *sides], slope)
        self.of_variables.update(zip(variables, found[1:], strict=False))
        for kept, each in zip(self.of_sides[kind], found[1 + len(variables) :], strict=True):
            kept.append(each)
        return y - value, found[0]


def rev_block(
    x1: Any, x2: Any, f: Any, g: Any, num_layers: int = 1,
    f_side_input: Sequence[Any] | None = None, g_side_input: Sequence[Any] | None = None,
    is_training: bool = True,
) -> Pair:  # fmt: skip
    """Return the outputs of reversible layers, as `RevBlock.forward`.

    If not `is_training`, the gradients keep the outputs of all layers, as any others do. In a
    variable scope that reuses variables, all calls have those of the first one.
    """
    reuse = variable_scope.get_variable_scope().reuse
    block = RevBlock(f, g, num_layers, f_side_input, g_side_input, is_training, _reuse=reuse)
    return block.forward(x1, x2)


def _in_scope(function: Function, scope: str) -> Function:
    def wrapped(*args: Any) -> Any:
        with scope_block.variable_scope(scope, use_resource=True):
            return function(*args)

    return wrapped


def _applied(function: Function, x: Any, sides: Sequence[Any]) -> Any:
    return function(x, list(sides)) if sides else function(x)


def _sum(slopes: Sequence[Any]) -> Any:
    known = [slope for slope in slopes if slope is not None]
    return math_ops.add_n(known) if known else None
