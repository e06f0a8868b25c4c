"""Flows in which each element of a vector depends on those before it.

The source is contrib/distributions/python/ops/bijectors/masked_autoregressive.py. Papamakarios et
al. describe the flow (arXiv 1705.07057), and Germain et al. the masked layers (arXiv 1502.03509).
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from capstan.api import (
    clip_ops,
    init_ops,
    nn,
    reduce_ops,
    scope_block,
    template,
    variable_scope,
    while_ops,
)
from capstan.api.layers import core
from capstan.api.scoped import scoped
from capstan.contrib.distributions.bijectors.bijector import Bijector
from capstan.framework import convert
from capstan.framework.raw import raw


class MaskedAutoregressiveFlow(Bijector):
    """The function of vectors whose element i is x[i] * scale[i] + shift[i].

    The factors and shifts of an element are functions of the elements of the result before it.
    `inverse` calls these functions once, and `forward` once for each element. To draw samples fast,
    and compute densities slowly, use its `Invert`.
    """

    def __init__(
        self,
        shift_and_log_scale_fn: Callable[[Any], tuple[Any, Any]],
        is_constant_jacobian: bool = False,
        validate_args: bool = False,
        unroll_loop: bool = False,
        name: str | None = None,
    ) -> None:
        """Create a flow.

        `shift_and_log_scale_fn` takes the result, and returns the shifts and the logarithms of the
        factors, such as `masked_autoregressive_default_template` does. None is 0.
        `is_constant_jacobian` promises that the factors are the same for all vectors.
        `unroll_loop` computes `forward` without a loop in the graph, for vectors of known size.
        """
        self._function, self._is_unrolled = shift_and_log_scale_fn, unroll_loop
        super().__init__(
            forward_min_event_ndims=1,
            is_constant_jacobian=is_constant_jacobian,
            validate_args=validate_args,
            name=name or "masked_autoregressive_flow",
        )

    def _forward(self, x: Any) -> Any:
        size = x.shape.with_rank_at_least(1).as_list()[-1]
        if self._is_unrolled:
            if size is None:
                raise ValueError(
                    "The final dimension of `x` must be known at graph construction time if "
                    f"`unroll_loop=True`. `x.shape: {x.shape!r}`"
                )
            y = raw.ZerosLike(x)
            for _ in range(size):
                y = self._mapped(x, y)
            return y
        first = raw.ZerosLike(x)
        # The variables must exist before the loop.
        self._function(first)

        def body(index: Any, y: Any) -> tuple[Any, Any]:
            with scope_block.variable_scope(variable_scope.get_variable_scope()) as scope:
                if scope.caching_device is None:
                    scope.set_caching_device(lambda op: op.device)
                return index + 1, self._mapped(x, y)

        count = raw.Shape(x)[-1]
        _, found = while_ops.while_loop(
            lambda index, _: raw.Less(index, count),
            body,
            (convert.constant(0), first),
            maximum_iterations=size,
        )
        return found

    def _mapped(self, x: Any, y: Any) -> Any:
        """Return the result whose first elements are right, for one in which one less is."""
        shift, log_scale = self._function(y)
        if log_scale is not None:
            x = x * raw.Exp(log_scale)
        return x if shift is None else x + shift

    def _inverse(self, y: Any) -> Any:
        shift, log_scale = self._function(y)
        x = y if shift is None else y - shift
        return x if log_scale is None else x * raw.Exp(-log_scale)

    def _inverse_log_det_jacobian(self, y: Any) -> Any:
        _, log_scale = self._function(y)
        if log_scale is None:
            return convert.constant(0.0, y.dtype.base_dtype)
        return -reduce_ops.reduce_sum(log_scale, -1)


def _mask(blocks: int, inputs: int, units: int, *, is_exclusive: bool) -> Any:
    """Return which weights [inputs, units] may differ from 0.

    Inputs and units are divided into blocks. A block of units depends on the blocks of inputs
    before it, and on its own unless the mask is exclusive.
    """
    wide, high = inputs // blocks, units // blocks
    mask = np.zeros((inputs, units))
    for block in range(blocks):
        first = (block + 1 if is_exclusive else block) * high
        mask[block * wide : (block + 1) * wide, first:] = 1
    return mask


def masked_dense(
    inputs: Any,
    units: int,
    num_blocks: int | None = None,
    exclusive: bool = False,
    kernel_initializer: Any = None,
    reuse: bool | None = None,
    name: str | None = None,
    *args: Any,
    **kwargs: Any,
) -> Any:
    """Return a dense layer of vectors in which blocks depend on the blocks before them.

    A block of units also depends on its own block of inputs, unless `exclusive`. More arguments are
    those of `tf.layers.dense`.

    Raises:
        NotImplementedError: the number of inputs is unknown.
    """
    depth = inputs.shape.with_rank_at_least(1).as_list()[-1]
    if depth is None:
        raise NotImplementedError("Rightmost dimension must be known prior to graph execution.")
    kind = inputs.dtype.base_dtype
    blocks = depth if num_blocks is None else num_blocks
    mask = _mask(blocks, depth, units, is_exclusive=exclusive).astype(kind.as_numpy_dtype)
    initializer = kernel_initializer or init_ops.glorot_normal_initializer()

    def masked(shape: Any, dtype: Any = None, partition_info: Any = None) -> Any:
        return mask * initializer(shape, dtype, partition_info)

    made: dict[str, Any] = {
        "kernel_initializer": masked,
        "kernel_constraint": lambda kernel: mask * kernel,
        "name": name,
        "dtype": kind,
        "_scope": name,
        "_reuse": reuse,
    }
    make: Any = core.Dense
    with scoped(name, "masked_dense", (inputs,)):
        return make(units, *args, **made, **kwargs).apply(inputs)


def masked_autoregressive_default_template(
    hidden_layers: Sequence[int],
    shift_only: bool = False,
    activation: Any = nn.relu,
    log_scale_min_clip: Any = -5.0,
    log_scale_max_clip: Any = 3.0,
    log_scale_clip_gradient: bool = False,
    name: str | None = None,
    *args: Any,
    **kwargs: Any,
) -> Any:
    """Return a function for MaskedAutoregressiveFlow: masked layers of these sizes, and one more.

    A layer should have at least as many units as a vector has elements. The function makes its
    variables in its first call, and uses them in all others. With `shift_only`, the factors are 1.
    The logarithms of factors are clipped, but not their gradients, unless
    `log_scale_clip_gradient`. More arguments are those of `tf.layers.dense`.

    Raises:
        NotImplementedError: by the function, if the size of the vectors is unknown.
    """
    name = name or "masked_autoregressive_default_template"

    def shift_and_log_scale(x: Any) -> tuple[Any, Any]:
        size = x.shape.with_rank_at_least(1).as_list()[-1]
        if size is None:
            raise NotImplementedError("Rightmost dimension must be known prior to graph execution.")
        shape = raw.Shape(x)
        known = x.shape
        for index, units in enumerate(hidden_layers):
            x = masked_dense(x, units, size, index == 0, *args, activation=activation, **kwargs)
        units = size if shift_only else 2 * size
        x = masked_dense(x, units, size, not hidden_layers, *args, activation=None, **kwargs)
        if shift_only:
            return x, None
        x = raw.Reshape(x, raw.ConcatV2([shape, [2]], 0))
        x.set_shape(known.concatenate([2]))
        shift, log_scale = x[..., 0], x[..., 1]
        clipped = clip_ops.clip_by_value(log_scale, log_scale_min_clip, log_scale_max_clip)
        if log_scale_clip_gradient:
            return shift, clipped
        return shift, log_scale + raw.StopGradient(clipped - log_scale)

    with scoped(None, name, (log_scale_min_clip, log_scale_max_clip)):
        return template.make_template(name, shift_and_log_scale)
