"""Rules over several fields: one row each, in CEL for API servers and in Python for this package.

Both forms of a rule mean the same and share its message. CEL sees the whole object as `self`, with
defaults filled in. Python sees the raw document, so that a rule is checked even if other fields are
at fault. A rule holds for values of a wrong type, because the schema reports them.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from capstan_operator.api.fields import MAX_REPLICAS
from capstan_operator.api.names import MAX_NAME, TRAINER, ReplicaType
from capstan_operator.api.replicas import ReplicaSpec
from capstan_operator.api.spec import RestartBackoff

Document = Mapping[str, Any]

_WORKER = f"self.spec.replicaSpecs.{ReplicaType.WORKER}"
_CHECKPOINT = "self.spec.checkpoint"
DEFAULTS = RestartBackoff()
DEFAULT_REPLICAS: int = ReplicaSpec.model_fields["replicas"].default


@dataclass(frozen=True, slots=True)
class Rule:
    """`holds` and `cel` give the same result for every document that the schema allows."""

    path: str
    cel: str
    message: str
    holds: Callable[[Document], bool]


def _at(document: object, *path: str) -> Any:
    """Return the value at a path, or None if there is no value."""
    for key in path:
        if not isinstance(document, Mapping):
            return None
        document = document.get(key)
    return document


def _replicas(document: Document, kind: ReplicaType) -> int | None:
    """Return how many tasks of a type the document asks for, or None if the number is not valid."""
    specs = _at(document, "spec", "replicaSpecs")
    if not isinstance(specs, Mapping):
        return None
    spec = specs.get(kind)
    if spec is None:
        return 0
    count = _at(spec, "replicas")
    if count is None and isinstance(spec, Mapping):
        return DEFAULT_REPLICAS
    return count if isinstance(count, int) and not isinstance(count, bool) else None


def _of_containers(
    document: Document, kind: ReplicaType, field: str, containers: str = "containers"
) -> list[Any]:
    """Return the values of a field in all containers of a type that set the field."""
    found = _at(document, "spec", "replicaSpecs", kind, "template", "spec", containers)
    values = [_at(container, field) for container in found] if isinstance(found, list) else []
    return [value for value in values if value is not None]


def _longest_name_fits(document: Document) -> bool:
    name = _at(document, "metadata", "name")
    if not isinstance(name, str) or len(name) > MAX_NAME:
        return True
    counts = ((kind, _most_replicas(document, kind)) for kind in ReplicaType)
    longest = (len(f"{name}-{kind}-{count - 1}") for kind, count in counts if count)
    return max(longest, default=len(name)) <= MAX_NAME


def _most_replicas(document: Document, kind: ReplicaType) -> int:
    """Return the largest number of tasks of a type to which the document lets the job be scaled.

    Nobody could rename the job when it is scaled. Without `maxReplicas`, the job need not be
    elastic, and its present number of tasks counts.
    """
    most = _at(document, "spec", "replicaSpecs", kind, "maxReplicas")
    counts: tuple[Any, ...] = (_replicas(document, kind),)
    if kind is ReplicaType.WORKER:
        counts = (*counts, most)
    return max(filter(_is_count, counts), default=0)


def _at_most_one(kind: ReplicaType) -> Callable[[Document], bool]:
    return lambda document: (_replicas(document, kind) or 0) <= 1


def _has_a_training_task(document: Document) -> bool:
    return any(_replicas(document, kind) != 0 for kind in (ReplicaType.CHIEF, ReplicaType.WORKER))


def _backoff_grows(document: Document) -> bool:
    backoff = _at(document, "spec", "runPolicy", "restartBackoff")
    first, longest = _at(backoff, "initialSeconds"), _at(backoff, "maxSeconds")
    first = DEFAULTS.initial_seconds if first is None else first
    longest = DEFAULTS.max_seconds if longest is None else longest
    if not all(isinstance(value, int | float) for value in (first, longest)):
        return True
    return bool(first <= longest)


def _trainer_is_known(kind: ReplicaType) -> Callable[[Document], bool]:
    def holds(document: Document) -> bool:
        names = [name for name in _of_containers(document, kind, "name") if isinstance(name, str)]
        return len(names) <= 1 or TRAINER in names

    return holds


def _cel_longest(kind: ReplicaType) -> str:
    spec = f"self.spec.replicaSpecs.{kind}"
    name = f"size(self.metadata.name) + size('-{kind}-')"

    def fits(field: str) -> str:
        count = f"{spec}.{field}"
        return f"{count} < 1 || {name} + size(string({count} - 1)) <= {MAX_NAME}"

    rule = fits("replicas")
    if kind is ReplicaType.WORKER:
        rule = f"({rule}) && (!has({spec}.maxReplicas) || {fits('maxReplicas')})"
    return f"(!has({spec}) || {rule})"


def _cel_has_tasks(kind: ReplicaType) -> str:
    spec = f"self.spec.replicaSpecs.{kind}"
    return f"(has({spec}) && {spec}.replicas > 0)"


def _single(kind: ReplicaType) -> Rule:
    spec = f"self.spec.replicaSpecs.{kind}"
    return Rule(
        path=f"spec.replicaSpecs.{kind}.replicas",
        cel=f"!has({spec}) || {spec}.replicas <= 1",
        message=f"a job has at most one {kind}",
        holds=_at_most_one(kind),
    )


def _trainer_of(kind: ReplicaType) -> Rule:
    spec = f"self.spec.replicaSpecs.{kind}"
    containers = f"{spec}.template.spec.containers"
    return Rule(
        path=f"spec.replicaSpecs.{kind}.template.spec.containers",
        cel=f"!has({spec}) || size({containers}) <= 1"
        f" || {containers}.exists(c, c.name == '{TRAINER}')",
        message=f"if there are several containers, one must be named {TRAINER}: the task ends when"
        " that container ends",
        holds=_trainer_is_known(kind),
    )


def _no_restart_in_place(kind: ReplicaType) -> Rule:
    path = f"spec.replicaSpecs.{kind}.template.spec.containers"
    return Rule(
        path=path,
        cel=f"!has(self.spec.replicaSpecs.{kind}) || self.{path}.all(c, !has(c.restartPolicy))",
        message="a container may not set restartPolicy, because restarts inside a pod are not"
        f" counted; set spec.replicaSpecs.{kind}.restartPolicy",
        holds=lambda document: (
            not any(
                isinstance(policy, str)
                for policy in _of_containers(document, kind, "restartPolicy")
            )
        ),
    )


def _no_restart_of_all(kind: ReplicaType) -> Rule:
    """Return the rule that init containers set no restartPolicyRules.

    In Kubernetes, other containers with such rules need a restartPolicy, which
    `_no_restart_in_place` refuses.
    """
    path = f"spec.replicaSpecs.{kind}.template.spec.initContainers"
    return Rule(
        path=path,
        cel=f"!has(self.spec.replicaSpecs.{kind}) || !has(self.{path})"
        f" || self.{path}.all(c, !has(c.restartPolicyRules))",
        message="an init container may not set restartPolicyRules, because restarts inside a pod"
        " are not counted",
        holds=lambda document: (
            not any(
                isinstance(container_rules, list)
                for container_rules in _of_containers(
                    document, kind, "restartPolicyRules", "initContainers"
                )
            )
        ),
    )


def _in_its_range(document: Document) -> bool:
    worker = _at(document, "spec", "replicaSpecs", ReplicaType.WORKER)
    count = _replicas(document, ReplicaType.WORKER)
    least, most = _at(worker, "minReplicas"), _at(worker, "maxReplicas")
    if worker is None or not _is_count(count):
        return True
    return not (_is_count(least) and count < least) and not (_is_count(most) and count > most)


def _names_one_claim(document: Document) -> bool:
    checkpoint = _at(document, "spec", "checkpoint")
    if not isinstance(checkpoint, Mapping):
        return True
    claims = (checkpoint.get("existingClaim"), checkpoint.get("volumeClaim"))
    return sum(claim is not None for claim in claims) == 1


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= MAX_REPLICAS


RULES: tuple[Rule, ...] = (
    Rule(
        path="metadata.name",
        cel=" && ".join(map(_cel_longest, ReplicaType)),
        message="is too long: the longest task name, <name>-<type>-<index>, may have at most"
        f" {MAX_NAME} characters, also with maxReplicas workers",
        holds=_longest_name_fits,
    ),
    Rule(
        path="spec.replicaSpecs",
        cel=" || ".join(map(_cel_has_tasks, (ReplicaType.CHIEF, ReplicaType.WORKER))),
        message="a job needs a chief or at least one worker to train",
        holds=_has_a_training_task,
    ),
    _single(ReplicaType.CHIEF),
    _single(ReplicaType.EVALUATOR),
    Rule(
        path="spec.replicaSpecs.worker.replicas",
        cel=f"!has({_WORKER}) || ("
        f"(!has({_WORKER}.minReplicas) || {_WORKER}.minReplicas <= {_WORKER}.replicas)"
        f" && (!has({_WORKER}.maxReplicas) || {_WORKER}.replicas <= {_WORKER}.maxReplicas))",
        message="must be at least minReplicas and at most maxReplicas",
        holds=_in_its_range,
    ),
    *map(_trainer_of, ReplicaType),
    *map(_no_restart_in_place, ReplicaType),
    *map(_no_restart_of_all, ReplicaType),
    Rule(
        path="spec.checkpoint",
        cel=f"!has({_CHECKPOINT})"
        f" || has({_CHECKPOINT}.existingClaim) != has({_CHECKPOINT}.volumeClaim)",
        message="set either existingClaim or volumeClaim",
        holds=_names_one_claim,
    ),
    Rule(
        path="spec.runPolicy.restartBackoff",
        cel="!has(self.spec.runPolicy) || !has(self.spec.runPolicy.restartBackoff)"
        " || self.spec.runPolicy.restartBackoff.initialSeconds"
        " <= self.spec.runPolicy.restartBackoff.maxSeconds",
        message="initialSeconds must not be more than maxSeconds",
        holds=_backoff_grows,
    ),
)
