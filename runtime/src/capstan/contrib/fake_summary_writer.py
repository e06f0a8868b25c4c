"""A writer that keeps what a program under test writes for TensorBoard.

Source: tensorflow/contrib/testing/python/framework/fake_summary_writer.py.
"""

import os
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from capstan.train import summary, summary_writer


class FakeSummaryWriter:
    """A `tf.summary.FileWriter` without a file.

    Between `install()` and `uninstall()`, hooks and `tf.summary` make writers of this class.
    """

    _replaced_summary_writer: ClassVar[type[summary_writer.FileWriter] | None] = None

    @classmethod
    def install(cls) -> None:
        """Replace `tf.summary.FileWriter`.

        Raises:
            ValueError: it is replaced already.
        """
        if cls._replaced_summary_writer is not None:
            raise ValueError("FakeSummaryWriter already installed.")
        cls._replaced_summary_writer = summary_writer.FileWriter
        _replace_file_writer(cls)

    @classmethod
    def uninstall(cls) -> None:
        """Undo `install`.

        Raises:
            ValueError: `install` was not called.
        """
        if cls._replaced_summary_writer is None:
            raise ValueError("FakeSummaryWriter not installed.")
        _replace_file_writer(cls._replaced_summary_writer)
        cls._replaced_summary_writer = None

    def __init__(self, logdir: str | os.PathLike[str], graph: Any = None) -> None:
        self._logdir = logdir
        self._graph = graph
        self._summaries: dict[int | None, list[Any]] = {}
        self._added_graphs: list[Any] = []
        self._added_meta_graphs: list[Any] = []
        self._added_session_logs: list[Any] = []

    @property
    def summaries(self) -> dict[int | None, list[Any]]:
        """The `Summary` messages that were added, by global step."""
        return self._summaries

    def assert_summaries(
        self,
        test_case: Any,
        expected_logdir: str | None = None,
        expected_graph: Any = None,
        expected_summaries: Mapping[int, Mapping[str, float]] | None = None,
        expected_added_graphs: Sequence[Any] | None = None,
        expected_added_meta_graphs: Sequence[Any] | None = None,
        expected_session_logs: Sequence[Any] | None = None,
    ) -> None:
        """Fail `test_case`, a unittest.TestCase, unless all that is expected was written.

        `expected_summaries` gives the number of each tag, by global step. Steps that it lacks and
        `global_step/sec` are not compared.
        """
        wanted_and_found: list[tuple[Any, Any]] = [
            (expected_logdir, self._logdir),
            (expected_graph, self._graph),
            (expected_added_graphs, self._added_graphs),
            (expected_added_meta_graphs, self._added_meta_graphs),
            (expected_session_logs, self._added_session_logs),
        ]
        for step, numbers in (expected_summaries or {}).items():
            wanted_and_found.append((numbers, self._numbers(test_case, step)))
        for wanted, found in wanted_and_found:
            if wanted is not None and wanted != found:
                test_case.fail(f"Expected {wanted!r}, but the program wrote {found!r}.")

    def _numbers(self, test_case: Any, step: int) -> dict[str, float]:
        if step not in self._summaries:
            test_case.fail(f"Missing step {step} from {list(self._summaries)}.")
        return {
            value.tag: value.simple_value
            for message in self._summaries[step]
            for value in message.value
            if value.tag != "global_step/sec"
        }

    def add_summary(self, summ: Any, current_global_step: int | None) -> None:
        """Keep a `Summary`, or the bytes that a summary operation returned."""
        message = summary.Summary.FromString(summ) if isinstance(summ, bytes) else summ
        self._summaries.setdefault(current_global_step, []).append(message)

    def add_graph(self, graph: Any, global_step: int | None = None, graph_def: Any = None) -> None:
        """Keep a graph.

        Raises:
            ValueError: `global_step` is negative, or a `graph_def` is given.
        """
        _check_step(global_step)
        if graph_def is not None:
            raise ValueError(f"Unexpected graph_def {graph_def}.")
        self._added_graphs.append(graph)

    def add_meta_graph(self, meta_graph_def: Any, global_step: int | None = None) -> None:
        """Keep a MetaGraphDef.

        Raises:
            ValueError: `global_step` is negative.
        """
        _check_step(global_step)
        self._added_meta_graphs.append(meta_graph_def)

    def add_session_log(self, session_log: Any, global_step: int | None = None) -> None:
        """Keep a SessionLog."""
        self._added_session_logs.append(session_log)

    def flush(self) -> None:
        """Do nothing."""

    def reopen(self) -> None:
        """Do nothing."""

    def close(self) -> None:
        """Do nothing."""


def _replace_file_writer(writer: type[Any]) -> None:
    for module in (summary, summary_writer):
        vars(module)["FileWriter"] = writer


def _check_step(global_step: int | None) -> None:
    if global_step is not None and global_step < 0:
        raise ValueError(f"Invalid global_step {global_step}.")
