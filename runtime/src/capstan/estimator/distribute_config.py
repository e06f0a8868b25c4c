"""`tf.contrib.distribute.DistributeConfig`: the strategies of an estimator in one setting.

Source: tensorflow/python/distribute/distribute_config.py.
"""

from typing import Any, NamedTuple


class DistributeConfig(NamedTuple):
    """The value of `experimental_distribute` of RunConfig: `train_distribute`, `eval_distribute`.

    `remote_cluster` must be None: a program trains in the cluster that TF_CONFIG describes.
    """

    train_distribute: Any = None
    eval_distribute: Any = None
    remote_cluster: Any = None


def strategies(experimental_distribute: Any, **settings: Any) -> dict[str, Any]:
    """Return `train_distribute` and `eval_distribute`, each from its setting or from the other.

    Raises:
        ValueError: `experimental_distribute` is not a DistributeConfig, it has a remote cluster, or
            a strategy is set twice.
    """
    if experimental_distribute is None:
        return settings
    check(experimental_distribute)
    found = {name: getattr(experimental_distribute, name) for name in settings}
    for name, setting in settings.items():
        if setting is not None and found[name] is not None:
            raise ValueError(
                f"Either `{name}` or `experimental_distribute.{name}` can be set, not both."
            )
    return {name: settings[name] if found[name] is None else found[name] for name in settings}


def check(experimental_distribute: Any) -> None:
    """Raise ValueError unless the setting is None, or strategies without a remote cluster."""
    if experimental_distribute is None:
        return
    if not isinstance(experimental_distribute, DistributeConfig):
        raise ValueError(
            "experimental_distribute should be None or a tf.contrib.distribute.DistributeConfig. "
            f"Got: {experimental_distribute!r}"
        )
    if experimental_distribute.remote_cluster:
        raise ValueError(
            "experimental_distribute has the remote_cluster "
            f"{experimental_distribute.remote_cluster}, but one program does not train in the "
            "tasks of a cluster. Run the program in each task, with TF_CONFIG."
        )
