"""`tf.contrib.framework`: argument scopes, model variables and the readers of checkpoints."""

from typing import Any

from capstan.api import nest as nest
from capstan.api.absent import absent
from capstan.contrib.framework.argument_scopes import add_arg_scope as add_arg_scope
from capstan.contrib.framework.argument_scopes import arg_scope as arg_scope
from capstan.contrib.framework.argument_scopes import arg_scope_func_key as arg_scope_func_key
from capstan.contrib.framework.argument_scopes import arg_scoped_arguments as arg_scoped_arguments
from capstan.contrib.framework.argument_scopes import current_arg_scope as current_arg_scope
from capstan.contrib.framework.argument_scopes import has_arg_scope as has_arg_scope
from capstan.contrib.framework.restoring import assign_from_checkpoint as assign_from_checkpoint
from capstan.contrib.framework.restoring import (
    assign_from_checkpoint_fn as assign_from_checkpoint_fn,
)
from capstan.contrib.framework.restoring import assign_from_values as assign_from_values
from capstan.contrib.framework.restoring import assign_from_values_fn as assign_from_values_fn
from capstan.contrib.framework.variables import VariableDeviceChooser as VariableDeviceChooser
from capstan.contrib.framework.variables import add_model_variable as add_model_variable
from capstan.contrib.framework.variables import filter_variables as filter_variables
from capstan.contrib.framework.variables import get_local_variables as get_local_variables
from capstan.contrib.framework.variables import get_model_variables as get_model_variables
from capstan.contrib.framework.variables import get_trainable_variables as get_trainable_variables
from capstan.contrib.framework.variables import get_unique_variable as get_unique_variable
from capstan.contrib.framework.variables import get_variable_full_name as get_variable_full_name
from capstan.contrib.framework.variables import get_variables as get_variables
from capstan.contrib.framework.variables import get_variables_by_name as get_variables_by_name
from capstan.contrib.framework.variables import get_variables_by_suffix as get_variables_by_suffix
from capstan.contrib.framework.variables import get_variables_to_restore as get_variables_to_restore
from capstan.contrib.framework.variables import global_variable as global_variable
from capstan.contrib.framework.variables import local_variable as local_variable
from capstan.contrib.framework.variables import model_variable as model_variable
from capstan.contrib.framework.variables import variable as variable
from capstan.core import alias
from capstan.train.checkpoint_reader import list_variables as list_variables
from capstan.train.checkpoint_reader import load_checkpoint as load_checkpoint
from capstan.train.checkpoint_reader import load_variable as load_variable
from capstan.train.initial_checkpoint import init_from_checkpoint as init_from_checkpoint
from capstan.train.steps import assert_global_step as assert_global_step
from capstan.train.steps import create_global_step as create_global_step
from capstan.train.steps import get_global_step as get_global_step
from capstan.train.steps import get_or_create_global_step as get_or_create_global_step

alias.grow(
    __name__,
    {
        "python.ops": (__name__,),
        "python.ops.arg_scope": ("capstan.contrib.framework.argument_scopes",),
        "python.ops.variables": (__name__,),
    },
)


def __getattr__(name: str) -> Any:
    raise absent("tf.contrib.framework", name)
