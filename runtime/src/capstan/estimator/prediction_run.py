"""The predictions of an estimator, batch by batch.

Source: tensorflow/python/estimator/estimator.py.
"""

from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from types import TracebackType
from typing import Any

from capstan.estimator import estimator_spec, run_config
from capstan.framework import graph as graphs
from capstan.train import hook, monitored_session, session_creator


def chosen(predictions: Any, predict_keys: Iterable[str] | None) -> Any:
    """Return the predictions with these keys, or all predictions if there are no keys.

    A string is one key.

    Raises:
        ValueError: the predictions are not a dictionary, or have none of the keys.
    """
    if isinstance(predict_keys, str):
        predict_keys = (predict_keys,)
    keys: Collection[str] = set(predict_keys or ())
    if not keys:
        return predictions
    if not isinstance(predictions, dict):
        raise ValueError("predict_keys argument is not valid in case of non-dict predictions.")
    found = {key: value for key, value in predictions.items() if key in keys}
    if not found:
        raise ValueError(
            f"Expected to run at least one output from {predictions.keys()}, provided "
            f"{predict_keys}."
        )
    return found


def open_session(
    checkpoint_path: str | None,
    config: run_config.RunConfig,
    spec: estimator_spec.EstimatorSpec,
    hooks: Sequence[hook.SessionRunHook],
) -> monitored_session.MonitoredSession:
    """Return a session whose variables are restored. Finalizes the default graph. Blocks."""
    creator = session_creator.ChiefSessionCreator(
        spec.scaffold,
        config.master,
        config.session_config,
        checkpoint_filename_with_path=checkpoint_path,
    )
    return monitored_session.MonitoredSession(creator, hooks)


def batches(graph: graphs.Graph, session: Any, predictions: Any) -> Iterator[Any]:
    """Yield the arrays of each run until the input ends, and close the session.

    The graph is not the default graph of the program between two runs.
    """
    with _InGraph(graph, session):
        while not session.should_stop():
            with graph.as_default():
                arrays = session.run(predictions)
            yield arrays


def examples(batch: Any) -> Iterator[Any]:
    """Yield the rows of a batch.

    Raises:
        ValueError: the arrays of the batch have different numbers of rows.
    """
    if not isinstance(batch, dict):
        yield from batch
        return
    sizes = {key: value.shape[0] for key, value in batch.items()}
    size = next(iter(sizes.values()))
    for key, other in sizes.items():
        if other != size:
            raise ValueError(
                f"Batch length of predictions should be same. {key} has different batch length "
                "than others."
            )
    for index in range(size):
        yield {key: value[index] for key, value in batch.items()}


class _InGraph(AbstractContextManager[None]):
    """Closes a session at the end of a block, while its graph is the default graph."""

    def __init__(self, graph: graphs.Graph, session: Any) -> None:
        self._graph, self._session = graph, session

    def __enter__(self) -> None:
        self._session.__enter__()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> bool:
        with self._graph.as_default():
            return bool(self._session.__exit__(kind, error, trace))
