"""The steps of a session that dump tensors for a debugger: their feeds, and the master's own files.

Each task writes the tensors of its own nodes (`kernels.dumps`). The master writes the description
of the run, and the graph of each device, as TensorFlow does (common_runtime/direct_session.cc).
"""

import collections
import itertools
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from capstan.core import debug_layout, debug_watches, graph_def, node
from capstan.graph import watched
from capstan.resources import dump_allowance, tensor_dumps
from capstan.services import signature, step_run

Array = np.ndarray[Any, Any]

_runs = itertools.count(1)
"""Counts the runs of sessions without a cluster, as TensorFlow's direct_session.cc does."""


class DumpedRuns:
    """Counts the runs of sessions, and describes those that dump tensors. Thread-safe."""

    def __init__(self, *, is_in_process: bool) -> None:
        """In a cluster, the number of a run is that of its step, as in TensorFlow.

        TensorFlow does so in distributed_runtime/master_session.cc. The sessions in a process
        number all their runs together, from 1.
        """
        self._is_in_process = is_in_process
        self.count = _runs.__next__
        """Count a run, and return its number. `begin` counts its own run."""
        self._steps: collections.defaultdict[signature.Signature, itertools.count[int]] = (
            collections.defaultdict(itertools.count)
        )

    def begin(
        self,
        requested: signature.Signature,
        feeds: Sequence[Array],
        watches: debug_watches.Watches,
    ) -> tuple[signature.Signature, list[Array]]:
        """Return the signature and the feeds of a run that dumps, and write its description.

        Raises:
            UnavailableError: a URL does not begin with `file://`.
            OpError: the file cannot be written.
        """
        if watches.resets:
            dump_allowance.OF_PROCESS.reset()
        number = self.count()
        dumping = requested._replace(
            feeds=(*requested.feeds, watched.TARGETS.tensor), watches=watches.watches
        )
        step = next(self._steps[dumping])
        run = number if self._is_in_process else step
        text = debug_layout.run_text(
            watches.global_step,
            run,
            step,
            requested.feeds,
            requested.fetches,
            requested.targets,
        )
        for url in watches.urls:
            tensor_dumps.write_run(url, run, text)
        targets = np.empty(len(watches.targets), object)
        targets[:] = watches.encoded()
        return dumping, [*feeds, targets]


def write_graphs(compiled: step_run.CompiledStep, watches: debug_watches.Watches) -> None:
    """Write the graphs of the devices of a step, before it runs, because it may fail.

    Raises: as `DumpedRuns.begin`.
    """
    for device, graph in compiled.watched_graphs.items():
        for url in watches.urls:
            tensor_dumps.write_graph(url, device, graph)


def graphs(nodes: Mapping[str, node.Node]) -> dict[str, bytes]:
    """Return the serialised GraphDef of the nodes of each device, as the client has built them."""
    by_device: dict[str, list[node.Node]] = {}
    for found in nodes.values():
        by_device.setdefault(found.device, []).append(found)
    return {
        device: graph_def.encode(members).SerializeToString()
        for device, members in by_device.items()
    }
