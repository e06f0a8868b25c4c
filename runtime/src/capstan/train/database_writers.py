"""`tf.contrib.summary.create_db_writer` (python/ops/summary_ops_v2.py)."""

import getpass
import re
import time
from typing import Any, Final

from capstan.core import dtypes
from capstan.framework import convert
from capstan.framework import graph as graphs
from capstan.framework.raw import raw
from capstan.train import graph_writers

_NAMES: Final = {
    "experiment_name": r"^[^\x00-\x1F<>]{0,256}$",
    "run_name": r"^[^\x00-\x1F<>]{0,512}$",
    "user_name": r"^[a-z]([-a-z0-9]{0,29}[a-z0-9])?$",
}
"""The names in a database of summaries. The name of a user is also a name in the DNS."""


def create_db_writer(
    db_uri: str, experiment_name: Any = None, run_name: Any = None, user_name: Any = None,
    name: str | None = None,
) -> graph_writers.SummaryWriter:  # fmt: skip
    """Return a writer of a database of SQLite with summaries, such as `file:/tmp/foo.sqlite`.

    The task of the writer makes the file. By default, the experiment has the date as its name, the
    run the time, and the user the name of the user of this process. An empty name means that the
    run has no experiment, and that tags have no run.

    Raises:
        ValueError: a name has characters that TensorBoard does not show.
    """
    named = {
        "experiment_name": time.strftime("%Y-%m-%d")
        if experiment_name is None
        else experiment_name,
        "run_name": time.strftime("%H:%M:%S") if run_name is None else run_name,
        "user_name": getpass.getuser() if user_name is None else user_name,
    }
    for what, value in named.items():
        if isinstance(value, str) and not re.search(_NAMES[what], value, re.IGNORECASE):
            raise ValueError(f"{what} ({value}) must match {_NAMES[what]}")
    with graphs.get_default_graph().device("cpu:0"):
        given = [convert.convert_to_tensor(value, dtypes.string) for value in named.values()]
        return graph_writers.ResourceSummaryWriter(
            "" if name is None else name,
            lambda handle: raw.CreateSummaryDbWriter(handle, db_uri, *given),
        )
