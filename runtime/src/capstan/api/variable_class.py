"""`Variable` of the module python/ops/variables.py, which is the class of all variables.

`tf.Variable` is `VariableV1` of this module. Programs that import the module get another class.
"""

from typing import Any

from capstan.api import variable_creation, variables


class _ClassOfAll(variable_creation.CreatedType):
    """The type of `Variable`, of which all variables are instances."""

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        return _made(*args, **kwargs) if cls is Variable else super().__call__(*args, **kwargs)

    def __instancecheck__(cls, given: object) -> bool:
        return (
            isinstance(given, variables.Variable)
            if cls is Variable
            else super().__instancecheck__(given)
        )

    def __subclasscheck__(cls, given: type) -> bool:
        if cls is Variable:
            return issubclass(given, variables.Variable)
        return super().__subclasscheck__(given)


class Variable(variables.Variable, metaclass=_ClassOfAll):
    """The class of all variables. `tf.Variable` counts as a subclass.

    A call makes a resource variable. The call has fewer arguments than that of `tf.Variable`:
    `collections`, `expected_shape` and `use_resource` are missing.

    Raises:
        TypeError, ValueError: as `tf.Variable`.
    """

    __slots__ = ()


def _made(
    initial_value: Any = None,
    trainable: bool | None = None,
    validate_shape: bool = True,
    caching_device: Any = None,
    name: str | None = None,
    variable_def: Any = None,
    dtype: Any = None,
    import_scope: str | None = None,
    constraint: Any = None,
    synchronization: Any = None,
    aggregation: Any = None,
    shape: Any = None,
) -> Any:
    """Return a new resource variable, or what the creators of the open blocks make."""
    given = {
        "initial_value": initial_value,
        "trainable": trainable,
        "validate_shape": validate_shape,
        "caching_device": caching_device,
        "name": name,
        "variable_def": variable_def,
        "dtype": dtype,
        "import_scope": import_scope,
        "constraint": constraint,
        "synchronization": synchronization,
        "aggregation": aggregation,
        "shape": shape,
    }
    return variable_creation.created(_resource_variable, given)


def _resource_variable(**given: Any) -> Any:
    return variables.Variable.made(**{**given, "use_resource": True})
