"""The bijector that permutes the elements of vectors (contrib's ops/bijectors/permute.py)."""

from typing import Any

from capstan.api import check_ops, control_flow_ops, known_values
from capstan.api.scoped import scoped
from capstan.contrib.distributions.bijectors.bijector import Bijector
from capstan.framework import convert
from capstan.framework.raw import raw

_FAULT = "Permutation over `d` must contain exactly one of each of `{0, 1, ..., d}`."


class Permute(Bijector):
    """The function whose element `i` is element `permutation[i]` of the vector."""

    def __init__(
        self, permutation: Any, validate_args: bool = False, name: str | None = None
    ) -> None:
        """Create a permutation from a vector of integers.

        With `validate_args`, steps check that a permutation which is not known before is one.

        Raises:
            TypeError: the numbers are not integers.
            ValueError: the vector is known, and not a permutation.
        """
        with scoped(None, name or "permute", (permutation,)):
            order = convert.convert_to_tensor(permutation, name="permutation")
            if not order.dtype.is_integer:
                raise TypeError(f"permutation.dtype ({order.dtype.name}) should be `int`-like.")
            known = known_values.constant_value(order)
            if known is not None:
                if sorted(known.tolist()) != list(range(known.size)):
                    raise ValueError(f"{_FAULT} Given: {known.tolist()}")
            elif validate_args:
                descending, _ = raw.TopKV2(order, raw.Shape(order)[-1])
                places = raw.Cast(raw.Range(0, raw.Size(order), 1), DstT=order.dtype)
                check = check_ops.assert_equal(
                    raw.ReverseV2(descending, [-1]), places, message=_FAULT
                )
                order = control_flow_ops.with_dependencies([check], order)
            self._permutation = order
        super().__init__(
            graph_parents=[order],
            forward_min_event_ndims=1,
            is_constant_jacobian=True,
            validate_args=validate_args,
            name=name or "permute",
        )

    @property
    def permutation(self) -> Any:
        """The number of the element that each element of the result takes, as a tensor."""
        return self._permutation

    def _forward(self, x: Any) -> Any:
        return raw.GatherV2(x, self.permutation, -1)

    def _inverse(self, y: Any) -> Any:
        return raw.GatherV2(y, raw.InvertPermutation(self.permutation), -1)

    def _forward_log_det_jacobian(self, x: Any) -> Any:
        return convert.constant(0.0, x.dtype.base_dtype)
