"""The RunMetadata of a step: its times, its graphs and its costs (protobuf/config.proto)."""

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from capstan.core import config, step_stats
from capstan.core import node as ir
from capstan.core.arrays import Array
from capstan.partition import graphs, parts
from capstan.services import step_run
from capstan.transport import interfaces


@dataclass(frozen=True, slots=True)
class Wanted:
    """The fields of RunMetadata to fill. `cost_graph` is computed from the `step_stats`."""

    step_stats: bool = False
    partition_graphs: bool = False
    cost_graph: bool = False


class Observer:
    """Decides which metadata the steps of a session return, and makes it. Thread-safe."""

    def __init__(
        self, settings: config.SessionConfig, home: str, incarnations: Mapping[str, int]
    ) -> None:
        """`home` is the task of the master. `incarnations` gives the incarnation of each task."""
        self._settings = settings
        self._home = home
        self._incarnations = incarnations
        self._steps = itertools.count()

    def wanted(self, options: interfaces.StepOptions) -> Wanted | None:
        """Return the metadata that a step must return, or None if it must return none.

        Every trace level gives times (common_runtime/direct_session.cc). If the settings of the
        session ask for the costs of a step, the step gives times too.
        """
        has_costs = self._settings.build_cost_model > 0 and self._is_measured()
        if not (options.trace_level or options.output_partition_graphs or has_costs):
            return None
        return Wanted(
            step_stats=options.trace_level > 0 or has_costs,
            partition_graphs=options.output_partition_graphs,
            cost_graph=has_costs,
        )

    def _is_measured(self) -> bool:
        """Count a step. Return whether the settings ask for the costs of this step."""
        number = next(self._steps) - self._settings.build_cost_model_after
        return number >= 0 and (number + 1) % self._settings.build_cost_model == 0

    def metadata(
        self,
        wanted: Wanted,
        compiled: step_run.CompiledStep,
        fetched: Mapping[ir.Edge, Array],
    ) -> Any:
        """Return the RunMetadata of a step that has ended.

        `fetched` holds all its fetches, with the reports of traced parts.
        """
        from tensorboard.compat.proto import config_pb2

        metadata = config_pb2.RunMetadata()
        cut = _parts(compiled)
        if wanted.step_stats:
            metadata.step_stats.CopyFrom(_step_stats(cut, parts.reports(fetched), self._home))
        if wanted.partition_graphs:
            metadata.partition_graphs.extend(graphs.partition_graphs(cut, self._incarnations))
        if wanted.cost_graph:
            metadata.cost_graph.CopyFrom(_cost_graph(cut, metadata.step_stats))
        return metadata


def _parts(compiled: step_run.CompiledStep) -> list[parts.Part]:
    """Return the part of the master's own task, if there is one, then the other parts."""
    local = [] if compiled.local is None else [compiled.local.part]
    return local + [remote.part for remote in compiled.remotes]


def _step_stats(cut: Sequence[parts.Part], reports: Sequence[Array], home: str) -> Any:
    """Return the StepStats of all tasks. If the master has a device, it comes first.

    TensorFlow feeds and fetches on a device of the master. A step with feeds or fetches therefore
    has a `_SOURCE` there, also if the master runs no node.
    """
    stats = step_stats.joined(reports)
    traces = {parts.trace_edge(part.task) for part in cut}
    is_alone = not any(device.device.startswith(f"{home}/") for device in stats.dev_stats)
    if not is_alone or not any(part.feeds or set(part.fetches) - traces for part in cut):
        return stats
    started = min(
        (entry.all_start_nanos for device in stats.dev_stats for entry in device.node_stats),
        default=0,
    )
    complete = step_stats.encode({f"{home}/device:CPU:0": [step_stats.source(started)]})
    complete.MergeFrom(stats)
    return complete


def _cost_graph(cut: Sequence[parts.Part], stats: Any) -> Any:
    """Return the CostGraphDef of a traced step (common_runtime/costmodel_manager.cc).

    The cost of a node is its longest execution, in microseconds.
    """
    from tensorboard.compat.proto import cost_graph_pb2

    executions: dict[tuple[str, str], list[Any]] = {}
    for device in stats.dev_stats:
        for entry in device.node_stats:
            executions.setdefault((device.device, entry.node_name), []).append(entry)
    placed = [(node, part, graphs.device_of(node, part)) for part in cut for node in part.nodes]
    numbers = {node.name: number for number, (node, _, _) in reversed([*enumerate(placed)])}
    fetched = {edge.node for part in cut for edge in part.fetches}
    found = cost_graph_pb2.CostGraphDef()
    for number, (node, part, device) in enumerate(placed):
        cost = found.node.add(
            name=node.name, device=device, id=number, is_final=node.name in fetched
        )
        for edge in node.inputs:
            if edge.node in numbers:
                cost.input_info.add(preceding_node=numbers[edge.node], preceding_port=edge.index)
        cost.control_input.extend(numbers[name] for name in node.control if name in numbers)
        _add_measured(cost, executions.get((device, node.name), []), node, part)
    return found


def _add_measured(cost: Any, executions: Sequence[Any], node: ir.Node, part: parts.Part) -> None:
    cost.compute_cost = max((entry.all_end_rel_micros for entry in executions), default=0)
    cost.inaccurate = not executions
    for output in executions[-1].output if executions else ():
        described = output.tensor_description
        added = cost.output_info.add(
            size=described.allocation_description.requested_bytes, alias_input_port=-1
        )
        added.shape.ParseFromString(described.shape.SerializeToString())
        dtype = part.tensor_dtypes.get(ir.Edge(node.name, output.slot))
        added.dtype = described.dtype if dtype is None else dtype.base_dtype.as_datatype_enum
