"""`tf.estimator.WarmStartSettings`: the checkpoint from which a new model starts.

Source: tensorflow/python/estimator/estimator.py.
"""

from typing import Any, NamedTuple, Self

from capstan.api import file_io, logging
from capstan.resources import file_names
from capstan.train import warm_start
from capstan.train.saved_model import constants


class _Settings(NamedTuple):
    ckpt_to_initialize_from: str
    vars_to_warm_start: Any
    var_name_to_vocab_info: Any
    var_name_to_prev_var_name: Any


class WarmStartSettings(_Settings):
    """The arguments of `tf.train.warm_start`, which the estimator calls after its `model_fn`.

    Raises:
        ValueError: `ckpt_to_initialize_from` is empty.
    """

    __slots__ = ()

    def __new__(
        cls,
        ckpt_to_initialize_from: str,
        vars_to_warm_start: Any = ".*",
        var_name_to_vocab_info: Any = None,
        var_name_to_prev_var_name: Any = None,
    ) -> Self:
        if not ckpt_to_initialize_from:
            raise ValueError("`ckpt_to_initialize_from` MUST be set in WarmStartSettings")
        return super().__new__(
            cls,
            ckpt_to_initialize_from,
            vars_to_warm_start,
            var_name_to_vocab_info or {},
            var_name_to_prev_var_name or {},
        )


def settings(warm_start_from: Any) -> WarmStartSettings | None:
    """Return the settings for a checkpoint, a SavedModel, settings or None.

    Raises:
        ValueError: `warm_start_from` is none of these.
    """
    if warm_start_from is None or isinstance(warm_start_from, WarmStartSettings):
        return warm_start_from
    if not isinstance(warm_start_from, str | bytes):
        raise ValueError(
            "warm_start_from must be a string or a WarmStartSettings, instead got "
            f"{type(warm_start_from)}"
        )
    path = file_io.text(warm_start_from)
    folder = file_names.joined(path, constants.VARIABLES_DIRECTORY)
    prefix = file_names.joined(folder, constants.VARIABLES_FILENAME)
    if file_io.file_exists(f"{prefix}.index"):
        logging.info("Warm-starting from a SavedModel")
        path = prefix
    return WarmStartSettings(path)


def apply(wanted: WarmStartSettings | None) -> None:
    """Let the variables of the default graph start as the settings say."""
    if wanted is not None:
        logging.info("Warm-starting with WarmStartSettings: %s", wanted)
        warm_start(*wanted)
