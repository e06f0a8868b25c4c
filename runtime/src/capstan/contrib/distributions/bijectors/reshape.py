"""The bijector that changes the shapes of events (contrib's ops/bijectors/reshape.py)."""

from typing import Any

from capstan.api import check_ops, known_values
from capstan.api.scoped import scoped
from capstan.contrib.distributions.bijectors.bijector import Bijector
from capstan.core import dtypes, tensor_shape
from capstan.framework import convert
from capstan.framework import graph as graphs
from capstan.framework.raw import raw


class Reshape(Bijector):
    """The function that gives events of shape `event_shape_in` the shape `event_shape_out`."""

    def __init__(
        self,
        event_shape_out: Any,
        event_shape_in: Any = (-1,),
        validate_args: bool = False,
        name: str | None = None,
    ) -> None:
        """Create a function. One size of a shape may be -1: that of the other elements.

        Raises:
            TypeError: a shape has no integers.
            ValueError: a shape is no vector, or has sizes below -1, or more than one -1.
        """
        with scoped(name, "reshape", (event_shape_out, event_shape_in)):
            self._made = _vector(event_shape_out, "event_shape_out")
            self._taken = _vector(event_shape_in, "event_shape_in")
        super().__init__(
            forward_min_event_ndims=0,
            is_constant_jacobian=True,
            validate_args=validate_args,
            name=name or "reshape",
        )

    def _forward(self, x: Any) -> Any:
        return self._with_events(x, self._taken, self._made)

    def _inverse(self, y: Any) -> Any:
        return self._with_events(y, self._made, self._taken)

    def _forward_log_det_jacobian(self, x: Any) -> Any:
        return convert.constant(0.0, x.dtype.base_dtype)

    def _inverse_log_det_jacobian(self, y: Any) -> Any:
        return convert.constant(0.0, y.dtype.base_dtype)

    def _with_events(self, x: Any, taken: graphs.Tensor, made: graphs.Tensor) -> Any:
        count = _length(taken)
        _check(x.shape, count, known_values.constant_value(taken))
        sizes = raw.Shape(x)
        asserted = self._asserted(sizes, taken, count) if self.validate_args else []
        with x.graph.control_dependencies(asserted):
            ahead = raw.ConcatV2([sizes[: raw.Rank(x) - count], made], 0)
            result = raw.Reshape(x, ahead)
        if x.shape.ndims is not None:
            result.set_shape(x.shape[: x.shape.ndims - count].concatenate(_static(made)))
        return result

    def _asserted(self, sizes: Any, taken: graphs.Tensor, count: int) -> list[Any]:
        events = sizes[raw.Size(sizes) - count :]
        wanted = raw.SelectV2(raw.Less(taken, 0), events, taken)
        message = "Input `event_shape` does not match `event_shape_in`."
        return [check_ops.assert_equal(events, wanted, message=message)]

    def _forward_event_shape(self, input_shape: Any) -> Any:
        return self._event_shape(input_shape, self._taken, self._made)

    def _inverse_event_shape(self, output_shape: Any) -> Any:
        return self._event_shape(output_shape, self._made, self._taken)

    def _event_shape(self, shape: Any, taken: graphs.Tensor, made: graphs.Tensor) -> Any:
        count = _length(taken)
        _check(shape, count, known_values.constant_value(taken))
        if shape.ndims is None:
            return tensor_shape.as_shape(None)
        result = _static(made)
        elements = shape[shape.ndims - count :].num_elements()
        sizes = [size for size in result.as_list() if size is not None]
        if elements is not None and len(sizes) == len(result.as_list()) - 1:
            rest = elements
            for size in sizes:
                rest //= size
            result = tensor_shape.as_shape(
                [rest if size is None else size for size in result.as_list()]
            )
        return shape[: shape.ndims - count].concatenate(result)

    def _forward_event_shape_tensor(self, input_shape: Any) -> Any:
        return raw.Shape(self._forward(raw.Fill(input_shape, 0.0)))

    def _inverse_event_shape_tensor(self, output_shape: Any) -> Any:
        return raw.Shape(self._inverse(raw.Fill(output_shape, 0.0)))


def _vector(shape: Any, name: str) -> graphs.Tensor:
    vector = convert.convert_to_tensor(shape, name=name, preferred_dtype=dtypes.int32)
    if not vector.dtype.is_integer:
        raise TypeError(f"{name} dtype ({vector.dtype.name}) should be `int`-like.")
    if vector.shape.ndims is not None and vector.shape.ndims > 1:
        raise ValueError(f"`{name}` rank ({vector.shape.ndims}) should be <= 1.")
    known = known_values.constant_value(vector)
    if known is not None:
        sizes = known.tolist()
        if sizes.count(-1) > 1:
            raise ValueError(f"`{name}` must have at most one `-1` (given {sizes})")
        if any(size < -1 for size in sizes):
            raise ValueError(
                f"`{name}` elements must be either positive integers or `-1`(given {sizes})."
            )
    return vector


def _length(vector: graphs.Tensor) -> int:
    known = vector.shape.with_rank_at_least(1).as_list()[0]
    if known is None:
        raise ValueError("Reshape: the number of axes of the events must be known")
    return int(known)


def _static(vector: graphs.Tensor) -> tensor_shape.TensorShape:
    return known_values.constant_value_as_shape(vector)


def _check(shape: tensor_shape.TensorShape, count: int, wanted: Any) -> None:
    """Compare the shape of events with the sizes that are known."""
    if shape.ndims is None or wanted is None:
        return
    events = shape.with_rank_at_least(count)[shape.ndims - count :].as_list()
    pairs = zip(events, wanted.tolist(), strict=True)
    if any(size is not None and 0 <= other != size for size, other in pairs):
        raise ValueError(
            f"Input `event_shape` does not match `event_shape_in` ({events} vs {wanted.tolist()})."
        )
