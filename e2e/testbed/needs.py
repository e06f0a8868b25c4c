"""The programs and images of the test bed that fixtures need. They are built before the tests."""

from collections.abc import Callable

from testbed import images, nodes, programs, tools


def _cluster(tell: programs.Tell) -> None:
    programs.folder(tell)


def _nodes(tell: programs.Tell) -> None:
    if reason := nodes.unavailable():
        raise programs.Unavailable(reason)
    programs.folder(tell)
    for image in images.RECIPES:
        images.archive(image, tell)
    tools.program("helm", tell)


def _helm(tell: programs.Tell) -> None:
    for name in ("helm", "promql"):
        tools.program(name, tell)


def _kueue(tell: programs.Tell) -> None:
    tools.program("kueue", tell)


def _coscheduling(tell: programs.Tell) -> None:
    tools.program("coscheduling", tell)


PREPARED: dict[str, Callable[[programs.Tell], None]] = {
    "cluster": _cluster,
    "helm": _helm,
    "nodes": _nodes,
    "kubernetes": _nodes,
    "with_kueue": _kueue,
    "with_coscheduling": _coscheduling,
}
"""The fixtures that need programs of the test bed, each with the function that builds them."""
