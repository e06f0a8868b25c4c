"""The bijector from vectors to probabilities (contrib's ops/bijectors/softmax_centered.py)."""

from typing import Any

from capstan.api import array_ops, check_ops, control_flow_ops, nn, reduce_ops
from capstan.contrib.distributions.bijectors.bijector import Bijector
from capstan.core import tensor_shape
from capstan.framework.raw import raw


class SoftmaxCentered(Bijector):
    """The softmax of a vector with a 0 at its end: k numbers make k + 1 probabilities."""

    def __init__(self, validate_args: bool = False, name: str = "softmax_centered") -> None:
        super().__init__(forward_min_event_ndims=1, validate_args=validate_args, name=name)

    def _forward_event_shape(self, input_shape: Any) -> Any:
        return _resized(input_shape, 1)

    def _inverse_event_shape(self, output_shape: Any) -> Any:
        if output_shape.ndims and (output_shape.as_list()[-1] or 2) <= 1:
            raise ValueError(f"output_shape[-1] = {output_shape.as_list()[-1]} <= 1")
        return _resized(output_shape, -1)

    def _forward_event_shape_tensor(self, input_shape: Any) -> Any:
        return input_shape[-1:] + 1

    def _inverse_event_shape_tensor(self, output_shape: Any) -> Any:
        if self.validate_args:
            message = "Need last dimension greater than 1."
            check = check_ops.assert_greater(output_shape[-1], 1, message=message)
            output_shape = control_flow_ops.with_dependencies([check], output_shape)
        return output_shape[-1:] - 1

    def _forward(self, x: Any) -> Any:
        y = nn.softmax(raw.ConcatV2([x, raw.ZerosLike(x[..., :1])], -1))
        y.set_shape(_resized(x.shape, 1, is_batch=True))
        return y

    def _inverse(self, y: Any) -> Any:
        logarithms = raw.Log(y)
        x = logarithms[..., :-1] - logarithms[..., -1:]
        x.set_shape(_resized(y.shape, -1, is_batch=True))
        return x

    def _inverse_log_det_jacobian(self, y: Any) -> Any:
        return -reduce_ops.reduce_sum(raw.Log(y), -1)

    def _forward_log_det_jacobian(self, x: Any) -> Any:
        normalization = raw.Softplus(reduce_ops.reduce_logsumexp(x, -1, keepdims=True))
        total = reduce_ops.reduce_sum(x - normalization, -1)
        return total - array_ops.squeeze(normalization, -1)


def _resized(shape: Any, change: int, *, is_batch: bool = False) -> Any:
    """Return a shape whose last size is changed: of an event, or with the batch before it."""
    sizes = shape.as_list() if shape.ndims else None
    if sizes is None:
        return shape
    last = None if sizes[-1] is None else sizes[-1] + change
    return tensor_shape.TensorShape([*(sizes[:-1] if is_batch else []), last])
