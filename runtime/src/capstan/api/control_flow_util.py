"""Which loop or conditional is being built (python/ops/control_flow_util.py).

The context of a graph is `graph._get_control_flow_context()`.
"""

from typing import Any

from capstan.framework import control_context

__all__ = ["GetContainingWhileContext", "GetContainingXLAContext"]


def GetContainingWhileContext(ctxt: Any, stop_ctxt: Any = None) -> Any:
    """Return the innermost loop around a context, which may be the context itself, or None.

    The search ends at `stop_ctxt`, which is the result then.
    """
    while ctxt is not None and not ctxt.is_loop and ctxt is not stop_ctxt:
        ctxt = ctxt.outer
    return ctxt


def GetContainingXLAContext(ctxt: control_context.ControlFlowContext | None) -> None:
    """Return None: Capstan does not compile by XLA."""
