"""Bijectors that are made of others or of functions: `Chain`, `Invert` and `Inline`.

The sources are in contrib/distributions/python/ops/bijectors.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from capstan.api import creation_ops
from capstan.contrib.distributions.bijectors.bijector import Bijector


class Chain(Bijector):
    """The composition of bijectors: `Chain([f, g])` maps x to f(g(x))."""

    def __init__(
        self,
        bijectors: Sequence[Bijector] | None = None,
        validate_args: bool = False,
        name: str | None = None,
    ) -> None:
        """Create a composition. Without bijectors, it is the identity.

        Raises:
            NotImplementedError: a bijector is not injective.
        """
        self._bijectors = list(bijectors or ())
        for each in self._bijectors:
            _check_injective("Chain", each)
        axes = [
            (each.forward_min_event_ndims, each.inverse_min_event_ndims) for each in self._bijectors
        ]
        default = "_of_".join(["chain", *(each.name for each in self._bijectors)])
        super().__init__(
            graph_parents=[parent for each in self._bijectors for parent in each.graph_parents],
            forward_min_event_ndims=_least_axes(reversed(axes)),
            inverse_min_event_ndims=_least_axes((made, taken) for taken, made in axes),
            is_constant_jacobian=all(each.is_constant_jacobian for each in self._bijectors),
            validate_args=validate_args,
            name=name or (default if self._bijectors else "identity"),
        )

    @property
    def bijectors(self) -> list[Bijector]:
        """The bijectors, the last of which is applied first."""
        return self._bijectors

    def _forward(self, x: Any) -> Any:
        for each in reversed(self._bijectors):
            x = each.forward(x)
        return x

    def _inverse(self, y: Any) -> Any:
        for each in self._bijectors:
            y = each.inverse(y)
        return y

    def _forward_log_det_jacobian(self, x: Any) -> Any:
        total, axes = creation_ops.zeros([], x.dtype), self.forward_min_event_ndims
        for each in reversed(self._bijectors):
            total = total + each.forward_log_det_jacobian(x, axes)
            x = each.forward(x)
            axes += each.inverse_min_event_ndims - each.forward_min_event_ndims
        return total

    def _inverse_log_det_jacobian(self, y: Any) -> Any:
        total, axes = creation_ops.zeros([], y.dtype), self.inverse_min_event_ndims
        for each in self._bijectors:
            total = total + each.inverse_log_det_jacobian(y, axes)
            y = each.inverse(y)
            axes += each.forward_min_event_ndims - each.inverse_min_event_ndims
        return total

    def _forward_event_shape(self, input_shape: Any) -> Any:
        for each in reversed(self._bijectors):
            input_shape = each.forward_event_shape(input_shape)
        return input_shape

    def _inverse_event_shape(self, output_shape: Any) -> Any:
        for each in self._bijectors:
            output_shape = each.inverse_event_shape(output_shape)
        return output_shape

    def _forward_event_shape_tensor(self, input_shape: Any) -> Any:
        for each in reversed(self._bijectors):
            input_shape = each.forward_event_shape_tensor(input_shape)
        return input_shape

    def _inverse_event_shape_tensor(self, output_shape: Any) -> Any:
        for each in self._bijectors:
            output_shape = each.inverse_event_shape_tensor(output_shape)
        return output_shape


def _check_injective(kind: str, bijector: Bijector) -> None:
    if not bijector._is_injective:
        raise NotImplementedError(
            f"{kind} is not implemented for non-injective bijector ({bijector.name})"
        )


def _least_axes(functions: Iterable[tuple[int, int]]) -> int:
    """Return the number of axes of the smallest tensor that a composition takes.

    `functions` has the least axes of the argument and of the result of each function, in the order
    in which the functions are applied.
    """
    least = used = 0
    for taken, made in functions:
        least += max(taken - used, 0)
        used = max(taken, used) - taken + made
    return least


class Invert(Bijector):
    """The inverse of a bijector."""

    def __init__(
        self, bijector: Bijector, validate_args: bool = False, name: str | None = None
    ) -> None:
        """Raises NotImplementedError if the bijector is not injective."""
        _check_injective("Invert", bijector)
        self._bijector = bijector
        super().__init__(
            graph_parents=bijector.graph_parents,
            forward_min_event_ndims=bijector.inverse_min_event_ndims,
            inverse_min_event_ndims=bijector.forward_min_event_ndims,
            is_constant_jacobian=bijector.is_constant_jacobian,
            validate_args=validate_args,
            dtype=bijector.dtype,
            name=name or f"invert_{bijector.name}",
        )

    @property
    def bijector(self) -> Bijector:
        """The bijector whose inverse this is."""
        return self._bijector

    def _forward(self, x: Any) -> Any:
        return self._bijector.inverse(x)

    def _inverse(self, y: Any) -> Any:
        return self._bijector.forward(y)

    def _forward_log_det_jacobian(self, x: Any) -> Any:
        return self._bijector.inverse_log_det_jacobian(x, self.forward_min_event_ndims)

    def _inverse_log_det_jacobian(self, y: Any) -> Any:
        return self._bijector.forward_log_det_jacobian(y, self.inverse_min_event_ndims)

    def _forward_event_shape(self, input_shape: Any) -> Any:
        return self._bijector.inverse_event_shape(input_shape)

    def _inverse_event_shape(self, output_shape: Any) -> Any:
        return self._bijector.forward_event_shape(output_shape)

    def _forward_event_shape_tensor(self, input_shape: Any) -> Any:
        return self._bijector.inverse_event_shape_tensor(input_shape)

    def _inverse_event_shape_tensor(self, output_shape: Any) -> Any:
        return self._bijector.forward_event_shape_tensor(output_shape)


class Inline(Bijector):
    """A bijector of functions. A function that is None is not implemented."""

    def __init__(
        self,
        forward_fn: Callable[..., Any] | None = None,
        inverse_fn: Callable[..., Any] | None = None,
        inverse_log_det_jacobian_fn: Callable[..., Any] | None = None,
        forward_log_det_jacobian_fn: Callable[..., Any] | None = None,
        forward_event_shape_fn: Callable[..., Any] | None = None,
        forward_event_shape_tensor_fn: Callable[..., Any] | None = None,
        inverse_event_shape_fn: Callable[..., Any] | None = None,
        inverse_event_shape_tensor_fn: Callable[..., Any] | None = None,
        is_constant_jacobian: bool = False,
        validate_args: bool = False,
        forward_min_event_ndims: int | None = None,
        inverse_min_event_ndims: int | None = None,
        name: str = "inline",
    ) -> None:
        super().__init__(
            forward_min_event_ndims=forward_min_event_ndims,
            inverse_min_event_ndims=inverse_min_event_ndims,
            is_constant_jacobian=is_constant_jacobian,
            validate_args=validate_args,
            name=name,
        )
        functions = {
            "_forward": forward_fn,
            "_inverse": inverse_fn,
            "_inverse_log_det_jacobian": inverse_log_det_jacobian_fn,
            "_forward_log_det_jacobian": forward_log_det_jacobian_fn,
            "_forward_event_shape": forward_event_shape_fn,
            "_forward_event_shape_tensor": forward_event_shape_tensor_fn,
            "_inverse_event_shape": inverse_event_shape_fn,
            "_inverse_event_shape_tensor": inverse_event_shape_tensor_fn,
        }
        for method, function in functions.items():
            if function is not None:
                setattr(self, method, function)
