"""`tf.keras.layers.Embedding` (python/keras/layers/embeddings.py)."""

from typing import Any

from capstan.api import gather_ops, logic_ops, math_ops
from capstan.core import dtypes
from capstan.keras import built_in


class Embedding(built_in.BuiltIn):
    """Looks up a row of a table for each number: [...] becomes [..., output_dim].

    As the first layer of a Sequential model, it takes rows of `input_length` numbers, or of any
    number of them. With `mask_zero`, the number 0 is padding, and the mask of the outputs leaves it
    out. A number that is not in [0, input_dim) fails the step.
    """

    def __init__(
        self,
        input_dim: int,
        output_dim: int,
        embeddings_initializer: Any = "uniform",
        embeddings_regularizer: Any = None,
        activity_regularizer: Any = None,
        embeddings_constraint: Any = None,
        mask_zero: bool = False,
        input_length: Any = None,
        **kwargs: Any,
    ) -> None:
        if "input_shape" not in kwargs and "batch_input_shape" not in kwargs:
            lengths = input_length if isinstance(input_length, list | tuple) else (input_length,)
            kwargs["input_shape"] = tuple(lengths)
        given = built_in.resolved(locals())
        super().__init__(
            activity_regularizer=given["activity_regularizer"],
            dtype=kwargs.pop("dtype", "float32"),
            **kwargs,
        )
        self.input_dim = input_dim
        self.output_dim = output_dim
        self.embeddings_initializer = given["embeddings_initializer"]
        self.embeddings_regularizer = given["embeddings_regularizer"]
        self.embeddings_constraint = given["embeddings_constraint"]
        self.mask_zero = self.supports_masking = mask_zero
        self.input_length = input_length
        self.embeddings: Any = None

    def build(self, input_shape: Any) -> None:
        self.embeddings = self.add_weight(
            "embeddings",
            (self.input_dim, self.output_dim),
            initializer=self.embeddings_initializer,
            regularizer=self.embeddings_regularizer,
            constraint=self.embeddings_constraint,
        )
        self.built = True

    def compute_mask(self, inputs: Any, mask: Any = None) -> Any:
        return logic_ops.not_equal(inputs, 0) if self.mask_zero else None

    def call(self, inputs: Any) -> Any:
        if inputs.dtype.base_dtype not in (dtypes.int32, dtypes.int64):
            inputs = math_ops.cast(inputs, dtypes.int32)
        return gather_ops.embedding_lookup(self.embeddings, inputs)
