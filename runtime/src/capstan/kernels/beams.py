"""The kernel that follows beams back to their starts.

Source: contrib/seq2seq/kernels/beam_search_ops.cc.
"""

from typing import Any

import numpy as np

from capstan.core.arrays import Array
from capstan.core.shapes import show
from capstan.kernels.arithmetic import constantly
from capstan.kernels.memory import beside, on_host
from capstan.kernels.registry import Kernel, register
from capstan.kernels.rejection import invalid


def _check(step_ids: Array, parent_ids: Array, lengths: Array, end_token: Array) -> None:
    if step_ids.ndim != 3:
        raise invalid(f"step_ids must be a 3-tensor, saw shape: {show(step_ids.shape)}")
    if lengths.ndim != 1:
        raise invalid(f"max_sequence_lengths must be a vector, saw shape: {show(lengths.shape)}")
    if end_token.ndim:
        raise invalid(f"end_token must be a scalar, saw shape: {show(end_token.shape)}")
    if step_ids.shape != parent_ids.shape:
        raise invalid(
            "step_ids.shape must match parent_ids.shape.  but shapes are: "
            f"{show(step_ids.shape)} and {show(parent_ids.shape)}"
        )
    if step_ids.shape[1] != len(lengths):
        raise invalid(
            "batch size dimensions step_ids.shape[1] and max_sequence_lengths.shape[0] must match."
            f"  but shapes are: {show(step_ids.shape)} and {show(lengths.shape)}"
        )


def _gather_tree(step_ids: Array, parent_ids: Array, lengths: Array, end_token: Array) -> Any:
    """Follow the parents from the last step of each example. End tokens fill the rest of a beam."""
    _check(step_ids, parent_ids, lengths, end_token)
    found = _followed(*map(on_host, (step_ids, parent_ids, lengths, end_token)))
    return beside(found, step_ids)


def _followed(step_ids: Array, parent_ids: Array, lengths: Array, end_token: Array) -> Array:
    """Return the paths, from arrays in host memory: each step depends on the one behind it."""
    steps, batch, width = step_ids.shape
    beams = np.full_like(step_ids, end_token)
    # The beam that each path is in. A path starts at the last step, in the beam of its own place.
    places = np.tile(np.arange(width, dtype=parent_ids.dtype), (batch, 1))
    for time in range(steps - 1, -1, -1):
        examples = np.flatnonzero(lengths > time)
        chosen = places[examples]
        wrong = np.argwhere((chosen < 0) | (chosen >= width))
        if len(wrong):
            example, beam = wrong[0]
            raise invalid(
                f"Saw invalid parent id {chosen[example, beam]} at (batch, time, beam) == "
                f"({examples[example]}, {time}, {beam})"
            )
        beams[time, examples] = np.take_along_axis(step_ids[time, examples], chosen, 1)
        places[examples] = np.take_along_axis(parent_ids[time, examples], chosen, 1)
    beams[np.logical_or.accumulate(beams == end_token, axis=0)] = end_token
    return beams


register(Kernel("GatherTree", constantly(_gather_tree)))
