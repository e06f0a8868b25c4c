"""Exporters write a SavedModel after an evaluation: the last, the latest or the best model.

Source: tensorflow/python/estimator/exporter.py.
"""

import abc
import os
from collections.abc import Callable, Mapping
from typing import Any

from capstan import errors
from capstan.api import file_io, logging
from capstan.estimator import arguments, mode_keys, old_exports
from capstan.resources import event_file

_COMPARED = ("best_eval_result", "current_eval_result")


class Exporter(abc.ABC):
    """Writes a model after an evaluation of `train_and_evaluate`."""

    @property
    @abc.abstractmethod
    def name(self) -> str:
        """The name of the exporter, which is also the name of its folder in `MODEL_DIR/export`."""

    @abc.abstractmethod
    def export(
        self,
        estimator: Any,
        export_path: str,
        checkpoint_path: str,
        eval_result: Mapping[str, Any],
        is_the_final_export: bool,
    ) -> Any:
        """Write the model to a folder in `export_path`. Return the folder, or None if it skips.

        `eval_result` holds the metrics of the checkpoint. `is_the_final_export` is true once the
        training has reached its last step.
        """


class _SavedModelExporter(Exporter):
    """Writes a SavedModel, and keeps the newest `exports_to_keep` of them. None keeps all."""

    def __init__(
        self,
        name: str,
        serving_input_receiver_fn: Callable[[], Any] | None,
        assets_extra: Mapping[str, str] | None = None,
        as_text: bool = False,
        exports_to_keep: int | None = None,
    ) -> None:
        if exports_to_keep is not None and exports_to_keep <= 0:
            raise ValueError("`exports_to_keep`, if provided, must be positive number")
        self._name = name
        self._serving_input_receiver_fn = serving_input_receiver_fn
        self._assets_extra = assets_extra
        self._as_text = as_text
        self._exports_to_keep = exports_to_keep

    @property
    def name(self) -> str:
        return self._name

    def export(
        self,
        estimator: Any,
        export_path: str,
        checkpoint_path: str,
        eval_result: Mapping[str, Any],
        is_the_final_export: bool,
    ) -> Any:
        folder = estimator.export_saved_model(
            export_path,
            self._serving_input_receiver_fn,
            assets_extra=self._assets_extra,
            as_text=self._as_text,
            checkpoint_path=checkpoint_path,
        )
        if self._exports_to_keep is not None:
            _remove_old(export_path, self._exports_to_keep)
        return folder


class FinalExporter(_SavedModelExporter):
    """Writes one SavedModel, when the training has reached its last step."""

    def __init__(
        self,
        name: str,
        serving_input_receiver_fn: Callable[[], Any],
        assets_extra: Mapping[str, str] | None = None,
        as_text: bool = False,
    ) -> None:
        super().__init__(name, serving_input_receiver_fn, assets_extra, as_text)

    def export(
        self,
        estimator: Any,
        export_path: str,
        checkpoint_path: str,
        eval_result: Mapping[str, Any],
        is_the_final_export: bool,
    ) -> Any:
        """Write the model if the training has ended. Return the folder or None."""
        if not is_the_final_export:
            return None
        logging.info("Performing the final export in the end of training.")
        return super().export(
            estimator, export_path, checkpoint_path, eval_result, is_the_final_export
        )


class LatestExporter(_SavedModelExporter):
    """Writes a SavedModel after each evaluation, and keeps the newest `exports_to_keep`.

    Raises:
        ValueError: `exports_to_keep` is not positive. None keeps all models.
    """

    def __init__(
        self,
        name: str,
        serving_input_receiver_fn: Callable[[], Any],
        assets_extra: Mapping[str, str] | None = None,
        as_text: bool = False,
        exports_to_keep: int | None = 5,
    ) -> None:
        super().__init__(name, serving_input_receiver_fn, assets_extra, as_text, exports_to_keep)


def _loss_smaller(
    best_eval_result: Mapping[str, Any], current_eval_result: Mapping[str, Any]
) -> bool:
    """Return whether the current loss is smaller than the best loss."""
    loss = mode_keys.LOSS_METRIC_KEY
    for name, result in zip(_COMPARED, (best_eval_result, current_eval_result), strict=True):
        if not result or loss not in result:
            raise ValueError(f"{name} cannot be empty or no loss is found in it.")
    return bool(best_eval_result[loss] > current_eval_result[loss])


class BestExporter(_SavedModelExporter):
    """Writes a SavedModel when `compare_fn` finds that a result is better than all before it.

    `compare_fn(best_eval_result, current_eval_result)` returns whether the current result is
    better. By default, the smaller loss is better. After a restart, the best result comes from the
    event files of the evaluations, which `event_file_pattern` finds in the folder of the model.

    Raises:
        ValueError: `compare_fn` has other arguments, or `exports_to_keep` is not positive.
    """

    def __init__(
        self,
        name: str = "best_exporter",
        serving_input_receiver_fn: Callable[[], Any] | None = None,
        event_file_pattern: str | None = "eval/*.tfevents.*",
        compare_fn: Callable[..., Any] | None = _loss_smaller,
        assets_extra: Mapping[str, str] | None = None,
        as_text: bool = False,
        exports_to_keep: int | None = 5,
    ) -> None:
        if compare_fn is None:
            raise ValueError("`compare_fn` must not be None.")
        _check_compare_fn(compare_fn)
        super().__init__(name, serving_input_receiver_fn, assets_extra, as_text, exports_to_keep)
        self._compare_fn = compare_fn
        self._event_file_pattern = event_file_pattern
        self._model_dir: str | None = None
        self._best_eval_result: Mapping[str, Any] | None = None

    def export(
        self,
        estimator: Any,
        export_path: str,
        checkpoint_path: str,
        eval_result: Mapping[str, Any],
        is_the_final_export: bool,
    ) -> Any:
        """Write the model if its result is the best. Return the folder or None."""
        if self._model_dir != estimator.model_dir and self._event_file_pattern:
            logging.info("Loading best metric from event files.")
            self._model_dir = estimator.model_dir
            pattern = os.path.join(estimator.model_dir, self._event_file_pattern)
            self._best_eval_result = self._best_of_events(pattern)
        if self._best_eval_result is not None and not self._compare_fn(
            best_eval_result=self._best_eval_result, current_eval_result=eval_result
        ):
            return None
        logging.info("Performing best model export.")
        self._best_eval_result = eval_result
        return super().export(
            estimator, export_path, checkpoint_path, eval_result, is_the_final_export
        )

    def _best_of_events(self, pattern: str) -> Mapping[str, Any] | None:
        best = None
        for path in file_io.get_matching_files(pattern):
            for event in event_file.summary_iterator(path):
                result = {
                    value.tag: value.simple_value
                    for value in event.summary.value
                    if value.HasField("simple_value")
                }
                if result and (
                    best is None
                    or self._compare_fn(best_eval_result=best, current_eval_result=result)
                ):
                    best = result
        return best


def _check_compare_fn(compare_fn: Callable[..., Any]) -> None:
    names = arguments.names(compare_fn)
    for name in _COMPARED:
        if name not in names:
            raise ValueError(f"compare_fn ({compare_fn}) must include {name} argument.")
    unknown = [name for name in names if name not in _COMPARED]
    if unknown:
        raise ValueError(f"compare_fn ({compare_fn}) has following not expected args: {unknown}")


def _remove_old(export_path: str, kept: int) -> None:
    """Delete all but the newest models of a folder. Their names are numbers of ten digits."""
    is_old = old_exports.negation(old_exports.largest_export_versions(kept))
    for path, _ in is_old(old_exports.get_paths(export_path, _versioned)):
        try:
            file_io.delete_recursively(path)
        except errors.NotFoundError as error:
            logging.warning("Can not delete %s recursively: %s", path, error)


def _versioned(path: old_exports.Path) -> old_exports.Path | None:
    name = os.path.basename(path.path)
    return path._replace(export_version=int(name)) if len(name) == 10 and name.isdigit() else None
