"""The service `capstan.Training`, from which the operator reads the progress of a training.

Its one method, `Progress`, answers with the JSON document that `CAPSTAN_PROGRESS_FILE` holds on one
machine. The method does not read its request, so a request takes no memory. It is not part of
TensorFlow, whose servers answer UNIMPLEMENTED.
"""

from collections.abc import Callable
from typing import Any, Final

import grpc

SERVICE: Final = "capstan.Training"


def handlers(report: Callable[[], bytes]) -> "dict[str, grpc.RpcMethodHandler[Any, Any]]":
    """Return the handlers of the methods by name. `report` returns the newest document."""
    return {"Progress": grpc.stream_unary_rpc_method_handler(lambda _request, _context: report())}
