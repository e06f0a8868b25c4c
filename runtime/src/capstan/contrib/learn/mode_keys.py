"""The names of modes (contrib/learn/python/learn/estimators/model_fn.py)."""

from typing import Final


class ModeKeys:
    """The names of modes that old programs use. `tf.estimator.ModeKeys` has PREDICT, not INFER."""

    TRAIN: Final = "train"
    EVAL: Final = "eval"
    INFER: Final = "infer"

    @classmethod
    def validate(cls, key: str) -> None:
        """Raise ValueError if `key` is not the name of a mode."""
        if key not in (cls.TRAIN, cls.EVAL, cls.INFER):
            raise ValueError(f"Invalid mode {key}. The modes are train, eval and infer")
