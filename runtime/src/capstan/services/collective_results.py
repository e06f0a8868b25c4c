"""The output of one run of a collective operation, in host memory and on the devices of a task.

The devices of a task first combine their inputs. Then the task takes part once in the exchange
with other tasks (`collective_rounds`).
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from capstan import errors
from capstan.core import collective
from capstan.core.arrays import Array
from capstan.hardware import collectives
from capstan.services import collective_rounds, collective_steps


def result(
    exchange: collective_rounds.Exchange,
    plan: collective_steps.Plan,
    arrivals: Sequence[collective_steps.Arrival],
) -> Array:
    """Return the output of a run in host memory."""
    member = arrivals[0].member
    is_alone = exchange.count == 1
    if member.kind is collective.Kind.REDUCE:
        value = _reduced_here(arrivals)
        assert member.combine is not None
        assert member.finish is not None
        if not is_alone:
            value = collective_rounds.reduce(exchange, value, member.combine)
        return member.finish(value, member.group.size)
    if member.kind is collective.Kind.GATHER:
        rows = np.concatenate([_on_host(arrival) for arrival in arrivals])
        if not is_alone:
            rows = np.concatenate(collective_rounds.gather(exchange, rows))
        for arrival in arrivals:
            _require_rows(arrival, rows)
        return rows
    sources = [arrival for arrival in arrivals if arrival.member.is_source]
    sent = _on_host(sources[0]) if sources else None
    if is_alone:
        assert sent is not None
        return sent
    return collective_rounds.broadcast(exchange, sent, plan.source)


def _reduced_here(arrivals: Sequence[collective_steps.Arrival]) -> Array:
    """Return the combination of the inputs of this task's devices in host memory."""
    if len(arrivals) == 1:
        return _on_host(arrivals[0])
    homes = [arrival.member.device for arrival in arrivals]
    values = [arrival.value for arrival in arrivals if arrival.value is not None]
    for value in values:
        if value.shape != values[0].shape:
            raise errors.InvalidArgumentError(
                None,
                None,
                f"Shape mismatch in the collective instance {arrivals[0].member.instance_key}: "
                f"the devices of this task have {[list(each.shape) for each in values]}",
            )
    total = collectives.reduce(arrivals[0].member.reduction, values, homes, homes[0])
    return _host_copy(homes[0], total)


def _require_rows(arrival: collective_steps.Arrival, rows: Array) -> None:
    """Refuse rows whose number is not what the compiler knows: it may have computed with that."""
    member, expected = arrival.member, arrival.shape[0]
    if expected not in (-1, len(rows)):
        raise errors.InvalidArgumentError(
            None,
            None,
            f"Shape mismatch in the collective instance {member.instance_key}. Op {member.name} at "
            f"device {member.device_name} expected {expected} rows, because each device of the "
            f"group must have as many rows as this one, but got {len(rows)}. If the devices have "
            "different numbers of rows, gather a tensor whose number of rows is not known before "
            "the step: neither a feed nor what follows from the shape of a feed.",
        )


def _on_host(arrival: collective_steps.Arrival) -> Array:
    assert arrival.value is not None
    return _host_copy(arrival.member.device, arrival.value)


def _host_copy(device: Any, value: Array) -> Array:
    if device.is_host:
        return value
    copied: Array = device.copy_out(value)
    device.stream.synchronize()
    return copied


def delivered(result: Array, arrival: collective_steps.Arrival) -> Array:
    """Return the output of an arrival: a copy in the memory of its device."""
    device = arrival.member.device
    if device.is_host:
        return result.copy()
    copied: Array = device.copy_in(result)
    return copied
