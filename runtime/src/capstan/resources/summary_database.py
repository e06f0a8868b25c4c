"""The writer of a database of summaries, in place of an event file.

Source: core/summary/summary_db_writer.cc. The tables are in `summary_schema`.
"""

import random
import sqlite3
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

import numpy as np

from capstan import errors
from capstan.core import dtypes, tensor_proto
from capstan.resources import summary_schema

_ID_BITS: Final = (23, 31, 47)
"""The sizes of the numbers of rows. After a collision, numbers get larger."""
_TRIES: Final = 21

_UNSUPPORTED: Final = (dtypes.bool_, dtypes.bfloat16)

_KINDS: Final[dict[int, type[errors.OpError]]] = {
    **dict.fromkeys(
        (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_MISMATCH), errors.FailedPreconditionError
    ),
    **dict.fromkeys(
        (sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_CONSTRAINT, sqlite3.SQLITE_NOTADB),
        errors.InvalidArgumentError,
    ),
    sqlite3.SQLITE_CORRUPT: errors.DataLossError,
    **dict.fromkeys((sqlite3.SQLITE_AUTH, sqlite3.SQLITE_PERM), errors.PermissionDeniedError),
    **dict.fromkeys((sqlite3.SQLITE_FULL, sqlite3.SQLITE_TOOBIG), errors.ResourceExhaustedError),
    **dict.fromkeys((sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED), errors.UnavailableError),
}
"""The errors for the codes of SQLite (core/lib/db/sqlite.cc)."""


class DatabaseWriter:
    """Writes events to a database of summaries. Thread-safe. An event is written when it is added.

    Without the name of a run, tags belong to no run. A run without the name of an experiment
    belongs to no experiment, and an experiment without the name of a user to no user.
    """

    def __init__(self, uri: str, experiment: str, run: str, user: str) -> None:
        """Open a database, and make it if it does not exist. `uri` is a path or `file:PATH`.

        Raises:
            OpError: the database cannot be opened.
        """
        self._lock = threading.Lock()
        self._experiment, self._run, self._user = experiment, run, user
        self._id_bits = 0
        self._run_id: int | None = None
        self._experiment_id: int | None = None
        self._tags: dict[str, int] = {}
        self.is_open = True
        with _translated(f"Sqlite::Open({uri}) failed"):
            self._database = sqlite3.connect(
                uri, uri=True, isolation_level=None, check_same_thread=False
            )
            try:
                with self._database:
                    self._database.execute("BEGIN IMMEDIATE")
                    for statement in summary_schema.statements():
                        self._database.execute(statement)
            except sqlite3.Error:
                self._database.close()
                raise

    def add_event(self, event: Any) -> None:
        """Write the summaries or the graph of an `Event`. Other events are left out. Blocks.

        Raises:
            OpError: the database cannot be written, or a tensor has a type that it does not hold.
        """
        with self._lock, _translated("The summary was not written"):
            before = self._run_id, self._experiment_id, dict(self._tags)
            try:
                with self._database:
                    self._database.execute("BEGIN IMMEDIATE")
                    self._write(event)
            except BaseException:
                self._run_id, self._experiment_id, self._tags = before
                raise

    def _write(self, event: Any) -> None:
        for value in event.summary.value:
            found = _tensor(value)
            if found is not None:
                plugin, tensor = found
                tag = self._tag(value, plugin, event.wall_time)
                self._append(tag, event.step, event.wall_time, tensor)
        if event.graph_def:
            self._save_graph(event.graph_def, event.wall_time)

    def flush(self) -> None:
        """Do nothing: all events are written."""

    def close(self) -> None:
        """Record that the run has ended, and close the database. Idempotent."""
        with self._lock:
            if not self.is_open:
                return
            self.is_open = False
            with _translated("The end of the run was not written"):
                if self._run_id is not None:
                    self._database.execute(
                        "UPDATE Runs SET finished_time = ? WHERE run_id = ?",
                        (time.time(), self._run_id),
                    )
                self._database.close()

    # --- the rows around the tensors

    def _new_id(self) -> int:
        for _ in range(_TRIES - 1):
            try:
                return self._drawn_id()
            except sqlite3.IntegrityError:
                self._id_bits = min(self._id_bits + 1, len(_ID_BITS) - 1)
        return self._drawn_id()

    def _drawn_id(self) -> int:
        number = random.getrandbits(_ID_BITS[self._id_bits]) or 1
        self._database.execute("INSERT INTO Ids (id) VALUES (?)", (number,))
        return number

    def _insert(self, table: str, *, replace: bool = False, **values: Any) -> int:
        """Insert a row, and return its rowid."""
        verb = "INSERT OR REPLACE" if replace else "INSERT"
        marks = ", ".join("?" * len(values))
        done = self._database.execute(
            f"{verb} INTO {table} ({', '.join(values)}) VALUES ({marks})", tuple(values.values())
        )
        assert done.lastrowid is not None
        return done.lastrowid

    def _begin_run(self, started: float) -> int | None:
        """Return the number of the run. The first event makes its row."""
        if not self._run or self._run_id is not None:
            self._note_start("Experiments", "experiment_id", self._experiment_id, started)
            self._note_start("Runs", "run_id", self._run_id, started)
            return self._run_id
        if self._experiment:
            self._experiment_id = self._found_experiment(started)
        self._run_id = self._new_id()
        self._insert(
            "Runs", replace=True, experiment_id=self._experiment_id, run_id=self._run_id,
            run_name=self._run, inserted_time=time.time(), started_time=started,
        )  # fmt: skip
        return self._run_id

    def _note_start(self, table: str, key: str, number: int | None, started: float) -> None:
        """Move the start of a run or an experiment to the time of an earlier event."""
        if number is not None:
            self._database.execute(
                f"UPDATE {table} SET started_time = ? WHERE {key} = ? AND started_time > ?",
                (started, number, started),
            )

    def _found_experiment(self, started: float) -> int:
        user = self._found_user() if self._user else None
        row = self._database.execute(
            "SELECT experiment_id FROM Experiments WHERE user_id IS ? AND experiment_name = ?",
            (user, self._experiment),
        ).fetchone()
        if row is not None:
            self._note_start("Experiments", "experiment_id", row[0], started)
            return int(row[0])
        number = self._new_id()
        self._insert(
            "Experiments", user_id=user, experiment_id=number, experiment_name=self._experiment,
            inserted_time=time.time(), started_time=started, is_watching=0,
        )  # fmt: skip
        return number

    def _found_user(self) -> int:
        row = self._database.execute(
            "SELECT user_id FROM Users WHERE user_name = ?", (self._user,)
        ).fetchone()
        if row is not None:
            return int(row[0])
        number = self._new_id()
        self._insert("Users", user_id=number, user_name=self._user, inserted_time=time.time())
        return number

    def _tag(self, value: Any, plugin: str, started: float) -> int:
        """Return the number of the tag of a summary."""
        run = self._begin_run(started)
        if value.tag not in self._tags:
            self._tags[value.tag] = number = self._new_id()
            metadata = value.metadata
            self._insert(
                "Descriptions", replace=True, id=number, description=metadata.summary_description
            )
            self._insert(
                "Tags", run_id=run, tag_id=number, tag_name=value.tag, inserted_time=time.time(),
                display_name=metadata.display_name,
                plugin_name=metadata.plugin_data.plugin_name or plugin,
                plugin_data=metadata.plugin_data.content,
            )  # fmt: skip
        return self._tags[value.tag]

    # --- tensors and graphs

    def _append(self, tag: int, step: int, computed: float, tensor: Any) -> None:
        is_text = tensor.dtype == object
        kind = dtypes.string if is_text else dtypes.as_dtype(tensor.dtype)
        if kind in _UNSUPPORTED:
            message = f"{dtypes.cpp_name(kind)} tensors unsupported on platform"
            raise errors.UnimplementedError(None, None, message)
        data: bytes | None = None
        if not is_text:
            data = tensor.astype(tensor.dtype.newbyteorder("<")).tobytes()
        elif not tensor.ndim:
            data = tensor.item()
        row = self._insert(
            "Tensors", replace=True, series=tag, step=step, computed_time=computed,
            dtype=kind.as_datatype_enum, shape=",".join(map(str, tensor.shape)), data=data,
        )  # fmt: skip
        if is_text and tensor.ndim:
            self._database.executemany(
                "INSERT INTO TensorStrings (tensor_rowid, idx, data) VALUES (?, ?, ?)",
                [(row, place, text) for place, text in enumerate(tensor.ravel().tolist())],
            )

    def _save_graph(self, serialized: bytes, started: float) -> None:
        from tensorboard.compat.proto import graph_pb2

        graph = graph_pb2.GraphDef.FromString(serialized)
        run, number = self._begin_run(started), self._new_id()
        places = {node.name: place for place, node in enumerate(graph.node)}
        for place, node in enumerate(graph.node):
            for order, text in enumerate(node.input):
                name, _, slot = text.partition(":")
                is_control = name.startswith("^")
                source = places.get(name.removeprefix("^"))
                if source is None:
                    raise errors.DataLossError(None, None, f"Could not find node: {name}")
                self._insert(
                    "NodeInputs", graph_id=number, node_id=place, idx=order, input_node_id=source,
                    input_node_idx=int(slot or 0), is_control=int(is_control),
                )  # fmt: skip
            name, op, device = node.name, node.op, node.device
            for field in ("name", "op", "device", "input"):
                node.ClearField(field)
            self._insert(
                "Nodes", graph_id=number, node_id=place, node_name=name, op=op, device=device,
                node_def=node.SerializeToString(),
            )  # fmt: skip
        graph.ClearField("node")
        self._insert(
            "Graphs", replace=True, run_id=run, graph_id=number, inserted_time=time.time(),
            graph_def=graph.SerializeToString(),
        )  # fmt: skip


def _tensor(value: Any) -> tuple[str, Any] | None:
    """Return the plugin of TensorBoard for a summary, and the tensor that the plugin shows."""
    kind = value.WhichOneof("value")
    if kind == "simple_value":
        return "scalars", np.array(value.simple_value, np.float32)
    if kind == "histo":
        limits = list(value.histo.bucket_limit)
        # TensorFlow's first edge: the smallest positive number.
        edges = [sys.float_info.min, *limits[:-1]]
        rows = list(zip(edges, limits, value.histo.bucket, strict=True))
        return "histograms", np.array(rows, np.float64).reshape(len(limits), 3)
    if kind == "image":
        sizes = [str(size).encode() for size in (value.image.width, value.image.height)]
        return "images", _texts([*sizes, value.image.encoded_image_string])
    if kind == "audio":
        return "audio", _texts([value.audio.encoded_audio_string, b""]).reshape(1, 2)
    if kind == "tensor":
        return "", tensor_proto.ndarray(value.tensor)
    return None


def _texts(values: list[bytes]) -> Any:
    array = np.empty(len(values), object)
    array[:] = values
    return array


@contextmanager
def _translated(what: str) -> Iterator[None]:
    """Raise errors of SQLite as OpErrors."""
    try:
        yield
    except sqlite3.Error as fault:
        code = getattr(fault, "sqlite_errorcode", 0) & 0xFF
        kind = _KINDS.get(code, errors.UnknownError)
        raise kind(None, None, f"{what}: {fault}") from fault
