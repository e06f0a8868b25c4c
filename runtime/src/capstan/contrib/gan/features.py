"""`tf.contrib.gan.features`: parts of networks and of their training
(contrib/gan/python/features/python).
"""

from collections.abc import Sequence
from typing import Any

from capstan.api import (
    array_ops,
    cond_ops,
    data_flow_ops,
    gather_ops,
    known_values,
    nest,
    random_ops,
    reduce_ops,
    variable_scope,
)
from capstan.api.absent import absent
from capstan.api.scoped import scoped
from capstan.contrib.gan.spectral_norms import compute_spectral_norm as compute_spectral_norm
from capstan.contrib.gan.spectral_norms import (
    spectral_norm_regularizer as spectral_norm_regularizer,
)
from capstan.contrib.gan.spectral_norms import (
    spectral_normalization_custom_getter as spectral_normalization_custom_getter,
)
from capstan.contrib.gan.spectral_norms import spectral_normalize as spectral_normalize
from capstan.contrib.gan.virtual_batches import VBN as VBN
from capstan.contrib.layers import dense
from capstan.contrib.opt import variable_clipping
from capstan.core import public
from capstan.framework import graph as graphs
from capstan.framework.raw import raw


def clip_variables(optimizer: Any, variables: Sequence[Any], weight_clip: Any) -> Any:
    """Return an optimizer that keeps the absolute values of variables at most `weight_clip`.

    Raises:
        ValueError: `weight_clip` is negative.
    """
    if weight_clip < 0:
        raise ValueError(
            f"`discriminator_weight_clip` must be positive. Instead, was {weight_clip}"
        )
    return variable_clipping.VariableClippingOptimizer(
        optimizer, {variable: [] for variable in variables}, weight_clip, use_locking=True,
        colocate_clip_ops_with_vars=True,
    )  # fmt: skip


def clip_discriminator_weights(optimizer: Any, model: Any, weight_clip: Any) -> Any:
    """Return an optimizer that bounds the weights of the discriminator (Arjovsky, 2017)."""
    return clip_variables(optimizer, model.discriminator_variables, weight_clip)


def condition_tensor(tensor: Any, conditioning: Any) -> Any:
    """Return the tensor plus a learned linear map of a condition (van den Oord, 2016).

    Raises:
        ValueError: a size of the tensor, other than that of the batch, is unknown, or the condition
            has no axis but that of the batch.
    """
    tensor.shape[1:].assert_is_fully_defined()
    if conditioning.shape.ndims < 2:
        raise ValueError(f"conditioning must be at least 2D, but saw shape: {conditioning.shape}")
    mapped = dense.linear(dense.flatten(conditioning), tensor.shape[1:].num_elements())
    if not mapped.shape.is_compatible_with(tensor.shape):
        sizes = array_ops.shape(tensor)
        known = known_values.constant_value(sizes)
        mapped = array_ops.reshape(mapped, sizes if known is None else known)
    return tensor + mapped


def condition_tensor_from_onehot(
    tensor: Any, one_hot_labels: Any, embedding_size: int = 256
) -> Any:
    """Return the tensor plus a learned linear map of the embeddings of classes.

    Raises:
        ValueError: the labels are no matrix with a known number of columns.
    """
    one_hot_labels.shape.assert_has_rank(2)
    one_hot_labels.shape[1:].assert_is_fully_defined()
    classes = one_hot_labels.shape.as_list()[1]
    embedding = variable_scope.get_variable("embedding", [classes, embedding_size])
    embedded = gather_ops.embedding_lookup(
        embedding, reduce_ops.argmax(one_hot_labels, axis=1), name="token_to_embedding"
    )
    return condition_tensor(tensor, embedded)


def tensor_pool(
    input_values: Any,
    pool_size: int = 50,
    pooling_probability: float = 0.5,
    name: str = "tensor_pool",
) -> Any:
    """Put values into a pool, and return them, or older values from the pool instead.

    The values are a tensor or a structure of tensors, which stay together. The pool returns the
    new values until it is full. Then it replaces random old ones, and returns those with
    `pooling_probability`. A pool of size 0 returns the values.

    Raises:
        ValueError: `pool_size` is negative.
    """
    size = int(pool_size)
    if size < 0:
        raise ValueError("`pool_size` is negative.")
    if size == 0:
        return input_values
    values = nest.flatten(input_values)
    with scoped(f"{name}_pool_queue", "", [*values, pooling_probability]):
        queue = data_flow_ops.RandomShuffleQueue(
            capacity=size, min_after_dequeue=0, dtypes=[value.dtype for value in values]
        )

        def new() -> Any:
            with graphs.get_default_graph().control_dependencies([queue.enqueue(values)]):
                return [array_ops.identity(value) for value in values]

        def exchanged() -> Any:
            old = _listed(queue.dequeue())
            with (
                graphs.get_default_graph().control_dependencies(old),
                graphs.get_default_graph().control_dependencies([queue.enqueue(values)]),
            ):
                is_old = raw.Less(random_ops.random_uniform(()), pooling_probability)
                return cond_ops.cond(is_old, lambda: old, lambda: values)

        outputs = _listed(cond_ops.cond(raw.Less(queue.size(), size), new, exchanged))
        for value, output in zip(values, outputs, strict=True):
            output.set_shape(value.shape)
    return nest.pack_sequence_as(input_values, outputs)


def _listed(values: Any) -> list[Any]:
    return [values] if isinstance(values, graphs.Tensor) else list(values)


def __getattr__(name: str) -> Any:
    raise absent("tf.contrib.gan.features", name)


def __dir__() -> list[str]:
    return public.names(globals())
