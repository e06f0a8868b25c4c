"""The tensors that a step dumps: the debug options of RunOptions (core/protobuf/debug.proto)."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

ANY: Final = "*"
"""The node name of a watch for every tensor that has no watch of its own."""


class Watch(NamedTuple):
    """Dump output `slot` of the node called `node` after each of the debug `ops`.

    `target` numbers the list of URLs in `Watches.targets`. If `tolerates` is true, an op that does
    not exist, or that does not take the dtype of the tensor, is left out.
    """

    node: str
    slot: int
    ops: tuple[str, ...]
    target: int
    tolerates: bool


@dataclass(frozen=True, slots=True)
class Watches:
    """The watches of a step, and the URLs that their dumps go to, such as `file:///tmp/dumps`.

    The watches are apart from the URLs because a step is compiled once for equal watches, and each
    run of a debugger has URLs of its own.
    """

    watches: tuple[Watch, ...] = ()
    targets: tuple[tuple[str, ...], ...] = ()
    global_step: int = -1
    resets: bool = False
    """Whether the step begins to count the bytes anew that this process dumps."""

    def __bool__(self) -> bool:
        return bool(self.watches)

    @classmethod
    def from_proto(cls, proto: Any) -> "Watches":
        """Read a DebugOptions."""
        targets: dict[tuple[str, ...], int] = {}
        watches = [
            Watch(
                each.node_name,
                each.output_slot,
                tuple(each.debug_ops),
                targets.setdefault(tuple(each.debug_urls), len(targets)),
                each.tolerate_debug_op_creation_failures,
            )
            for each in proto.debug_tensor_watch_opts
        ]
        if not watches:
            return NOTHING
        resets = proto.reset_disk_byte_usage
        return cls(tuple(watches), tuple(targets), proto.global_step, resets)

    def fill(self, proto: Any) -> None:
        """Write the watches into a DebugOptions."""
        for each in self.watches:
            proto.debug_tensor_watch_opts.add(
                node_name=each.node,
                output_slot=each.slot,
                debug_ops=each.ops,
                debug_urls=self.targets[each.target],
                tolerate_debug_op_creation_failures=each.tolerates,
            )
        proto.global_step = self.global_step
        proto.reset_disk_byte_usage = self.resets

    @property
    def urls(self) -> list[str]:
        """All URLs, each once."""
        return list(dict.fromkeys(url for target in self.targets for url in target))

    def encoded(self) -> list[bytes]:
        """Return the URLs of each target in one string, as `decoded` reads them."""
        return ["\n".join(target).encode() for target in self.targets]


NOTHING: Final = Watches()
"""The watches of a step that dumps nothing."""


def decoded(target: bytes) -> Sequence[str]:
    """Return the URLs of a target.

    >>> decoded(Watches((), (("file:///a", "file:///b"),)).encoded()[0])
    ['file:///a', 'file:///b']
    """
    return target.decode().split("\n") if target else []
