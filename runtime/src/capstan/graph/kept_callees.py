"""The functions that a node keeps, such as those of a dataset."""

from capstan import errors
from capstan.core import devices, function
from capstan.core import node as ir
from capstan.framework import opdef
from capstan.graph import infer


def check_places(node: ir.Node, called: function.Function) -> None:
    """Check that a function that `node` keeps can run beside it, on a CPU of its task.

    Raises:
        InvalidArgumentError: a node of the function is on another device.
    """
    home = devices.task_of(node.device)
    for each in called.nodes.values():
        if infer.is_constant(each):
            continue
        if devices.task_of(each.device) != home or devices.parse(each.device).device_type != "CPU":
            raise errors.InvalidArgumentError(
                None,
                None,
                f"{{{{node {each.name}}}}} of a function of {{{{node {node.name}}}}} is on "
                f"{each.device}, but the functions of datasets run on the CPUs of their task, "
                f"{home}. Place the dataset on the task of the resources that its functions use",
            )


def captured(node: ir.Node) -> dict[str, list[ir.Edge]]:
    """Return the inputs that each function attribute of `node` captures.

    As in TensorFlow, they are the input argument `other_arguments`, or the argument that begins
    with the name of the attribute and `_other_arg`.
    """
    row, attrs = opdef.lookup(node.op), infer.attributes(node)
    names = [
        argument.name for argument in row.input_arguments for _ in opdef.expand([argument], attrs)
    ]
    functions = [name for name, kind in row.attrs.items() if kind is function.Reference]
    found: dict[str, list[ir.Edge]] = {}
    for attribute in functions:
        prefixes = ("other_arguments", f"{attribute}_other_arg")
        found[attribute] = [
            edge for name, edge in zip(names, node.inputs, strict=True) if name.startswith(prefixes)
        ]
    return found
