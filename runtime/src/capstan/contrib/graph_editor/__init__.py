"""`tf.contrib.graph_editor`: changes and copies of graphs that are built already."""

from typing import Any

from capstan.api.absent import absent
from capstan.contrib.graph_editor.control_outputs import ControlOutputs as ControlOutputs
from capstan.contrib.graph_editor.copying import Transformer as Transformer
from capstan.contrib.graph_editor.copying import copy as copy
from capstan.contrib.graph_editor.copying import (
    copy_with_input_replacements as copy_with_input_replacements,
)
from capstan.contrib.graph_editor.copying import graph_replace as graph_replace
from capstan.contrib.graph_editor.edit import bypass as bypass
from capstan.contrib.graph_editor.edit import connect as connect
from capstan.contrib.graph_editor.edit import detach as detach
from capstan.contrib.graph_editor.edit import detach_control_inputs as detach_control_inputs
from capstan.contrib.graph_editor.edit import detach_control_outputs as detach_control_outputs
from capstan.contrib.graph_editor.edit import detach_inputs as detach_inputs
from capstan.contrib.graph_editor.edit import detach_outputs as detach_outputs
from capstan.contrib.graph_editor.elements import get_consuming_ops as get_consuming_ops
from capstan.contrib.graph_editor.elements import get_generating_ops as get_generating_ops
from capstan.contrib.graph_editor.elements import get_tensors as get_tensors
from capstan.contrib.graph_editor.elements import make_list_of_op as make_list_of_op
from capstan.contrib.graph_editor.elements import make_list_of_t as make_list_of_t
from capstan.contrib.graph_editor.filters import can_be_regex as can_be_regex
from capstan.contrib.graph_editor.filters import check_cios as check_cios
from capstan.contrib.graph_editor.filters import compute_boundary_ts as compute_boundary_ts
from capstan.contrib.graph_editor.filters import filter_ops as filter_ops
from capstan.contrib.graph_editor.filters import filter_ops_from_regex as filter_ops_from_regex
from capstan.contrib.graph_editor.filters import filter_ts as filter_ts
from capstan.contrib.graph_editor.filters import filter_ts_from_regex as filter_ts_from_regex
from capstan.contrib.graph_editor.filters import get_name_scope_ops as get_name_scope_ops
from capstan.contrib.graph_editor.filters import get_ops_ios as get_ops_ios
from capstan.contrib.graph_editor.filters import make_regex as make_regex
from capstan.contrib.graph_editor.filters import select_ops as select_ops
from capstan.contrib.graph_editor.filters import select_ops_and_ts as select_ops_and_ts
from capstan.contrib.graph_editor.filters import select_ts as select_ts
from capstan.contrib.graph_editor.handlers import (
    assign_renamed_collections_handler as assign_renamed_collections_handler,
)
from capstan.contrib.graph_editor.handlers import copy_op_handler as copy_op_handler
from capstan.contrib.graph_editor.handlers import (
    keep_t_if_possible_handler as keep_t_if_possible_handler,
)
from capstan.contrib.graph_editor.handlers import (
    replace_t_with_placeholder_handler as replace_t_with_placeholder_handler,
)
from capstan.contrib.graph_editor.handlers import (
    transform_op_if_inside_handler as transform_op_if_inside_handler,
)
from capstan.contrib.graph_editor.placeholders import (
    make_placeholder_from_dtype_and_shape as make_placeholder_from_dtype_and_shape,
)
from capstan.contrib.graph_editor.placeholders import (
    make_placeholder_from_tensor as make_placeholder_from_tensor,
)
from capstan.contrib.graph_editor.placeholders import placeholder_name as placeholder_name
from capstan.contrib.graph_editor.reroute import add_control_inputs as add_control_inputs
from capstan.contrib.graph_editor.reroute import remove_control_inputs as remove_control_inputs
from capstan.contrib.graph_editor.reroute import reroute_inputs as reroute_inputs
from capstan.contrib.graph_editor.reroute import reroute_ios as reroute_ios
from capstan.contrib.graph_editor.reroute import reroute_outputs as reroute_outputs
from capstan.contrib.graph_editor.reroute import reroute_ts as reroute_ts
from capstan.contrib.graph_editor.reroute import swap_inputs as swap_inputs
from capstan.contrib.graph_editor.reroute import swap_ios as swap_ios
from capstan.contrib.graph_editor.reroute import swap_outputs as swap_outputs
from capstan.contrib.graph_editor.reroute import swap_ts as swap_ts
from capstan.contrib.graph_editor.subgraph import SubGraphView as SubGraphView
from capstan.contrib.graph_editor.subgraph import make_view as make_view
from capstan.contrib.graph_editor.subgraph import make_view_from_scope as make_view_from_scope
from capstan.contrib.graph_editor.transformed import TransformerInfo as TransformerInfo
from capstan.contrib.graph_editor.walks import get_backward_walk_ops as get_backward_walk_ops
from capstan.contrib.graph_editor.walks import get_forward_walk_ops as get_forward_walk_ops
from capstan.contrib.graph_editor.walks import (
    get_walks_intersection_ops as get_walks_intersection_ops,
)
from capstan.contrib.graph_editor.walks import get_walks_union_ops as get_walks_union_ops
from capstan.contrib.graph_editor.walks import get_within_boundary_ops as get_within_boundary_ops
from capstan.core import alias, public

ph = make_placeholder_from_dtype_and_shape
sgv = make_view
sgv_scope = make_view_from_scope

alias.grow(
    __name__,
    {
        "select": (f"{__name__}.filters", f"{__name__}.walks"),
        "transform": (f"{__name__}.handlers", f"{__name__}.transformed", f"{__name__}.copying"),
        "util": tuple(
            f"{__name__}.{name}"
            for name in ("elements", "control_outputs", "placeholders", "trees")
        ),
    },
)


def __getattr__(name: str) -> Any:
    raise absent("tf.contrib.graph_editor", name)


def __dir__() -> list[str]:
    return sorted({*public.names(globals()), *alias.inside(globals())})
