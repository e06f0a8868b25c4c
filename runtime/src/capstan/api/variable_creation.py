"""The functions that stand between a program and the variables that it makes.

Sources: `variable_creator_scope` of python/ops/variable_scope.py, and the class of the class
`Variable` of python/ops/variables.py.
"""

import inspect
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

from capstan.api import variable_replicas
from capstan.framework import graph as graphs

__all__ = ["variable_creator_scope"]

Creator = Callable[..., Any]


def variable_creator_scope(variable_creator: Creator) -> AbstractContextManager[None]:
    """Let a function make the variables of a `with` block, for the current thread and graph.

    `tf.Variable` and `tf.get_variable` call `variable_creator(next_creator, **kwargs)` and return
    its result. `kwargs` are all arguments of `tf.Variable`. The function usually returns
    `next_creator(**kwargs)`, with other arguments if it likes. The next creator is that of the
    block around this one, and at last the function that makes a variable.
    """
    return graphs.get_default_graph()._variable_creator_scope(variable_creator)


class CreatedType(type):
    """The type of `tf.Variable`, whose call asks the creators of the open blocks.

    A call of a subclass, such as that for reference variables, makes an object at once.
    """

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        if not graphs.get_default_graph().variable_creators or "_kinds" not in vars(cls):
            return super().__call__(*args, **kwargs)
        bound = cls._signature().bind(None, *args, **kwargs)
        bound.apply_defaults()
        return created(cls.made, dict(list(bound.arguments.items())[1:]))

    def made(cls, **kwargs: Any) -> Any:
        """Make a variable without creators. Arguments that it does not have are ignored.

        Creators may pass on arguments that only distribution strategies know.
        """
        known = cls._signature().parameters
        return type.__call__(cls, **{name: kwargs[name] for name in kwargs if name in known})

    def _signature(cls) -> inspect.Signature:
        return inspect.signature(cls.__init__)  # type: ignore[misc]


def created(make: Creator, given: dict[str, Any]) -> Any:
    """Return what the creators of the open blocks make of the arguments of a variable.

    The last creator is `make`.
    """
    given["synchronization"] = (
        given["synchronization"] or variable_replicas.VariableSynchronization.AUTO
    )
    given["aggregation"] = given["aggregation"] or variable_replicas.VariableAggregation.NONE
    for creator in graphs.get_default_graph().variable_creators:
        make = _before(creator, make)
    return make(**given)


def _before(creator: Creator, following: Creator) -> Creator:
    return lambda **kwargs: creator(following, **kwargs)
