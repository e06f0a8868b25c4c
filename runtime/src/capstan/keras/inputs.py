"""`tf.keras.Input` (python/keras/engine/input_layer.py)."""

from typing import Any

from capstan.api import variables
from capstan.api.layers import context, settings
from capstan.framework import convert
from capstan.keras import backend_variables, base_layer


class InputLayer(base_layer.Layer):
    """The placeholder of an input, or a tensor that takes its place."""

    def __init__(
        self,
        input_shape: Any = None,
        batch_size: int | None = None,
        dtype: Any = None,
        input_tensor: Any = None,
        sparse: bool = False,
        name: str | None = None,
        ragged: bool = False,
        **kwargs: Any,
    ) -> None:
        """Raises ValueError for an input that is sparse and ragged."""
        if sparse and ragged:
            raise ValueError("tf.keras.Input: an input is sparse or ragged, and not both")
        full = kwargs.pop("batch_input_shape", None)
        kind = dtype or (
            settings.SETTINGS.floatx if input_tensor is None else input_tensor.dtype.base_dtype
        )
        super().__init__(name=name or context.of().numbered("input"), dtype=kind, **kwargs)
        if full is None:
            sizes = (input_shape,) if isinstance(input_shape, int) else input_shape
            full = (batch_size, *(() if sizes is None else tuple(sizes)))
        self.sparse, self.ragged = sparse, ragged
        if input_tensor is None:
            input_tensor = backend_variables.placeholder(
                full, None, self._dtype, sparse, self.name, ragged
            )
            self._batch_input_shape = tuple(full)
        else:
            if isinstance(input_tensor, variables.Variable):
                input_tensor = convert.convert_to_tensor(input_tensor)
            self._batch_input_shape = tuple(input_tensor.shape.as_list())
        self.built = True
        context.of().record(context.Node(self, [], (), {}, input_tensor))
        self._inputs.append(input_tensor)
        self._outputs.append(input_tensor)

    @property
    def output_shape(self) -> list[tuple[int | None, ...]]:
        """The shape of the input in a list, as in TensorFlow."""
        return [self._batch_input_shape]

    def get_config(self) -> dict[str, Any]:
        """Return the arguments that create an equal layer. They are values that JSON can hold."""
        shape = {"batch_input_shape": self._batch_input_shape, "dtype": self.dtype}
        return {**shape, "sparse": self.sparse, "ragged": self.ragged, "name": self.name}


def Input(
    shape: Any = None,
    batch_size: int | None = None,
    name: str | None = None,
    dtype: Any = None,
    sparse: bool = False,
    tensor: Any = None,
    ragged: bool = False,
    **kwargs: Any,
) -> Any:
    """Return the placeholder of an input. `shape` is the shape of one example.

    A `sparse` input is a SparseTensor: its data are matrices of SciPy or SparseTensorValues. A
    `ragged` input is a RaggedTensor, and None in `shape` is a ragged axis: its data are
    RaggedTensorValues.

    Raises:
        ValueError: there is no shape and no tensor, or a shape and a batch_shape, or the input is
            sparse and ragged, or there is an unknown argument.
    """
    unknown = sorted(kwargs.keys() - {"batch_shape"})
    if unknown:
        raise ValueError(f"Unrecognized keyword arguments: {', '.join(unknown)}")
    full = kwargs.pop("batch_shape", None)
    if shape is not None and full is not None:
        raise ValueError("Only provide the `shape` OR `batch_shape` argument to Input, not both.")
    if shape is None and full is None and tensor is None:
        raise ValueError("Please provide to Input either a `shape` or a `tensor` argument.")
    if full is not None:
        kwargs["batch_input_shape"] = tuple(full)
    layer = InputLayer(shape, batch_size, dtype, tensor, sparse, name, ragged, **kwargs)
    return layer.output
