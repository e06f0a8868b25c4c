"""Collective operations: the groups of devices that compute them together, and their parameters.

TensorFlow: core/framework/collective.h. The node of one device is a *member*. The members with one
instance key are an *instance*, and the devices with one group key are a *group*.
"""

import enum
from dataclasses import dataclass

from capstan.core import dtypes


class Kind(enum.IntEnum):
    """What an instance computes, with the numbers of TensorFlow's `CollectiveType`."""

    REDUCE = 0
    BROADCAST = 1
    GATHER = 2


@dataclass(frozen=True, slots=True)
class Group:
    """A group as one member describes it: the key, the number of devices and their type."""

    key: int
    size: int
    device_type: str


@dataclass(frozen=True, slots=True)
class Members:
    """The devices of a complete group, in the order of their ranks, and the task of each device."""

    devices: tuple[str, ...]
    tasks: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Caller:
    """A task that asks the leader. `incarnation` is another number after a restart of the task."""

    task: str
    incarnation: int


@dataclass(frozen=True, slots=True)
class Instance:
    """An instance as one member describes it. All members must agree, except on `is_source`.

    `name` is that of the member's node, for errors. `shape` is that of the output.
    """

    name: str
    kind: Kind
    key: int
    group: Group
    dtype: dtypes.DType
    shape: tuple[int, ...]
    is_source: bool = False
