"""What distribution strategies know about a variable (python/ops/variables.py).

Without a strategy, and in a strategy with one replica, a variable has one copy. The values are then
checked and kept.
"""

import enum
from typing import Any


class VariableSynchronization(enum.Enum):
    """When the copies of a variable become equal: with each change, or when it is read."""

    AUTO = 0
    NONE = 1
    ON_WRITE = 2
    ON_READ = 3


class VariableAggregation(enum.Enum):
    """How the changes of several replicas, or the values of several copies, are combined."""

    NONE = 0
    SUM = 1
    MEAN = 2
    ONLY_FIRST_REPLICA = 3
    ONLY_FIRST_TOWER = 3  # noqa: PIE796, an old name


def checked(
    synchronization: Any, aggregation: Any, trainable: bool | None, name: str | None
) -> tuple[VariableSynchronization, VariableAggregation, bool]:
    """Return the arguments of a new variable. None stands for a default.

    By default, a variable is trainable, unless its synchronization is ON_READ.

    Raises:
        ValueError: a value is unknown, or a variable that is synchronized ON_READ is trainable.
    """
    try:
        when = VariableSynchronization(synchronization or VariableSynchronization.AUTO)
    except ValueError:
        raise ValueError(
            f"Invalid variable synchronization mode: {synchronization} for variable: {name}"
        ) from None
    try:
        how = VariableAggregation(aggregation or VariableAggregation.NONE)
    except ValueError:
        raise ValueError(
            f"Invalid variable aggregation mode: {aggregation} for variable: {name}"
        ) from None
    is_read = when is VariableSynchronization.ON_READ
    if is_read and trainable:
        raise ValueError(
            "Synchronization value can be set to VariableSynchronization.ON_READ only for "
            "non-trainable variables. You have specified trainable=True and "
            "synchronization=VariableSynchronization.ON_READ."
        )
    return when, how, not is_read if trainable is None else bool(trainable)
