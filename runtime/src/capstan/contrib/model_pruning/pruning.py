"""The pruning of weights with masks while a model trains
(contrib/model_pruning/python/pruning.py and learning.py).
"""

import re
from collections.abc import Callable
from typing import Any

from capstan.api import (
    array_ops,
    cond_ops,
    control_flow_ops,
    gather_ops,
    init_ops,
    logging,
    logic_ops,
    math_ops,
    nn,
    partitioned_variables,
    scope_block,
    state_ops,
    variable_scope,
)
from capstan.contrib import hparam
from capstan.contrib.model_pruning import masks
from capstan.contrib.slim import learning
from capstan.core import dtypes
from capstan.framework import convert
from capstan.framework import graph as graphs
from capstan.framework.raw import raw
from capstan.train import steps, summary


def get_pruning_hparams() -> Any:
    """Return an HParams with the settings of a pruning, and their defaults.

    Masks change from `begin_pruning_step` to `end_pruning_step`, or to the end of the training if
    it is -1, every `pruning_frequency` steps. The share of zeros goes from `initial_sparsity` to
    `target_sparsity` between `sparsity_function_begin_step` and `sparsity_function_end_step`,
    slower at the end if `sparsity_function_exponent` is above 1. `weight_sparsity_map` has other
    targets, such as `conv1:0.9`, for the weights in whose names a regular expression is found.
    `threshold_decay` is the share of the old threshold in a new one. Matrices are pruned by blocks
    of `block_height` x `block_width`, or of `block_dims_map`, such as `dense1:4x4`, by the mean or
    the maximum of each (`block_pooling_function`, AVG or MAX). -1 is the size of the matrix. `name`
    is the scope of operations. `nbins` and `use_tpu` have no effect.
    """
    return hparam.HParams(
        name="model_pruning",
        begin_pruning_step=0,
        end_pruning_step=-1,
        weight_sparsity_map=[""],
        block_dims_map=[""],
        threshold_decay=0.0,
        pruning_frequency=10,
        nbins=256,
        block_height=1,
        block_width=1,
        block_pooling_function="AVG",
        initial_sparsity=0.0,
        target_sparsity=0.5,
        sparsity_function_begin_step=0,
        sparsity_function_end_step=100,
        sparsity_function_exponent=3.0,
        use_tpu=False,
    )


class Pruning:
    """Updates the masks of the default graph (`get_masks`)."""

    def __init__(self, spec: Any = None, global_step: Any = None, sparsity: Any = None) -> None:
        """Build the sparsity of a step.

        `spec` has the settings of `get_pruning_hparams`, and `global_step` is by default that of
        the graph. `sparsity`, a scalar, replaces the share of zeros that `spec` gives.

        Raises:
            ValueError: a setting is out of range.
        """
        self._spec = spec or get_pruning_hparams()
        _check(self._spec)
        step = steps.get_global_step() if global_step is None else global_step
        self._global_step = math_ops.cast(step, dtypes.int32)
        self._sparsity = self._planned_sparsity() if sparsity is None else sparsity
        self._updates: list[Any] = []
        with scope_block.variable_scope(self._spec.name, reuse=variable_scope.AUTO_REUSE):
            self._last_update_step = variable_scope.get_variable(
                "last_mask_update_step", [], dtypes.int32, init_ops.Zeros, trainable=False
            )
        self._sparsities = {
            re.compile(name): float(value) for name, value in _pairs(self._spec.weight_sparsity_map)
        }
        if any(value >= 1 for value in self._sparsities.values()):
            raise ValueError("Weight sparsity can not exceed 1.0")
        self._blocks = {
            re.compile(name): _block(name, value)
            for name, value in _pairs(self._spec.block_dims_map)
        }

    def mask_update_op(self) -> Any:
        """Return the operation that updates all masks and thresholds.

        Raises:
            ValueError: the kind of pooling is unknown, or a name has several settings.
        """
        graph = graphs.get_default_graph()
        with graph.name_scope(self._spec.name):
            if not self._updates:
                rows = zip(
                    masks.get_masks(), masks.get_weights(), masks.get_thresholds(), strict=True
                )
                self._updates = [each for row in rows for each in self._update(*row)]
            seen = state_ops.assign(self._last_update_step, self._global_step)
            with graph.control_dependencies([seen, *self._updates]):
                return control_flow_ops.no_op("mask_update")

    def conditional_mask_update_op(self) -> Any:
        """Return the operation that updates the masks in the steps that the settings say."""
        step, spec = self._global_step, self._spec
        with graphs.get_default_graph().name_scope(spec.name):
            is_due = logic_ops.less_equal(self._last_update_step + spec.pruning_frequency, step)
            has_begun = logic_ops.greater_equal(step, spec.begin_pruning_step)
            is_time = logic_ops.logical_and(has_begun, is_due)
            if spec.end_pruning_step >= 0:
                goes_on = logic_ops.less_equal(step, spec.end_pruning_step)
                is_time = logic_ops.logical_and(is_time, goes_on)
        return cond_ops.cond(is_time, self.mask_update_op, control_flow_ops.no_op)

    def add_pruning_summaries(self) -> None:
        """Add summaries of the sparsities and the thresholds to the graph."""
        with graphs.get_default_graph().name_scope(f"{self._spec.name}_summaries"):
            summary.scalar("sparsity", self._sparsity)
            summary.scalar("last_mask_update_step", self._last_update_step)
            for mask, threshold in zip(masks.get_masks(), masks.get_thresholds(), strict=True):
                summary.scalar(f"{_name(mask)}/sparsity", nn.zero_fraction(mask))
                summary.scalar(f"{threshold.op.name}/threshold", threshold)

    def print_hparams(self) -> None:
        """Log the settings, as JSON."""
        logging.info(self._spec.to_json())

    def _planned_sparsity(self) -> Any:
        spec = self._spec
        first, last = spec.sparsity_function_begin_step, spec.sparsity_function_end_step
        with graphs.get_default_graph().name_scope(spec.name):
            passed = math_ops.cast(self._global_step - first, dtypes.float32) / (last - first)
            left = 1 - math_ops.minimum(1.0, math_ops.maximum(0.0, passed))
            change = spec.initial_sparsity - spec.target_sparsity
            power = math_ops.pow(left, spec.sparsity_function_exponent)
            return math_ops.add(change * power, spec.target_sparsity, name="sparsity")

    def _update(self, mask: Any, weights: Any, threshold: Any) -> list[Any]:
        """Return the operations that set a threshold and a mask."""
        name = _name(weights)
        tensor = convert.convert_to_tensor(weights)
        with graphs.get_default_graph().name_scope(f"{name}_pruning_ops"):
            new_threshold, new_mask = self._pruned(name, math_ops.abs(tensor), threshold)
            if not isinstance(mask, partitioned_variables.PartitionedVariable):
                return [
                    state_ops.assign(threshold, new_threshold), state_ops.assign(mask, new_mask),
                ]  # fmt: skip
            return [
                state_ops.assign(threshold, new_threshold),
                *(
                    state_ops.assign(part, array_ops.slice(new_mask, start, part.shape))
                    for part, start in zip(mask, _starts(mask), strict=True)
                ),
            ]

    def _pruned(self, name: str, sizes: Any, threshold: Any) -> tuple[Any, Any]:
        """Return the new threshold and the new mask of weights of these absolute values."""
        matrix = array_ops.squeeze(sizes)
        height, width = _matching(self._blocks, name, "block_dims_map") or (
            self._spec.block_height, self._spec.block_width,
        )  # fmt: skip
        if matrix.shape.ndims != 2 or (height, width) == (1, 1):
            return self._cut(name, sizes, threshold)
        rows, columns = matrix.shape.as_list()
        height, width = (
            size if block == -1 else block for block, size in ((height, rows), (width, columns))
        )
        kind = self._spec.block_pooling_function
        if kind not in ("AVG", "MAX"):
            raise ValueError(f"Unknown pooling function for block sparsity: {kind}")
        image = array_ops.reshape(matrix, [1, rows, columns, 1])
        pooled = nn.pool(image, [height, width], kind, "SAME", strides=[height, width])
        new_threshold, kept = self._cut(name, array_ops.squeeze(pooled, [0, 3]), threshold)
        across, down = kept.shape.as_list()
        wide = raw.Tile(array_ops.reshape(kept, [across, 1, down, 1]), [1, height, 1, width])
        whole = array_ops.reshape(wide, [across * height, down * width])
        return new_threshold, array_ops.reshape(whole[:rows, :columns], sizes.shape.as_list())

    def _cut(self, name: str, sizes: Any, threshold: Any) -> tuple[Any, Any]:
        """Return the threshold that leaves the wanted share, and the mask of what is above it."""
        sparsity = self._sparsity
        target = _matching(self._sparsities, name, "weight_sparsity_map")
        if target is not None:
            sparsity = sparsity * (target / self._spec.target_sparsity)
        count = raw.Size(sizes)
        kept = math_ops.round(math_ops.cast(count, dtypes.float32) * (1 - sparsity))
        values, _ = nn.top_k(array_ops.reshape(sizes, [-1]), count)
        last = math_ops.maximum(math_ops.cast(kept, dtypes.int32) - 1, 0)
        decay = self._spec.threshold_decay
        new = gather_ops.gather(values, last) * (1 - decay) + threshold * decay
        return new, math_ops.cast(logic_ops.greater_equal(sizes, new), sizes.dtype)


def train(
    train_op: Any,
    logdir: str | None,
    mask_update_op: Any,
    train_step_fn: Callable[..., Any] = learning.train_step,
    *arguments: Any,
    **named: Any,
) -> Any:
    """Train as `slim.learning.train` does, and update the masks after each step. Blocks.

    The other arguments are those of `slim.learning.train`. Return the last loss.
    """

    def step(session: Any, *rest: Any) -> Any:
        found = train_step_fn(session, *rest)
        session.run(mask_update_op)
        return found

    return learning.train(train_op, logdir, step, *arguments, **named)


def _check(spec: Any) -> None:
    """Raise ValueError if a setting is out of range."""
    begin, end = spec.begin_pruning_step, spec.end_pruning_step
    if begin < 0:
        raise ValueError(f"Illegal value for begin_pruning_step: {begin}. It must not be negative")
    if begin >= end != -1:
        raise ValueError(
            f"Pruning must begin before it can end. begin_step={begin}, end_step={end}. Set "
            "end_pruning_step to -1 if pruning is required till training stops"
        )
    first, last = spec.sparsity_function_begin_step, spec.sparsity_function_end_step
    if first < 0:
        raise ValueError(
            f"Illegal value for sparsity_function_begin_step: {first}. It must not be negative"
        )
    if first >= last:
        raise ValueError(f"Sparsity function requires begin_step < end_step, not {first} >= {last}")
    for name in ("threshold_decay", "initial_sparsity", "target_sparsity"):
        if not 0 <= getattr(spec, name) < 1:
            raise ValueError(f"{name} must be in range [0,1), but is {getattr(spec, name)}")


def _pairs(entries: list[str]) -> list[list[str]]:
    return [entry.split(":") for entry in entries if entry]


def _block(name: str, text: str) -> tuple[int, int]:
    sizes = text.split("x")
    if len(sizes) != 2:
        raise ValueError(f"Expected 2 values for block dim for {name}, got {sizes}")
    return int(sizes[0]), int(sizes[1])


def _matching(settings: dict[Any, Any], name: str, what: str) -> Any:
    """Return the setting whose regular expression is found in a name, or None."""
    found = [value for regex, value in settings.items() if regex.search(name)]
    if len(found) > 1:
        raise ValueError(f"Multiple matches in {what} for weight {name}")
    return found[0] if found else None


def _name(weights: Any) -> str:
    """Return the name of the operation of weights, or of weights in parts."""
    has_parts = isinstance(weights, partitioned_variables.PartitionedVariable)
    return str(weights.name if has_parts else weights.op.name)


def _starts(mask: Any) -> list[Any]:
    """Return the first index of each part of a mask in parts."""
    return [part._get_save_slice_info().var_offset for part in mask]
