"""`python.util.all_util`: a module keeps the names of its docstring."""

import sys
from types import ModuleType

from capstan.python.util import all_util


def test_a_module_keeps_the_names_that_its_docstring_lists() -> None:
    module = ModuleType("documented", "Some names.\n\n@@one\n@@absent\n")
    vars(module).update(one=1, two=2, three=3, _four=4)
    sys.modules["documented"] = module
    try:
        assert all_util.make_all("documented") == ["one"]
        other = ModuleType("other", "@@two")
        assert all_util.make_all("documented", [module, other]) == ["one", "two"]
        all_util.remove_undocumented("documented", ["three"])
        assert {"one", "three", "_four"} <= set(dir(module))
        assert "two" not in dir(module)
        all_util.remove_undocumented("documented")
        assert "three" not in dir(module)
    finally:
        del sys.modules["documented"]
