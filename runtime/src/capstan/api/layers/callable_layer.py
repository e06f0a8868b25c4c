"""The call of a layer (`Layer.__call__` of python/keras/engine/base_layer.py)."""

import inspect
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import numpy as np

from capstan.api import type_spec
from capstan.api.autograph.operators import Operators
from capstan.api.layers import calls, context, sessions, tracking, values
from capstan.framework import graph as graphs
from capstan.framework import nest


class CallableLayer(tracking.Tracker):
    """A layer that can be called in a graph: `tf.layers.Layer` and `tf.keras.layers.Layer`.

    `call` may have the arguments `training` and `mask`. A layer that is called inside of another
    layer inherits the `training` of that layer.
    """

    supports_masking = False
    dynamic = False
    """Capstan has no layers that run eagerly."""

    @property
    def _training_session(self) -> Any:
        """The session of `tf.keras.backend.get_session`, for checkpoints."""
        return sessions.get_session()

    def __call__(self, inputs: Any, *args: Any, **kwargs: Any) -> Any:
        """Return `call(inputs, ...)`. The first call creates the variables.

        Arrays and numbers in `inputs` become tensors.

        Raises:
            ValueError: the inputs do not fit `input_spec`, or `call` returns None.
        """
        inputs = self._prepared(calls.as_tensors(inputs))
        known, signature = context.of(), calls.Signature(self.call)
        given, options = signature.given(args, kwargs), dict(kwargs)
        masks = calls.input_masks(self, known, inputs, given)
        if signature.takes("mask") and masks is not None and "mask" not in given:
            options["mask"] = masks
        training = calls.choose_training(known, signature, args, options)
        calls.check_inputs(self, inputs)
        with known.calling(training), graphs.get_default_graph().name_scope(self._name_scope()):
            self._build_once(inputs)
            call = Operators().converted(self.call, warns=False)
            with self._called(), self._with_cast_variables(inputs):
                outputs = call(inputs, *args, **options)
            if outputs is None:
                raise ValueError(
                    "A layer's `call` method should return a Tensor or a list of Tensors, not None "
                    f"(layer: {self.name})."
                )
            self._regularize_activity(inputs, outputs)
        is_recorded = self._is_recorded(known, inputs)
        if is_recorded:
            outputs = calls.copies(known, inputs, outputs)
        calls.set_masks(self, known, inputs, outputs, masks)
        if is_recorded:
            known.record(context.Node(self, inputs, args, kwargs, outputs))
        self._inputs.append(inputs)
        self._outputs.append(outputs)
        return outputs

    def get_config(self) -> dict[str, Any]:
        """Return the arguments that create an equal layer. They are values that JSON can hold.

        Raises:
            NotImplementedError: the layer has arguments of its own, but no `get_config`.
        """
        return described(self, CallableLayer.get_config)

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> Any:
        """Return the layer that `get_config` describes."""
        return cls(**config)

    def _prepared(self, inputs: Any) -> Any:
        """Return the inputs as the layer takes them."""
        return inputs

    def _name_scope(self) -> str:
        """Return the name scope of a call."""
        return self.name

    def _is_recorded(self, known: context.GraphContext, inputs: Any) -> bool:
        """Return whether a model of Keras can repeat a call with these inputs."""
        return True

    def _with_cast_variables(self, inputs: Any) -> AbstractContextManager[None]:
        """Return the block in which the variables have the type of the computation."""
        return nullcontext()

    def _build_once(self, inputs: Any) -> None:
        if self.built:
            return
        tensors = nest.flatten(inputs)
        if self._dtype is None and hasattr(next(iter(tensors), None), "dtype"):
            self._dtype = tensors[0].dtype.base_dtype
        has_shapes = all(hasattr(tensor, "shape") for tensor in tensors)
        shapes = [tensor.shape for tensor in tensors] if has_shapes else None
        self.build(None if shapes is None else nest.packed(inputs, shapes))
        self.built = True

    def _regularize_activity(self, inputs: Any, outputs: Any) -> None:
        """Add the loss of the outputs for one example, whatever the size of the batch is."""
        if self.activity_regularizer is None:
            return
        with graphs.get_default_graph().name_scope("ActivityRegularizer"):
            for output in nest.flatten(outputs):
                loss = self.activity_regularizer(output)
                self.add_loss(loss / calls.batch_size(output, loss.dtype), inputs=inputs)

    def compute_output_signature(self, input_signature: Any) -> Any:
        """Return the TensorSpecs of the outputs for those of the inputs.

        Their type is that of the layer, or the type of the first input if the layer has none.

        Raises:
            TypeError: an input is not a TensorSpec.
        """
        given = nest.flatten(input_signature)
        for spec in given:
            if not isinstance(spec, type_spec.TensorSpec):
                raise TypeError(
                    "Only TensorSpec signature types are supported, but saw signature signature "
                    f"entry: {spec}."
                )
        shapes = self.compute_output_shape(
            nest.packed(input_signature, [spec.shape for spec in given])
        )
        dtype = given[0].dtype if self._dtype is None else self._dtype
        return nest.mapped(lambda shape: type_spec.TensorSpec(shape, dtype), shapes)

    def compute_mask(self, inputs: Any, mask: Any = None) -> Any:
        """Return the mask of the outputs for the mask of the inputs.

        Raises:
            TypeError: there is a mask, and the layer does not support masks.
        """
        if self.supports_masking:
            return mask
        if any(each is not None for each in nest.flatten(mask)):
            raise TypeError(
                f"Layer {self.name} does not support masking, but was passed an input_mask: {mask}"
            )
        return None

    @property
    def _computes_masks(self) -> bool:
        return self.supports_masking or type(self).compute_mask is not CallableLayer.compute_mask

    def get_weights(self) -> list[np.ndarray]:
        """Return the values of the variables, from Keras's session."""
        return values.batch_get_value(self.weights)

    def set_weights(self, weights: Any) -> None:
        """Set the variables to arrays, in Keras's session.

        Raises:
            ValueError: the number or the shapes of the arrays differ from those of the variables.
        """
        values.batch_set_value(self.pairs(weights))


def described(layer: Any, inherited: Any) -> dict[str, Any]:
    """Return the configuration of a layer without arguments of its own.

    `inherited` is the method `get_config` of the base class.

    Raises:
        NotImplementedError: the layer has arguments, and inherits `get_config`.
    """
    config: dict[str, Any] = {"name": layer.name, "trainable": layer.trainable}
    if hasattr(layer, "_batch_input_shape"):
        config["batch_input_shape"] = layer._batch_input_shape
    config["dtype"] = layer.dtype
    own = inspect.getfullargspec(type(layer).__init__).args[1:]
    others = [name for name in own if name not in (*config, "dynamic")]
    if others and type(layer).get_config is inherited:
        raise NotImplementedError(
            "Layers with arguments in `__init__` must override `get_config`. "
            f"{type(layer).__name__} has {', '.join(others)}"
        )
    return config
