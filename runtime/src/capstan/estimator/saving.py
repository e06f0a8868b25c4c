"""SavedModels of an estimator: one graph for each mode, with the variables of a checkpoint.

Sources: tensorflow/python/estimator/{estimator,util,export/export}.py.
"""

import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from capstan import errors
from capstan.api import file_io, logging
from capstan.client import session as sessions
from capstan.estimator import estimator_spec, mode_keys
from capstan.framework import collections
from capstan.framework import graph as graphs
from capstan.resources import file_names
from capstan.train import saver as savers
from capstan.train import scaffold as scaffolds
from capstan.train.saved_model import builder as builders
from capstan.train.saved_model import signatures

Exported = tuple[Any, estimator_spec.EstimatorSpec]
"""A receiver, and the model that takes its features."""

_MODES = mode_keys.ModeKeys
_TRAIN_OP_KEY: Final = "saved_model_train_op"


@dataclass(frozen=True, slots=True)
class Request:
    """The parts of a SavedModel. `receiver_fns` holds functions by mode."""

    receiver_fns: Mapping[str, Callable[[], Any] | None]
    assets_extra: Mapping[str, str] | None
    as_text: bool
    strip_default_attrs: bool


def export(
    build: Callable[[str, Callable[[], Any]], Exported],
    export_dir_base: Any,
    request: Request,
    checkpoint_path: str,
    session_config: Any,
) -> bytes:
    """Write a SavedModel to a new folder, and return the folder. Blocks.

    `build(mode, receiver_fn)` adds the model to the default graph. The folder has its name only
    when it is complete.

    Raises:
        ValueError: there is no function for a mode, or a variable is not in the checkpoint.
    """
    order = (_MODES.TRAIN, _MODES.EVAL, _MODES.PREDICT)
    wanted = {mode: fn for mode in order if (fn := request.receiver_fns.get(mode)) is not None}
    if not wanted:
        raise ValueError(f"No valid modes for exporting found. Got {list(request.receiver_fns)}.")
    folder = timestamped_folder(file_io.text(export_dir_base))
    base, name = os.path.split(folder)
    incomplete = file_names.joined(base, f"temp-{name}")
    builder = builders.SavedModelBuilder(incomplete)
    is_first = True
    for mode, receiver_fn in wanted.items():
        with graphs.Graph().as_default():
            receiver, spec = build(mode, receiver_fn)
            add = builder.add_meta_graph_and_variables if is_first else builder.add_meta_graph
            with sessions.Session(config=session_config) as session:
                saver = _restored(session, spec, checkpoint_path, mode)
                leading = (session,) if is_first else ()
                add(*leading, **_parts(mode, receiver, spec, request, saver))
        is_first = False
    builder.save(request.as_text)
    for target, source in (request.assets_extra or {}).items():
        path = file_names.joined(file_names.joined(incomplete, "assets.extra"), target)
        file_io.recursive_create_dir(os.path.dirname(path))
        file_io.copy(source, path)
    file_io.rename(incomplete, folder)
    return folder.encode()


def timestamped_folder(base: str) -> str:
    """Return the path of a new folder, whose name is the time in seconds since 1970.

    The name is greater than all other numbers in the folder, so the newest model has the greatest.
    """
    names = file_io.list_directory(base) if file_io.is_directory(base) else []
    known = [int(name.rstrip("/")) for name in names if name.rstrip("/").isdigit()]
    return file_names.joined(base, str(max([int(time.time()), *(each + 1 for each in known)])))


def _restored(
    session: Any, spec: estimator_spec.EstimatorSpec, checkpoint_path: str, mode: str
) -> savers.Saver:
    """Restore the variables of the default graph, and return their saver."""
    saver = spec.scaffold.saver or savers.Saver(sharded=True)
    try:
        saver.restore(session, checkpoint_path)
    except errors.NotFoundError as error:
        raise ValueError(
            "Could not load all requested variables from checkpoint. Please make sure your "
            "model_fn does not expect variables that were not saved in the checkpoint.\n\n"
            f"Encountered error with mode `{mode}` while restoring checkpoint from: "
            f"`{checkpoint_path}`. Full Traceback:\n\n{error}"
        ) from error
    return saver


def _parts(
    mode: str,
    receiver: Any,
    spec: estimator_spec.EstimatorSpec,
    request: Request,
    saver: savers.Saver,
) -> dict[str, Any]:
    """Return the arguments with which a builder adds the default graph."""
    graph = graphs.get_default_graph()
    if spec.train_op is not None:
        graph.add_to_collection(_TRAIN_OP_KEY, spec.train_op)
    outputs = estimator_spec.export_outputs_for_mode(
        spec.mode, spec.export_outputs, spec.predictions, spec.loss, spec.eval_metric_ops
    )
    local_init_op = spec.scaffold.local_init_op
    if local_init_op is None:
        local_init_op = scaffolds.Scaffold.default_local_init_op()
    return {
        "tags": mode_keys.EXPORT_TAG_MAP[mode],
        "signature_def_map": signature_defs(
            receiver.receiver_tensors,
            outputs,
            getattr(receiver, "receiver_tensors_alternatives", None),
            serving_only=mode == _MODES.PREDICT,
        ),
        "assets_collection": graph.get_collection(collections.GraphKeys.ASSET_FILEPATHS),
        "strip_default_attrs": request.strip_default_attrs,
        "main_op": local_init_op,
        "saver": saver,
    }


def signature_defs(
    receiver_tensors: Mapping[str, Any],
    export_outputs: Mapping[str, Any],
    alternatives: Mapping[str, Mapping[str, Any]] | None,
    *,
    serving_only: bool,
) -> dict[str, Any]:
    """Return the SignatureDefs of the outputs by name.

    For alternative inputs, the name is `ALTERNATIVE:OUTPUT`. Outputs that do not fit the inputs are
    left out with a message in the log. With `serving_only`, the signatures that TensorFlow Serving
    does not serve are left out too.
    """
    found: dict[str, Any] = {}
    groups = {"": receiver_tensors}
    groups.update({f"{name or 'None'}:": inputs for name, inputs in (alternatives or {}).items()})
    for prefix, inputs in groups.items():
        for key, output in export_outputs.items():
            name = f"{prefix}{key or 'None'}"
            try:
                found[name] = output.as_signature_def(inputs)
            except ValueError as error:
                logging.info("Signature %r is EXCLUDED from export: %s", name, error)
    if serving_only:
        found = {name: each for name, each in found.items() if signatures.is_valid_signature(each)}
    logging.info("Signatures INCLUDED in export: %s", sorted(found))
    if not found:
        logging.warning("Export includes no signatures!")
    return found
