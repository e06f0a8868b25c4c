"""Rows of mutexes (tensorflow/core/ops/resource_variable_ops.cc)."""

from capstan.framework import facts
from capstan.framework.opdef import OpDef, define
from capstan.framework.ops import rules

define(
    OpDef(
        "MutexV2",
        outputs=("resource: resource",),
        attrs={"container": b"", "shared_name": b""},
        shape=rules.scalar,
        not_differentiable=True,
        effect=facts.MAKES,
        role=facts.Role.HANDLE,
    )
)
define(
    OpDef(
        "MutexLock",
        ("mutex: resource",),
        ("mutex_lock: variant",),
        shape=rules.scalar,
        not_differentiable=True,
        effect=facts.changes("mutex") | facts.BLOCKS,
        host=("mutex_lock",),
    )
)
define(
    # After this node, other steps may change any variable that this step has read. A read before
    # the node whose value is used after the node is therefore a copy (graph.hazards).
    OpDef(
        "ConsumeMutexLock",
        ("mutex_lock: variant",),
        shape=rules.nothing,
        not_differentiable=True,
        effect=facts.changes("mutex_lock"),
        host=("mutex_lock",),
    )
)
