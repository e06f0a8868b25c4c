"""Device names, full or partial: `/job:ps/replica:0/task:1/device:CPU:0`.

A partial name leaves fields out. A missing field matches any value. `DeviceSpec` is TensorFlow 1's
class for names (python/framework/device.py). The placer and the partitioner use the functions of
this module.
"""

import functools
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

_LEGACY_TYPES = ("CPU", "GPU")


@dataclass(slots=True)
class DeviceSpec:
    """The fields of a device name, None where unspecified.

    Mutable, as in TensorFlow. Not thread-safe.
    """

    job: str | None = None
    replica: int | None = None
    task: int | None = None
    device_type: str | None = None
    device_index: int | None = None

    def __post_init__(self) -> None:
        if self.device_type is not None and self.device_type.upper() in _LEGACY_TYPES:
            self.device_type = self.device_type.upper()

    @classmethod
    def from_string(cls, spec: str) -> "DeviceSpec":
        """Read a name. `/cpu:0` and `/gpu:1` are short for `/device:CPU:0` and `/device:GPU:1`.

        >>> DeviceSpec.from_string("/job:w/task:1/gpu:2").to_string()
        '/job:w/task:1/device:GPU:2'

        Raises:
            ValueError: a field is unknown, an index is not a number, or there are two device types.
        """
        read = cls()
        for part in spec.split("/"):
            match part.split(":"):
                case [""]:
                    continue
                case ["job", name]:
                    read.job = name
                case ["replica", index]:
                    read.replica = _number(index, spec)
                case ["task", index]:
                    read.task = _number(index, spec)
                case ["device", kind] | [kind] if _is_type(part, kind):
                    read._set_type(kind, None, spec)
                case ["device", kind, index] | [kind, index] if _is_type(part, kind):
                    read._set_type(kind, _number(index, spec), spec)
                case unknown:
                    raise ValueError(f"Unknown attribute: '{unknown[0]}' in '{spec}'")
        return read

    def parse_from_string(self, spec: str) -> "DeviceSpec":
        """Replace all fields with the fields of the name `spec`. Return self."""
        self._take(DeviceSpec.from_string(spec))
        return self

    def to_string(self) -> str:
        """Return the name with the fields that are set. A type without an index gets `*`."""
        text = ""
        if self.job is not None:
            text += f"/job:{self.job}"
        if self.replica is not None:
            text += f"/replica:{self.replica}"
        if self.task is not None:
            text += f"/task:{self.task}"
        if self.device_type is not None:
            index = "*" if self.device_index is None else self.device_index
            text += f"/device:{self.device_type}:{index}"
        return text

    def merge_from(self, dev: "DeviceSpec") -> None:
        """Replace each field that `dev` sets with the value in `dev`."""
        self._take(self.merged(dev))

    def make_merged_spec(self, dev: "DeviceSpec") -> "DeviceSpec":
        """Return `merged(dev)`."""
        return self.merged(dev)

    def replace(self, **kwargs: Any) -> "DeviceSpec":
        """Return a copy with other values of the fields that `kwargs` names.

        >>> DeviceSpec(job="ps", task=1).replace(task=2).to_string()
        '/job:ps/task:2'
        """
        return replace(self, **kwargs)

    def merged(self, winner: "DeviceSpec") -> "DeviceSpec":
        """Return a spec with the fields that `winner` sets, and the other fields of this spec.

        >>> outer = DeviceSpec.from_string("/job:ps/cpu:0")
        >>> outer.merged(DeviceSpec.from_string("/job:worker/task:1")).to_string()
        '/job:worker/task:1/device:CPU:0'
        """
        return DeviceSpec(
            self.job if winner.job is None else winner.job,
            self.replica if winner.replica is None else winner.replica,
            self.task if winner.task is None else winner.task,
            self.device_type if winner.device_type is None else winner.device_type,
            self.device_index if winner.device_index is None else winner.device_index,
        )

    def matches(self, other: "DeviceSpec") -> bool:
        """Return whether one device can have all fields of both specs."""
        return (
            _fits(self.job, other.job)
            and _fits(self.replica, other.replica)
            and _fits(self.task, other.task)
            and _fits(self.device_type, other.device_type)
            and _fits(self.device_index, other.device_index)
        )

    def is_full(self) -> bool:
        """Return whether all fields are set, so that the spec names a single device."""
        return None not in (self.job, self.replica, self.task, self.device_type, self.device_index)

    def _take(self, other: "DeviceSpec") -> None:
        self.job, self.replica, self.task = other.job, other.replica, other.task
        self.device_type, self.device_index = other.device_type, other.device_index

    def _set_type(self, kind: str, index: int | None, spec: str) -> None:
        if self.device_type is not None:
            raise ValueError(f"Cannot specify multiple device types: {spec}")
        self.device_type = kind.upper() if kind.upper() in _LEGACY_TYPES else kind
        self.device_index = index

    def __hash__(self) -> int:
        return hash(self.to_string())


def _is_type(part: str, kind: str) -> bool:
    return part.startswith("device:") or kind.upper() in _LEGACY_TYPES


def _number(text: str, spec: str) -> int | None:
    if text == "*":
        return None
    if not (text.isascii() and text.isdigit()):
        raise ValueError(
            f"{text!r} in the device name '{spec}' is not a number: write 0, 1, ... or *"
        )
    return int(text)


def _fits(first: str | int | None, second: str | int | None) -> bool:
    return first is None or second is None or first == second


def parse(name: str | DeviceSpec | None) -> DeviceSpec:
    """Return the spec of a name, a copy of a spec, or an empty spec for None.

    Raises:
        ValueError: the name is malformed.
    """
    if isinstance(name, DeviceSpec):
        return replace(name)
    return DeviceSpec(*_fields(name)) if name else DeviceSpec()


@functools.lru_cache(maxsize=1024)
def _fields(name: str) -> tuple[str | None, int | None, int | None, str | None, int | None]:
    """Return the fields of a name. A graph names few devices, but each of its nodes names one."""
    spec = DeviceSpec.from_string(name)
    return spec.job, spec.replica, spec.task, spec.device_type, spec.device_index


def type_of(name: str) -> str:
    """Return the device type of the device that runs a node: CPU if the name has none.

    Raises:
        ValueError: the name is malformed.

    >>> type_of("/job:w/gpu:1"), type_of("/job:w")
    ('GPU', 'CPU')
    """
    return (_fields(name)[3] if name else None) or "CPU"


def canonical(name: str | DeviceSpec | None) -> str:
    """Return the name in TensorFlow's spelling.

    >>> canonical("/cpu:0"), canonical(None), canonical("/task:1/job:w")
    ('/device:CPU:0', '', '/job:w/task:1')
    """
    return parse(name).to_string()


def matches(pattern: str, name: str) -> bool:
    """Return whether two names can denote one device or task. A missing field matches any value.

    >>> matches("/job:ps", "/job:ps/replica:0/task:1"), matches("/job:w/task:0", "/job:w/task:1")
    (True, False)
    """
    return parse(pattern).matches(parse(name))


def matches_any(patterns: Iterable[str], name: str) -> bool:
    """Return whether a session with these device filters sees `name`.

    A session without filters sees every device.
    """
    specs = [parse(pattern) for pattern in patterns]
    return not specs or any(spec.matches(parse(name)) for spec in specs)


def within(name: str, outer: str) -> str:
    """Return the device name of a node of a function that is called on the device `outer`.

    `name` is the device name of the node in the function. The result takes the fields that `name`
    lacks from `outer`, with two exceptions. If `name` sets another job, the result has neither the
    task nor the device index of `outer`. If `name` sets another task or another device type, the
    result does not have the device index of `outer`.

    >>> within("/device:CPU:1", "/job:ps/replica:0/task:2/device:CPU:0")
    '/job:ps/replica:0/task:2/device:CPU:1'
    >>> within("/job:worker", "/job:ps/replica:0/task:2/device:CPU:1")
    '/job:worker/replica:0/device:CPU:*'

    Raises:
        ValueError: a name is malformed.
    """
    own, call = parse(name), parse(outer)
    if own.job not in (None, call.job):
        call.task = call.device_index = None
    if own.task not in (None, call.task):
        call.device_index = None
    if own.device_type not in (None, call.device_type):
        call.device_index = None
    return call.merged(own).to_string()


def task_name(job: str, task: int) -> str:
    """Return the name of a task of a cluster.

    >>> task_name("ps", 0)
    '/job:ps/replica:0/task:0'
    """
    return f"/job:{job}/replica:0/task:{task}"


@functools.lru_cache(maxsize=1024)
def task_of(name: str) -> str:
    """Return the name of the task that a device belongs to.

    >>> task_of("/job:ps/replica:0/task:0/device:CPU:0")
    '/job:ps/replica:0/task:0'

    Raises:
        ValueError: the name has no job or no task.
    """
    spec = parse(name)
    if spec.job is None or spec.task is None:
        raise ValueError(f"the device name {name!r} must set job and task")
    return f"/job:{spec.job}/replica:{spec.replica or 0}/task:{spec.task}"
