"""The dumps of one run, as a folder (python/debug/lib/debug_data.py: DebugDumpDir)."""

import json
import os
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from capstan.core import debug_layout
from capstan.resources import files
from capstan.train.debugger import dump_graphs, dumped


class CoreMetadata(NamedTuple):
    """The description of a run by the master. The two indexes count the runs that dump tensors."""

    global_step: int
    session_run_index: int
    executor_step_index: int
    input_names: list[str]
    output_names: list[str]
    target_nodes: list[str]


class WatchKeyDoesNotExistInDebugDumpDirError(ValueError):
    """The folder has no dump of a tensor."""


class DebugDumpDir(dump_graphs.DumpedGraphs):
    """The dumps below the folder `dump_root`, in the order in which they were written.

    `partition_graphs` are GraphDefs for the devices whose graph is not in the folder. `validate`
    has no effect: Capstan dumps the values in the order of the graph. Blocks while it reads names.

    Raises:
        OSError: there is no such folder.
    """

    def __init__(
        self, dump_root: str, partition_graphs: Sequence[Any] | None = None, validate: bool = True
    ) -> None:
        if not os.path.isdir(dump_root):
            raise OSError(f"Dump root directory {dump_root} does not exist")
        super().__init__()
        self._root = dump_root
        self._core = [
            CoreMetadata(**json.loads(text)) for text in _texts(dump_root, debug_layout.CORE)
        ]
        self._fetches = _texts(dump_root, debug_layout.FETCHES)
        self._feeds = _texts(dump_root, debug_layout.FEEDS)
        self._data: dict[str, list[dumped.DebugTensorDatum]] = {}
        for name in sorted(os.listdir(dump_root)):
            if name.startswith(debug_layout.DEVICE):
                self._read_device(name, partition_graphs or ())
        self._python_graph: Any = None

    def _read_device(self, folder: str, graphs: Sequence[Any]) -> None:
        device = debug_layout.device_of(folder)
        data = []
        for path in _below(os.path.join(self._root, folder)):
            if os.path.basename(path).startswith(debug_layout.GRAPH):
                graphs = [_graph(path)]
            else:
                relative = os.path.relpath(path, self._root)
                data.append(dumped.DebugTensorDatum(self._root, relative))
        self._data[device] = sorted(data, key=_order)
        self._add_graphs(device, graphs)

    @property
    def dump_root(self) -> str:
        return self._root

    @property
    def core_metadata(self) -> CoreMetadata | list[CoreMetadata]:
        """The description of the run, or a list if there is not exactly one."""
        return self._core[0] if len(self._core) == 1 else self._core

    @property
    def run_fetches_info(self) -> str | list[str]:
        """The `repr` of the fetches of the run, or a list if there is not exactly one."""
        return self._fetches[0] if len(self._fetches) == 1 else self._fetches

    @property
    def run_feed_keys_info(self) -> str | list[str]:
        """The `repr` of the fed tensors of the run, or a list if there is not exactly one."""
        return self._feeds[0] if len(self._feeds) == 1 else self._feeds

    @property
    def dumped_tensor_data(self) -> list[dumped.DebugTensorDatum]:
        """All dumped tensors of all devices, in the order of time."""
        return sorted((datum for data in self._data.values() for datum in data), key=_order)

    @property
    def size(self) -> int:
        """The number of dumped tensors."""
        return sum(map(len, self._data.values()))

    @property
    def t0(self) -> int | None:
        """The time of the first dump in microseconds, or None if there is none."""
        return min((data[0].timestamp for data in self._data.values() if data), default=None)

    @property
    def python_graph(self) -> Any:
        """The graph that `set_python_graph` has set, or None."""
        return self._python_graph

    def set_python_graph(self, python_graph: Any) -> None:
        """Set the graph of the program, for `node_traceback`."""
        self._python_graph = python_graph

    def node_traceback(self, element_name: str) -> Any:
        """Return where the program created the node of a tensor.

        Raises:
            LookupError: no graph is set.
            KeyError: the graph has no such node.
        """
        if self._python_graph is None:
            raise LookupError("Python graph is not available for traceback lookup")
        return self._python_graph.get_operation_by_name(element_name.partition(":")[0]).traceback

    def debug_watch_keys(self, node_name: str, device_name: str | None = None) -> list[str]:
        """Return the keys of the dumps of a node, each once."""
        data = self._of(device_name)
        return list(dict.fromkeys(each.watch_key for each in data if each.node_name == node_name))

    def watch_key_to_data(
        self, debug_watch_key: str, device_name: str | None = None
    ) -> list[dumped.DebugTensorDatum]:
        """Return the dumps with a key such as `loss:0:DebugIdentity`."""
        return [datum for datum in self._of(device_name) if datum.watch_key == debug_watch_key]

    def find(
        self,
        predicate: Callable[[dumped.DebugTensorDatum, Any], bool],
        first_n: int = 0,
        device_name: str | None = None,
        exclude_node_names: str | None = None,
    ) -> list[dumped.DebugTensorDatum]:
        """Return the dumps for which `predicate(datum, value)` is true, in the order of time.

        If `first_n` is above 0, it limits their number. `exclude_node_names` is a regular
        expression for the nodes to leave out.
        """
        excluded = re.compile(exclude_node_names) if exclude_node_names else None
        found = []
        for datum in self._of(device_name):
            if excluded is not None and excluded.match(datum.node_name):
                continue
            if predicate(datum, datum.get_tensor()):
                found.append(datum)
                if len(found) == first_n:
                    break
        return found

    def get_tensors(
        self, node_name: str, output_slot: int, debug_op: str, device_name: str | None = None
    ) -> list[Any]:
        """Return the values of all dumps of a tensor.

        Raises:
            WatchKeyDoesNotExistInDebugDumpDirError: there is none. This is a ValueError.
        """
        data = self._existing(node_name, output_slot, debug_op, device_name)
        return [datum.get_tensor() for datum in data]

    def get_tensor_file_paths(
        self, node_name: str, output_slot: int, debug_op: str, device_name: str | None = None
    ) -> list[str]:
        """Return the files of all dumps of a tensor. Raises as `get_tensors`."""
        data = self._existing(node_name, output_slot, debug_op, device_name)
        return [datum.file_path for datum in data]

    def get_rel_timestamps(
        self, node_name: str, output_slot: int, debug_op: str, device_name: str | None = None
    ) -> list[int]:
        """Return the times of all dumps of a tensor, in microseconds after `t0`.

        Raises: as `get_tensors`.
        """
        data = self._existing(node_name, output_slot, debug_op, device_name)
        return [datum.timestamp - (self.t0 or 0) for datum in data]

    def get_dump_sizes_bytes(
        self, node_name: str, output_slot: int, debug_op: str, device_name: str | None = None
    ) -> list[int]:
        """Return the sizes of the files of all dumps of a tensor. Raises as `get_tensors`."""
        data = self._existing(node_name, output_slot, debug_op, device_name)
        return [datum.dump_size_bytes for datum in data]

    def _existing(
        self, node_name: str, output_slot: int, debug_op: str, device_name: str | None
    ) -> list[dumped.DebugTensorDatum]:
        key = f"{node_name}:{output_slot}:{debug_op}"
        found = self.watch_key_to_data(key, device_name)
        if not found:
            raise WatchKeyDoesNotExistInDebugDumpDirError(
                f'Watch key "{key}" does not exist in the debug dump of device {device_name}'
            )
        return found

    def _of(self, device: str | None) -> list[dumped.DebugTensorDatum]:
        return self.dumped_tensor_data if device is None else self._data[device]


def _order(datum: dumped.DebugTensorDatum) -> tuple[int, int]:
    start, _, number = datum.extended_timestamp.partition("-")
    return int(start), int(number or 0)


def _texts(root: str, prefix: str) -> list[str]:
    from tensorboard.compat.proto import event_pb2

    names = sorted(name for name in os.listdir(root) if name.startswith(prefix))
    contents = [files.read_all(os.path.join(root, name)) for name in names]
    return [event_pb2.Event.FromString(each).log_message.message for each in contents]


def _below(folder: str) -> Iterator[str]:
    for inner, _, names in os.walk(folder):
        yield from (os.path.join(inner, name) for name in names)


def _graph(path: str) -> Any:
    from tensorboard.compat.proto import event_pb2, graph_pb2

    event = event_pb2.Event.FromString(files.read_all(path))
    return graph_pb2.GraphDef.FromString(event.graph_def)
