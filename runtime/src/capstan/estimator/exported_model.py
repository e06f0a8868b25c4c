"""The methods of an estimator that write SavedModels.

Source: tensorflow/python/estimator/estimator.py.
"""

from collections.abc import Callable, Mapping
from typing import Any

from capstan.estimator import mode_keys, model, saving
from capstan.framework import graph as graphs

_MODES = mode_keys.ModeKeys


class ExportedModel(model.Model):
    """A model that can be written as a SavedModel."""

    def export_saved_model(
        self,
        export_dir_base: Any,
        serving_input_receiver_fn: Callable[[], Any] | None,
        assets_extra: Mapping[str, str] | None = None,
        as_text: bool = False,
        checkpoint_path: str | None = None,
        experimental_mode: str = _MODES.PREDICT,
    ) -> bytes:
        """Write a SavedModel to a new folder in `export_dir_base`, and return the folder.

        The name of the folder is the time in seconds. `serving_input_receiver_fn()` returns a
        ServingInputReceiver. Each export output of the model becomes a signature. The files
        `assets_extra`, by their names below `assets.extra`, are copied. Blocks.

        Raises:
            ValueError: there is no checkpoint, a variable is not in the checkpoint, or
                `serving_input_receiver_fn` is missing.
        """
        if serving_input_receiver_fn is None:
            raise ValueError("An input_receiver_fn must be defined.")
        return self.experimental_export_all_saved_models(
            export_dir_base,
            {experimental_mode: serving_input_receiver_fn},
            assets_extra,
            as_text,
            checkpoint_path,
        )

    def export_savedmodel(
        self,
        export_dir_base: Any,
        serving_input_receiver_fn: Callable[[], Any] | None,
        assets_extra: Mapping[str, str] | None = None,
        as_text: bool = False,
        checkpoint_path: str | None = None,
        strip_default_attrs: bool = False,
    ) -> bytes:
        """Do as `export_saved_model`, which strips attributes that have their default values.

        Raises:
            ValueError: `serving_input_receiver_fn` is missing, or as `export_saved_model`.
        """
        if serving_input_receiver_fn is None:
            raise ValueError("An input_receiver_fn must be defined.")
        request = saving.Request(
            {_MODES.PREDICT: serving_input_receiver_fn}, assets_extra, as_text, strip_default_attrs
        )
        return self._export(export_dir_base, request, checkpoint_path)

    def experimental_export_all_saved_models(
        self,
        export_dir_base: Any,
        input_receiver_fn_map: Mapping[str, Callable[[], Any]],
        assets_extra: Mapping[str, str] | None = None,
        as_text: bool = False,
        checkpoint_path: str | None = None,
    ) -> bytes:
        """Do as `export_saved_model` with one graph for each mode. The graphs share the variables.

        Raises:
            ValueError: there is no checkpoint, a variable is not in the checkpoint, or the map has
                no function.
        """
        request = saving.Request(input_receiver_fn_map, assets_extra, as_text, True)
        return self._export(export_dir_base, request, checkpoint_path)

    def _export(
        self, export_dir_base: Any, request: saving.Request, checkpoint_path: str | None
    ) -> bytes:
        path = checkpoint_path or self.latest_checkpoint()
        if not path:
            raise ValueError(f"Couldn't find trained model at {self.model_dir}.")
        return saving.export(
            self._exported_spec, export_dir_base, request, path, self._config.session_config
        )

    def _exported_spec(self, mode: str, receiver_fn: Callable[[], Any]) -> saving.Exported:
        """Add the model for clients that feed the tensors of a receiver to the default graph."""
        self._start_graph(graphs.get_default_graph())
        receiver = receiver_fn()
        labels = getattr(receiver, "labels", None)
        spec = self._call_model_fn(receiver.features, labels, mode, self.config)
        return receiver, spec
