"""Kernels of the ops that decide which other nodes run.

The compiler writes loops, branches and calls of functions itself. Their kernels only tell the
placer where such a node can run.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from capstan import errors
from capstan.core import cancellation as cancellations
from capstan.core import dtypes
from capstan.kernels.arithmetic import constantly
from capstan.kernels.registry import Done, Function, Kernel, NodeContext, register
from capstan.resources import variant_message


def _passed_on(*inputs: Any) -> Any:
    return inputs[0]


for _prefix in ("", "Ref"):
    for _op in ("Enter", "Exit", "NextIteration"):
        register(Kernel(f"{_prefix}{_op}", constantly(_passed_on), alias=True))
register(Kernel("LoopCond", constantly(_passed_on), alias=True))
register(Kernel("ControlTrigger", constantly(lambda: None), emit=lambda inputs: "None"))
for _prefix in ("", "Stateless"):
    for _op in ("While", "If", "Case"):
        register(Kernel(f"{_prefix}{_op}", constantly(_passed_on), alias=True))
for _op in ("PartitionedCall", "StatefulPartitionedCall"):
    register(Kernel(_op, constantly(_passed_on), alias=True))


def _iterations(node: NodeContext) -> Function:
    run = node.resources.iterate
    cond, body = node.attrs["cond"], node.attrs["body"]
    variants = [place for place, dtype in enumerate(node.attrs["T"]) if dtype is dtypes.variant]

    def start(*values: Any, done: Done, cancellation: cancellations.Cancellation) -> None:
        def decode(outputs: Sequence[Any], error: errors.OpError | None) -> bool:
            found = list(outputs)
            try:
                for place in variants if error is None else ():
                    # A loop variable that no node reads may have no value.
                    if found[place] is not None:
                        found[place] = variant_message.decoded(found[place])
            except errors.OpError as fault:
                return done((), fault)
            return done(found, error)

        run(cond, body, values, decode if variants else done, cancellation)

    return start


register(Kernel("_While", start=_iterations))


def _all(inputs: Sequence[str]) -> str:
    return inputs[0] if len(inputs) == 1 else f"({', '.join(inputs)})"


def _every(*inputs: Any) -> Any:
    return inputs[0] if len(inputs) == 1 else inputs


def _to_bool(value: Any) -> Any:
    return np.bool_(value.item() if not value.ndim else value.size)


register(Kernel("ToBool", constantly(_to_bool)))
register(Kernel("IdentityN", constantly(_every), alias=True, emit=_all))
