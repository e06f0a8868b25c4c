"""The view "op": a list of the op types of a graph (tfprof_op.cc).

The totals of an op are its own figures and those of the ops below it in the list.
"""

import itertools
from collections.abc import Iterator, Mapping

from capstan.api.profiler import choices, figures
from capstan.api.profiler.groups import Group, legend
from capstan.api.profiler.nodes import Node, Shape
from capstan.api.profiler.options import Options


def show(nodes: Mapping[str, Node], options: Options) -> Group:
    """Return the root of the view. Each op that is shown is the child of the op before it."""
    groups: dict[str, Group] = {}
    for node in nodes.values():
        groups.setdefault(node.op, Group(node.op)).nodes[node.name] = node
    accounted = []
    for _, group in sorted(groups.items()):
        if group.account(nodes, options):
            group.count_self()
            accounted.append(group)
    accounted = choices.in_order(accounted, options)
    _add_up(accounted)
    root = Group(choices.ROOT)
    for first in accounted[:1]:
        root.count(first)
    shown = _chosen(accounted, options)
    if options.account_displayed_op_only:
        for group in shown:
            group.count_self()
        _add_up(shown)
        root.total = figures.zeros()
        for first in shown[:1]:
            root.count(first)
    root.text = legend(options.select)
    for above, group in zip([root, *shown], shown, strict=False):
        group.text = _line(group, root, options)
        above.shown = [group]
    return root


def _add_up(groups: list[Group]) -> None:
    """Add the totals of each op to those of the op before it."""
    for group, below in reversed([*itertools.pairwise(groups)]):
        group.count(below)


def _chosen(groups: list[Group], options: Options) -> list[Group]:
    """Return the ops that are shown."""
    start = 0
    if options.start_name_regexes:
        names = [group.name for group in groups]
        start = next((i for i, name in enumerate(names) if _matches(name, options)), len(groups))
    shown = []
    for depth, group in enumerate(groups[start:]):
        if choices.is_trimmed(group, options) or depth > options.max_depth:
            break
        if group.is_shown(options, depth):
            shown.append(group)
    return shown


def _matches(name: str, options: Options) -> bool:
    return choices.matches((name,), options.start_name_regexes)


def _line(group: Group, root: Group, options: Options) -> str:
    line = f"{group.name:<25}{', '.join(_facts(group, root, options.select))}\n"
    if "input_shapes" in options.select and group.counted:
        return f"{line}\n{_input_shapes(group)}\n\n"
    return line


def _facts(group: Group, root: Group, select: tuple[str, ...]) -> Iterator[str]:
    for name, kind in figures.MEMORY.items():
        if name in select:
            yield _shares(group, root, kind, figures.memory(group.own[kind]), group.own[kind])
    for kind in figures.times(select):
        yield _shares(group, root, kind, figures.duration(group.own[kind]), group.total[kind])
    for name, kind in (("params", "parameters"), ("float_ops", "float_ops")):
        if name in select:
            text = f"{figures.number(group.own[kind])} {name}"
            yield _shares(group, root, kind, text, group.total[kind])
    if "device" in select:
        yield group.devices()
    if "op_types" in select:
        yield group.types()
    if "occurrence" in select:
        runs = sum(shown.own["run_count"] for shown in group.counted)
        yield f"{f'{runs}|{len(group.counted)}':>10}"


def _shares(group: Group, root: Group, kind: str, text: str, guard: int) -> str:
    """Return a figure with the shares of the total and of the figure in all figures."""
    everything = root.total[kind]
    total, own = (
        (100.0 * value / everything if guard > 0 and everything else 0.0)
        for value in (group.total[kind], group.own[kind])
    )
    return f"{f'{text} ({total:.2f}%, {own:.2f}%)':>30}"


def _input_shapes(group: Group) -> str:
    """Return a line for each combination of input shapes, that with the most runs first."""
    found: dict[str, list[int]] = {}
    for shown in group.counted:
        shapes = ",\t".join(
            f"{number}:{_sizes(shape)}" for number, shape in sorted(shown.inputs.items())
        )
        counts = found.setdefault(f"input_type: {shapes}", [0, 0, 0])
        counts[0] += 1
        counts[1] += shown.own["run_count"]
        counts[2] += shown.own["exec_micros"]
    ordered = sorted(sorted(found.items()), key=lambda pair: -pair[1][1])
    return "\n".join(
        f"{shapes}\t(run*{runs}|defined*{defined})\texec_time: {figures.duration(micros)}"
        for shapes, (defined, runs, micros) in ordered
    )


def _sizes(shape: Shape) -> str:
    return "x".join(map(str, shape)) or "unknown"
