"""The service `grpc.health.v1.Health`, which readiness probes of Kubernetes and of meshes call.

Source: grpc/health/v1/health.proto. A server that answers is healthy: it takes sessions and steps.
The service has no method `Watch`. The protocol says that clients then take the server as healthy.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final

from capstan import errors
from capstan.transport.grpc import channels, wire

SERVICE: Final = "grpc.health.v1.Health"
SERVING: Final = 1
_KNOWN: Final = frozenset({"", SERVICE, channels.MASTER, channels.WORKER})


def answers() -> Mapping[str, Callable[[Any, Any], Any]]:
    """Return the methods by name."""
    return {"Check": _check}


def _check(request: Any, context: Any) -> Any:
    if request.service not in _KNOWN:
        raise errors.NotFoundError(
            None,
            None,
            f'There is no service "{request.service}" here; ask for "", the whole server',
        )
    return wire.CheckResponse(status=SERVING)
