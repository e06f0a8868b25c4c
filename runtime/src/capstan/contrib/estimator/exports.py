"""`tf.contrib.estimator`: functions that export an estimator, as its methods do.

Source: tensorflow_estimator/contrib/estimator/python/estimator/export.py.
"""

from collections.abc import Callable, Mapping
from typing import Any

from capstan.estimator import calls, mode_keys, receiver_fns, receivers
from capstan.estimator import estimator as estimators
from capstan.framework import graph as graphs


def build_supervised_input_receiver_fn_from_input_fn(
    input_fn: Callable[..., Any], **input_fn_args: Any
) -> Callable[[], receivers.SupervisedInputReceiver]:
    """Return a function for exported graphs that train or evaluate on fed features and labels.

    The features and labels are those of `input_fn(**input_fn_args)`, which is called in a graph of
    its own.
    """
    with graphs.Graph().as_default():
        features, labels, _ = calls.parse_input(input_fn(**input_fn_args))
    return receiver_fns.build_raw_supervised_input_receiver_fn(features, labels)


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
