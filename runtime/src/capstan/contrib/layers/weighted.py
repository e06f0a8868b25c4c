"""Apply a layer that has weights and biases, as the functions of `tf.contrib.layers` do
(contrib/layers/python/layers/layers.py).
"""

from typing import Any

from capstan.contrib.layers import collecting

NAMES = collecting.renaming(kernel="weights", bias="biases")
"""The getter under which a layer names its variables as `tf.contrib.layers` does."""


def applied(
    kind: Any, block: Any, inputs: Any, reuse: Any, activation_fn: Any, normalizer_fn: Any,
    normalizer_params: Any, weights_initializer: Any, weights_regularizer: Any,
    biases_initializer: Any, biases_regularizer: Any, variables_collections: Any,
    outputs_collections: Any, trainable: bool, weights: str = "kernel", **arguments: Any,
) -> Any:  # fmt: skip
    """Return the outputs of a new layer `kind(**arguments)` in the open scope `block`.

    With `normalizer_fn`, or without `biases_initializer`, there are no biases. `weights` is the
    attribute of the layer whose variable counts among the weights of `variables_collections`.
    """
    layer = kind(
        use_bias=not normalizer_fn and biases_initializer is not None,
        kernel_initializer=weights_initializer, bias_initializer=biases_initializer,
        kernel_regularizer=weights_regularizer, bias_regularizer=biases_regularizer,
        trainable=trainable, name=block.name, dtype=inputs.dtype.base_dtype, _scope=block,
        _reuse=reuse, **arguments,
    )  # fmt: skip
    outputs = layer.apply(inputs)
    collecting.collect_variables(
        variables_collections, weights=getattr(layer, weights), biases=layer.bias
    )
    return collecting.finished(
        outputs, activation_fn, outputs_collections, block.name, normalizer_fn, normalizer_params
    )
