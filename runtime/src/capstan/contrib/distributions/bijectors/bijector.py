"""The base of invertible functions, `bijectors.Bijector` (distributions/bijector_impl.py)."""

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from capstan.api import creation_ops, known_values, reduce_ops
from capstan.api.distributions import implementations
from capstan.api.scoped import scoped
from capstan.core import dtypes, tensor_shape
from capstan.framework import convert
from capstan.framework import graph as graphs
from capstan.framework.raw import raw


class Bijector:
    """An invertible and differentiable function of tensors.

    A program makes a class of its own with `_forward`, `_inverse`, and one of the methods
    `_forward_log_det_jacobian` and `_inverse_log_det_jacobian`. The methods get tensors.
    """

    _is_injective = True
    """Whether no two numbers have one image. Otherwise the inverse returns a tuple of tensors."""

    def __init__(
        self,
        graph_parents: Sequence[graphs.Tensor] | None = None,
        is_constant_jacobian: bool = False,
        validate_args: bool = False,
        dtype: Any = None,
        forward_min_event_ndims: int | None = None,
        inverse_min_event_ndims: int | None = None,
        name: str | None = None,
    ) -> None:
        """Keep what all bijectors have.

        `forward_min_event_ndims` is the number of axes of the smallest tensor that the function
        takes: 0 if it maps each number by itself. `inverse_min_event_ndims` is that of the inverse.
        One is the default of the other.

        Raises:
            ValueError: both numbers are missing, or one is negative.
        """
        given = [
            each for each in (forward_min_event_ndims, inverse_min_event_ndims) if each is not None
        ]
        if not given:
            raise ValueError(
                "Must specify at least one of `forward_min_event_ndims` and "
                "`inverse_min_event_ndims`."
            )
        if min(given) < 0:
            raise ValueError(f"The least numbers of axes must not be negative: {given}")
        self._forward_min_event_ndims, self._inverse_min_event_ndims = given[0], given[-1]
        self._graph_parents = list(graph_parents or ())
        self._is_constant_jacobian = is_constant_jacobian
        self._validate_args = validate_args
        self._dtype = None if dtype is None else dtypes.as_dtype(dtype)
        self._name = name or _snake_case(type(self).__name__.lstrip("_"))
        # The inverse of a result is the argument itself. To compute it would lose precision.
        self._images: dict[graphs.Tensor, graphs.Tensor] = {}
        self._origins: dict[graphs.Tensor, graphs.Tensor] = {}

    @property
    def graph_parents(self) -> list[graphs.Tensor]:
        """The tensors of the bijector."""
        return self._graph_parents

    @property
    def forward_min_event_ndims(self) -> int:
        """The number of axes of the smallest tensor that `forward` takes."""
        return self._forward_min_event_ndims

    @property
    def inverse_min_event_ndims(self) -> int:
        """The number of axes of the smallest tensor that `inverse` takes."""
        return self._inverse_min_event_ndims

    @property
    def is_constant_jacobian(self) -> bool:
        """Whether the Jacobian is the same for all values."""
        return self._is_constant_jacobian

    @property
    def validate_args(self) -> bool:
        """Whether steps check the values."""
        return self._validate_args

    @property
    def dtype(self) -> dtypes.DType | None:
        """The type of the tensors, or None for any type."""
        return self._dtype

    @property
    def name(self) -> str:
        """The name scope of the operations."""
        return self._name

    _forward = implementations.absent("forward")
    _inverse = implementations.absent("inverse")
    _forward_log_det_jacobian = implementations.absent("forward_log_det_jacobian")
    _inverse_log_det_jacobian = implementations.absent("inverse_log_det_jacobian")

    def forward(self, x: Any, name: str = "forward") -> Any:
        """Return the image of `x`.

        Raises:
            TypeError: the dtype is not that of the bijector.
        """
        with self._name_scope(name, (x,)):
            x = self._tensor(x, "x")
            if not self._is_injective:
                return self._forward(x)
            if x not in self._images:
                self._remember(x, self._forward(x))
            return self._images[x]

    def inverse(self, y: Any, name: str = "inverse") -> Any:
        """Return the tensor whose image is `y`.

        Raises:
            TypeError: the dtype is not that of the bijector.
        """
        with self._name_scope(name, (y,)):
            y = self._tensor(y, "y")
            if not self._is_injective:
                return self._inverse(y)
            if y not in self._origins:
                self._remember(self._inverse(y), y)
            return self._origins[y]

    def _remember(self, x: graphs.Tensor, y: graphs.Tensor) -> None:
        self._images[x], self._origins[y] = y, x

    def forward_log_det_jacobian(
        self, x: Any, event_ndims: Any, name: str = "forward_log_det_jacobian"
    ) -> Any:
        """Return log |det J| of `forward` at `x`, summed over the last `event_ndims` axes.

        Raises:
            ValueError: `event_ndims` is too small, or not known before the step.
        """
        with self._name_scope(name, (x,)):
            x = self._tensor(x, "x")
            axes = _further_axes(event_ndims, self._forward_min_event_ndims)
            return implementations.first(
                [
                    lambda: self._forward_sum(x, axes),
                    lambda: -self._inverse_sum(self.forward(x), axes),
                ]
            )

    def inverse_log_det_jacobian(
        self, y: Any, event_ndims: Any, name: str = "inverse_log_det_jacobian"
    ) -> Any:
        """Return log |det J| of `inverse` at `y`, summed over the last `event_ndims` axes.

        Raises:
            ValueError: `event_ndims` is too small, or not known before the step.
        """
        with self._name_scope(name, (y,)):
            y = self._tensor(y, "y")
            axes = _further_axes(event_ndims, self._inverse_min_event_ndims)
            return implementations.first(
                [
                    lambda: self._inverse_sum(y, axes),
                    lambda: -self._forward_sum(self.inverse(y), axes),
                ]
            )

    def _forward_sum(self, x: Any, axes: int) -> Any:
        return _summed(x, self._forward_log_det_jacobian(x), self._forward_min_event_ndims, axes)

    def _inverse_sum(self, y: Any, axes: int) -> Any:
        change, least = self._inverse_log_det_jacobian(y), self._inverse_min_event_ndims
        if not self._is_injective:
            return tuple(_summed(y, each, least, axes) for each in change)
        return _summed(y, change, least, axes)

    def forward_event_shape(self, input_shape: Any) -> tensor_shape.TensorShape:
        """Return the static shape of the image of an event of `input_shape`."""
        return tensor_shape.as_shape(self._forward_event_shape(tensor_shape.as_shape(input_shape)))

    def inverse_event_shape(self, output_shape: Any) -> tensor_shape.TensorShape:
        """Return the static shape of an event whose image has `output_shape`."""
        return tensor_shape.as_shape(self._inverse_event_shape(tensor_shape.as_shape(output_shape)))

    def forward_event_shape_tensor(
        self, input_shape: Any, name: str = "forward_event_shape_tensor"
    ) -> Any:
        """Return the shape of the image of an event of `input_shape`, as a tensor."""
        with self._name_scope(name, (input_shape,)):
            return self._forward_event_shape_tensor(_sizes(input_shape))

    def inverse_event_shape_tensor(
        self, output_shape: Any, name: str = "inverse_event_shape_tensor"
    ) -> Any:
        """Return the shape of an event whose image has `output_shape`, as a tensor."""
        with self._name_scope(name, (output_shape,)):
            return self._inverse_event_shape_tensor(_sizes(output_shape))

    def _forward_event_shape(self, input_shape: Any) -> Any:
        return input_shape

    def _inverse_event_shape(self, output_shape: Any) -> Any:
        return output_shape

    def _forward_event_shape_tensor(self, input_shape: Any) -> Any:
        return input_shape

    def _inverse_event_shape_tensor(self, output_shape: Any) -> Any:
        return output_shape

    def _tensor(self, value: Any, name: str) -> graphs.Tensor:
        tensor = convert.convert_to_tensor(value, name=name, preferred_dtype=self.dtype)
        if self.dtype is not None and tensor.dtype.base_dtype != self.dtype.base_dtype:
            raise TypeError(f"Input had dtype {tensor.dtype} but expected {self.dtype}.")
        return tensor

    @contextmanager
    def _name_scope(self, name: str, values: Sequence[Any] = ()) -> Iterator[str]:
        with scoped(None, self.name, (*values, *self._graph_parents)), scoped(None, name) as scope:
            yield scope


def _sizes(shape: Any) -> graphs.Tensor:
    return convert.convert_to_tensor(shape, dtypes.int32, "shape")


def _further_axes(event_ndims: Any, least: int) -> int:
    """Return how many axes an event has beside the `least` axes.

    Raises:
        ValueError: the event has fewer axes, or their number is not known before the step.
    """
    if isinstance(event_ndims, graphs.Tensor):
        event_ndims = known_values.constant_value(event_ndims)
    if event_ndims is None:
        raise ValueError("event_ndims must be known while the graph is built: give a number")
    axes = int(event_ndims) - least
    if axes < 0:
        raise ValueError(
            f"event_ndims ({event_ndims}) must be larger than min_event_ndims ({least})"
        )
    return axes


def _summed(at: Any, logarithm: Any, least: int, axes: int) -> Any:
    """Return the sum of a logarithm over the last `axes` axes of `at` before its `least` axes.

    A logarithm with fewer axes is the same for all elements.
    """
    if axes == 0:
        return logarithm
    if at.shape.ndims is not None:
        first = at.shape.ndims - axes - least
        known = at.shape[first : first + axes]
        shape: Any = (
            known.as_list() if known.is_fully_defined() else raw.Shape(at)[first : first + axes]
        )
    else:
        rank = raw.Rank(at)
        shape = raw.Shape(at)[rank - axes - least : rank - least]
    ones = creation_ops.ones(shape, logarithm.dtype)
    return reduce_ops.reduce_sum(ones * logarithm, list(range(-axes, 0)))


def _snake_case(name: str) -> str:
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=.)(?=[A-Z][a-z])", "_", name).lower()
