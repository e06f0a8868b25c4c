"""Flows that scale and shift a part of a vector by functions of the rest: NICE and real NVP.

The source is contrib/distributions/python/ops/bijectors/real_nvp.py. Dinh et al. describe the flow
(arXiv 1605.08803).
"""

from collections.abc import Callable, Sequence
from typing import Any

from capstan.api import array_ops, nn, reduce_ops, template
from capstan.api.layers import core
from capstan.api.scoped import scoped
from capstan.contrib.distributions.bijectors.bijector import Bijector
from capstan.framework import convert
from capstan.framework.raw import raw


class RealNVP(Bijector):
    """The function of vectors that keeps the first elements, and maps each other one linearly.

    The factors and shifts of the other elements are functions of the first ones. Both directions
    are equally fast.
    """

    def __init__(
        self,
        num_masked: int,
        shift_and_log_scale_fn: Callable[[Any, int], tuple[Any, Any]],
        is_constant_jacobian: bool = False,
        validate_args: bool = False,
        name: str | None = None,
    ) -> None:
        """Create a flow that keeps the first `num_masked` elements.

        `shift_and_log_scale_fn` takes them and the number of the other elements, and returns the
        shifts and the logarithms of the factors, such as `real_nvp_default_template` does. None is
        0. `is_constant_jacobian` promises that the factors are the same for all vectors.

        Raises:
            ValueError: `num_masked` is not positive.
        """
        if num_masked <= 0:
            raise ValueError(f"num_masked must be a positive integer, but is {num_masked}.")
        self._num_masked, self._function = num_masked, shift_and_log_scale_fn
        super().__init__(
            forward_min_event_ndims=1,
            is_constant_jacobian=is_constant_jacobian,
            validate_args=validate_args,
            name=name or "real_nvp",
        )

    def _parts(self, vectors: Any) -> tuple[Any, Any, Any, Any]:
        """Return both parts of vectors, and the shifts and factors' logarithms of the second."""
        size = vectors.shape.with_rank_at_least(1).as_list()[-1]
        if size is None:
            raise NotImplementedError("Rightmost dimension must be known prior to graph execution.")
        if self._num_masked >= size:
            raise ValueError(
                f"Number of masked units must be smaller than the event size: {self._num_masked} "
                f"of {size}"
            )
        kept, mapped = vectors[..., : self._num_masked], vectors[..., self._num_masked :]
        return kept, mapped, *self._function(kept, size - self._num_masked)

    def _forward(self, x: Any) -> Any:
        kept, mapped, shift, log_scale = self._parts(x)
        if log_scale is not None:
            mapped = mapped * raw.Exp(log_scale)
        if shift is not None:
            mapped = mapped + shift
        return raw.ConcatV2([kept, mapped], -1)

    def _inverse(self, y: Any) -> Any:
        kept, mapped, shift, log_scale = self._parts(y)
        if shift is not None:
            mapped = mapped - shift
        if log_scale is not None:
            mapped = mapped * raw.Exp(-log_scale)
        return raw.ConcatV2([kept, mapped], -1)

    def _forward_log_det_jacobian(self, x: Any) -> Any:
        _, _, _, log_scale = self._parts(x)
        if log_scale is None:
            return convert.constant(0.0, x.dtype.base_dtype)
        return reduce_ops.reduce_sum(log_scale, -1)

    def _inverse_log_det_jacobian(self, y: Any) -> Any:
        # The part that decides the factors is the same on both sides.
        return -self._forward_log_det_jacobian(y)


def real_nvp_default_template(
    hidden_layers: Sequence[int],
    shift_only: bool = False,
    activation: Any = nn.relu,
    name: str | None = None,
    *args: Any,
    **kwargs: Any,
) -> Any:
    """Return a function for RealNVP: dense layers of these sizes, and one for the results.

    The function makes its variables in its first call, and uses them in all others. With
    `shift_only`, the factors are 1. More arguments are those of `tf.layers.dense`.
    """

    def shift_and_log_scale(x: Any, output_units: int) -> tuple[Any, Any]:
        for units in hidden_layers:
            x = core.dense(x, units, activation, *args, **kwargs)
        x = core.dense(x, output_units * (1 if shift_only else 2), None, *args, **kwargs)
        if shift_only:
            return x, None
        shift, log_scale = array_ops.split(x, 2, axis=-1)
        return shift, log_scale

    with scoped(name, "real_nvp_default_template"):
        return template.make_template("real_nvp_default_template", shift_and_log_scale)
