"""`tf.keras.layers.Layer` (python/keras/engine/base_layer.py), for programs that build graphs.

A layer owns variables and other layers. Its first call creates the variables. They are resource
variables, and their names begin with the name scope of this call, such as `dense/kernel`.
"""

import abc
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

import numpy as np

from capstan.api import partitioned_variables, variable_replicas, variables
from capstan.api.layers import base, callable_layer, calls, settings
from capstan.core import dtypes, tensor_shape
from capstan.framework import convert, nest
from capstan.keras import constraints, initializers, plain_layers, policies, regularizers


class Layer(callable_layer.CallableLayer, metaclass=abc.ABCMeta):
    """A function with variables. Override `build` to create them and `call` to use them.

    `call` may have the arguments `training` and `mask`. A layer that is called inside of another
    layer inherits the `training` of that layer. The layers and variables that are attributes of a
    layer, or in its lists and dictionaries, are parts of the layer. Layers of `tf.layers` and cells
    of `tf.nn.rnn_cell` are instances, too.
    """

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
        inputs of floating numbers are cast to the type in which the layer computes. `weights` are
        the initial values of the variables, as arrays in the order of `Layer.weights`.

        Raises:
            TypeError: there is an argument that no layer has.
            NotImplementedError: `dynamic` is true.
        """
        if dynamic:
            raise NotImplementedError(
                f"{type(self).__name__}: `dynamic` layers run eagerly, and Capstan only runs "
                "graphs. Build the layer with tf.cond and tf.while_loop"
            )
        self._initial_weights = kwargs.pop("weights", None)
        shape, batch = kwargs.pop("input_shape", None), kwargs.pop("batch_size", None)
        full = kwargs.pop("batch_input_shape", None if shape is None else (batch, *shape))
        self._autocast = bool(kwargs.pop("autocast", False))
        self._uncast: set[int] = set()
        if full is not None:
            self._batch_input_shape = tuple(full)
        regularizer = regularizers.get(kwargs.pop("activity_regularizer", None))
        self._dtype_policy = policies.of_layer(dtype)
        if self._dtype_policy is not None:
            dtype = self._dtype_policy.variable_dtype
        super().__init__(trainable, name, dtype, activity_regularizer=regularizer, **kwargs)

    def __setattr__(self, name: str, value: Any) -> None:
        super().__setattr__(name, value)
        plain_layers.make_resources({name: value})

    @contextmanager
    def _called(self) -> Iterator[None]:
        plain_layers.make_resources(vars(self))  # Also layers that were appended to lists.
        with super()._called():
            yield

    def build(self, input_shape: Any) -> None:
        self.built = True

    def _build_once(self, inputs: Any) -> None:
        super()._build_once(inputs)
        if self._initial_weights is not None:
            given, self._initial_weights = self._initial_weights, None
            for variable, value in self.pairs([np.asarray(each) for each in given]):
                # A program that initializes its variables itself gets these values, too.
                variable._start_from(convert.convert_to_tensor(value, variable.dtype.base_dtype))

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
        The loss of `regularizer` is one of the `losses`. `getter`, such as `tf.get_variable`, makes
        the variable instead of `tf.Variable`, and gets these arguments by name. `partitioner` has
        an effect only on a getter. No policy casts a variable with `experimental_autocast=False`.

        Raises:
            ValueError: the type of the variable has no default initializer, or the variable is
                summed when it is read, and trainable.
            TypeError: there is an argument that no variable has.
        """
        unknown = sorted(kwargs.keys() - {"collections", "experimental_autocast", "getter"})
        if unknown:
            raise TypeError(f"Unknown keyword argument: {', '.join(unknown)}")
        trained = variable_replicas.checked(synchronization, aggregation, trainable, name)[2]
        kind = dtypes.as_dtype(dtype or self._dtype or settings.SETTINGS.floatx)
        if self._dtype is None:
            self._dtype = kind.base_dtype
        getter = kwargs.get("getter") or _variable
        made = getter(
            name=name,
            shape=() if shape is None else shape,
            dtype=kind.base_dtype,
            initializer=self._weight_initializer(name, kind, initializer),
            trainable=trained,
            constraint=constraints.get(constraint),
            partitioner=partitioner,
            use_resource=True if use_resource is None else use_resource,
            synchronization=synchronization,
            aggregation=aggregation,
            collections=kwargs.get("collections"),
        )
        is_parted = isinstance(made, partitioned_variables.PartitionedVariable)
        loss = regularizers.get(regularizer)
        for variable in list(made) if is_parted else [made]:
            if loss is not None:
                self._regularize_weight(variable, loss)
            if kwargs.get("experimental_autocast") is False:
                self._uncast.add(id(variable))
            listed = self._trainable_weights if trained else self._non_trainable_weights
            listed.append(variable)
        return made

    def _regularize_weight(self, variable: Any, regularizer: Any) -> None:
        scope = f"{variable.op.name}/Regularizer"
        self.add_loss(lambda: calls.in_name_scope(scope, regularizer, variable))

    add_variable = add_weight

    def _weight_initializer(self, name: Any, kind: dtypes.DType, initializer: Any) -> Any:
        """Return an initializer, or a value that is given in its place."""
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
        return made() if isinstance(made, type) else made

    def _prepared(self, inputs: Any) -> Any:
        if self._autocast:
            return policies.cast_inputs(inputs, self._compute_dtype(inputs))
        return inputs

    _casts_variables = True
    """Whether the variables become tensors of the type in which the layer computes."""

    def _with_cast_variables(self, inputs: Any) -> AbstractContextManager[None]:
        policy = self._dtype_policy
        if policy is None or not (policy.should_cast_variables and self._casts_variables):
            return nullcontext()
        return policies.variables_cast(self, self._compute_dtype(inputs), self._uncast)

    def _compute_dtype(self, inputs: Any) -> Any:
        """Return the type in which the layer computes: by default that of the first float input."""
        policy = self._dtype_policy
        if policy is not None and policy.compute_dtype is not None:
            return dtypes.as_dtype(policy.compute_dtype)
        if policy is None and self._dtype is not None:
            return self._dtype
        kinds = [each.dtype.base_dtype for each in nest.flatten(inputs) if hasattr(each, "dtype")]
        return next((kind for kind in kinds if kind.is_floating), self._dtype or dtypes.float32)


def _variable(
    shape: Any, dtype: dtypes.DType, initializer: Any, partitioner: Any, **kwargs: Any
) -> Any:
    """Return a new variable for the arguments of `add_weight`."""
    sizes = tensor_shape.as_shape(shape).as_list()
    is_value = not callable(initializer)
    start = initializer if is_value else lambda: initializer(sizes, dtype=dtype)
    return variables.Variable(start, dtype=dtype, **kwargs)


Layer.register(base.Layer)
