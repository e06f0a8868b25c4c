"""`tf.keras.layers.Layer` (python/keras/engine/base_layer.py), for programs that build graphs.

A layer owns variables and other layers. Its first call creates the variables. They are resource
variables, and their names begin with the name scope of this call, such as `dense/kernel`.
"""

from contextlib import AbstractContextManager, nullcontext
from typing import Any

import numpy as np

from capstan.api import type_spec, variables
from capstan.api.autograph.operators import Operators
from capstan.api.layers import calls, context, layer_calls
from capstan.core import dtypes, tensor_shape
from capstan.framework import graph as graphs
from capstan.framework import nest
from capstan.keras import (
    constraints,
    initializers,
    policies,
    regularizers,
    sessions,
    settings,
    tracking,
    values,
)


class Layer(tracking.Tracker, layer_calls.Calls):
    """A function with variables. Override `build` to create them and `call` to use them.

    `call` may have the arguments `training` and `mask`. A layer that is called inside of another
    layer inherits the `training` of that layer. The layers and variables that are attributes of a
    layer, or in its lists and dictionaries, are parts of the layer.
    """

    supports_masking = False

    @property
    def _training_session(self) -> Any:
        """The session of `tf.keras.backend.get_session`, for checkpoints."""
        return sessions.get_session()

    def __init__(
        self,
        trainable: bool = True,
        name: str | None = None,
        dtype: Any = None,
        dynamic: bool = False,
        **kwargs: Any,
    ) -> None:
        """Make a layer. `input_shape` or `batch_input_shape` is the shape for a Sequential model.

        `dtype` is a type, or a `tf.keras.mixed_precision.experimental.Policy`. With `autocast`,
        inputs of floating numbers are cast to the type in which the layer computes.

        Raises:
            TypeError: there is an argument that no layer has.
            NotImplementedError: `dynamic` is true, or there are `weights`.
        """
        if dynamic:
            raise NotImplementedError(
                f"{type(self).__name__}: `dynamic` layers run eagerly, and Capstan only runs "
                "graphs. Build the layer with tf.cond and tf.while_loop"
            )
        if kwargs.pop("weights", None) is not None:
            raise NotImplementedError(
                f"{type(self).__name__}: the argument `weights` needs Keras's own session. Pass "
                "the values with an initializer, such as tf.constant_initializer(matrix)"
            )
        shape, batch = kwargs.pop("input_shape", None), kwargs.pop("batch_size", None)
        full = kwargs.pop("batch_input_shape", None if shape is None else (batch, *shape))
        self._autocast = bool(kwargs.pop("autocast", False))
        if full is not None:
            self._batch_input_shape = tuple(full)
        regularizer = regularizers.get(kwargs.pop("activity_regularizer", None))
        self._dtype_policy = policies.of_layer(dtype)
        if self._dtype_policy is not None:
            dtype = self._dtype_policy.variable_dtype
        super().__init__(trainable, name, dtype, activity_regularizer=regularizer, **kwargs)

    def build(self, input_shape: Any) -> None:
        self.built = True

    def get_config(self) -> dict[str, Any]:
        """Return the arguments that create an equal layer. They are values that JSON can hold."""
        config: dict[str, Any] = {"name": self.name, "trainable": self.trainable}
        if hasattr(self, "_batch_input_shape"):
            config["batch_input_shape"] = self._batch_input_shape
        return {**config, "dtype": self.dtype}

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> Any:
        return cls(**config)

    def add_weight(
        self,
        name: str | None = None,
        shape: Any = None,
        dtype: Any = None,
        initializer: Any = None,
        regularizer: Any = None,
        trainable: bool | None = None,
        constraint: Any = None,
        partitioner: Any = None,
        use_resource: bool | None = None,
        synchronization: Any = None,
        aggregation: Any = None,
        **kwargs: Any,
    ) -> Any:
        """Return a new variable of the layer, a scalar if `shape` is None.

        `initializer`, `regularizer` and `constraint` are objects, their names or configurations.
        Without an initializer, floats get Glorot's uniform initializer, and other numbers zeros.
        The loss of `regularizer` is one of the `losses`. `partitioner` has no effect.

        Raises:
            ValueError: the type of the variable has no default initializer.
        """
        kind = dtypes.as_dtype(dtype or self._dtype or settings.SETTINGS.floatx)
        if self._dtype is None:
            self._dtype = kind.base_dtype
        trained = True if trainable is None else trainable
        variable = variables.Variable(
            self._initial_value(name, () if shape is None else shape, kind, initializer),
            name=name,
            trainable=trainable,
            constraint=constraints.get(constraint),
            dtype=kind.base_dtype,
            use_resource=True if use_resource is None else use_resource,
            synchronization=synchronization,
            aggregation=aggregation,
            collections=kwargs.get("collections"),
        )
        loss = regularizers.get(regularizer)
        if loss is not None:
            scope = f"{variable.op.name}/Regularizer"
            self.add_loss(lambda: calls.in_name_scope(scope, loss, variable))
        (self._trainable_weights if trained else self._non_trainable_weights).append(variable)
        return variable

    add_variable = add_weight

    def _initial_value(self, name: Any, shape: Any, kind: dtypes.DType, initializer: Any) -> Any:
        made = initializers.get(initializer)
        if made is None and kind.is_floating:
            made = initializers.glorot_uniform()
        if made is None and (kind.is_integer or kind.is_bool):
            made = initializers.zeros()
        if made is None:
            raise ValueError(
                f"An initializer for variable {name} of type {kind.base_dtype.name} is required "
                f"for layer {self.name}"
            )
        if not callable(made):
            return made
        function = made() if isinstance(made, type) else made
        sizes = tensor_shape.as_shape(shape).as_list()
        return lambda: function(sizes, dtype=kind.base_dtype)

    def __call__(self, inputs: Any, *args: Any, **kwargs: Any) -> Any:
        """Return `call(inputs, ...)`. The first call creates the variables.

        Arrays and numbers in `inputs` become tensors.

        Raises:
            ValueError: the inputs do not fit `input_spec`.
        """
        inputs = calls.as_tensors(inputs)
        if self._autocast:
            inputs = policies.cast_inputs(inputs, self._compute_dtype(inputs))
        known, signature = context.of(), calls.Signature(self.call)
        masks = calls.input_masks(self, known, inputs, signature.given("mask", args, kwargs))
        options = dict(kwargs)
        is_given = signature.given("mask", args, kwargs) is not None
        if signature.takes("mask") and masks is not None and not is_given:
            options["mask"] = masks
        training = calls.choose_training(known, signature, args, options)
        calls.check_inputs(self, inputs)
        with known.calling(training), graphs.get_default_graph().name_scope(self._scope_name()):
            self._build_once(inputs)
            call = Operators().converted(self.call, warns=False)
            with self._called(), self._with_cast_variables(inputs):
                outputs = call(inputs, *args, **options)
            self._regularize_activity(inputs, outputs)
        outputs = calls.copies(known, inputs, outputs)
        calls.set_masks(self, known, inputs, outputs, masks)
        known.record(context.Node(self, inputs, args, kwargs, outputs))
        self._inputs.append(inputs)
        self._outputs.append(outputs)
        return outputs

    _casts_variables = True
    """Whether the variables become tensors of the type in which the layer computes."""

    def _with_cast_variables(self, inputs: Any) -> AbstractContextManager[None]:
        policy = self._dtype_policy
        if policy is None or not (policy.should_cast_variables and self._casts_variables):
            return nullcontext()
        return policies.variables_cast(self, self._compute_dtype(inputs))

    def _compute_dtype(self, inputs: Any) -> Any:
        """Return the type in which the layer computes: by default that of the first float input."""
        policy = self._dtype_policy
        if policy is not None and policy.compute_dtype is not None:
            return dtypes.as_dtype(policy.compute_dtype)
        if policy is None and self._dtype is not None:
            return self._dtype
        kinds = [each.dtype.base_dtype for each in nest.flatten(inputs) if hasattr(each, "dtype")]
        return next((kind for kind in kinds if kind.is_floating), self._dtype or dtypes.float32)

    def _scope_name(self) -> str:
        return self.name

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
        return self.supports_masking or type(self).compute_mask is not Layer.compute_mask

    def get_weights(self) -> list[np.ndarray]:
        """Return the values of the variables, from Keras's session."""
        return values.batch_get_value(self.weights)

    def set_weights(self, weights: Any) -> None:
        """Set the variables to arrays, in Keras's session.

        Raises:
            ValueError: the number or the shapes of the arrays differ from those of the variables.
        """
        values.batch_set_value(self.pairs(weights))
