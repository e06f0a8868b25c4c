"""`tf.contrib.estimator`: functions that export an estimator, as its methods do.

Source: tensorflow_estimator/contrib/estimator/python/estimator/export.py.
"""

from collections.abc import Callable, Mapping
from typing import Any

from capstan.estimator import estimator as estimators
from capstan.estimator import mode_keys


def export_saved_model_for_mode(
    estimator: estimators.Estimator,
    export_dir_base: str,
    input_receiver_fn: Callable[[], Any],
    assets_extra: Mapping[str, str] | None = None,
    as_text: bool = False,
    checkpoint_path: str | None = None,
    mode: str = mode_keys.ModeKeys.PREDICT,
) -> Any:
    """Export the graph of one mode, by `estimator.export_saved_model`. Return the folder."""
    return estimator.export_saved_model(
        export_dir_base,
        input_receiver_fn,
        assets_extra=assets_extra,
        as_text=as_text,
        checkpoint_path=checkpoint_path,
        experimental_mode=mode,
    )


def export_all_saved_models(
    estimator: estimators.Estimator,
    export_dir_base: str,
    input_receiver_fn_map: Mapping[str, Callable[[], Any]],
    assets_extra: Mapping[str, str] | None = None,
    as_text: bool = False,
    checkpoint_path: str | None = None,
) -> Any:
    """Export the graphs of several modes, by `estimator.experimental_export_all_saved_models`.

    Return the folder.
    """
    return estimator.experimental_export_all_saved_models(
        export_dir_base,
        input_receiver_fn_map,
        assets_extra=assets_extra,
        as_text=as_text,
        checkpoint_path=checkpoint_path,
    )
