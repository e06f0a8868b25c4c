"""Compiles functions of Python for the processor (`llvm_python`), and calls them.

A call lets other threads run Python meanwhile.
"""

import ctypes
import functools
from collections.abc import Callable, Sequence
from typing import Any

import llvmlite.binding as llvm

from capstan.hardware import llvm_expressions, llvm_python

_INLINED = 50
"""The size of functions that LLVM writes into their callers. Larger ones take long to compile."""


class Compiled:
    """A compiled function."""

    def __init__(
        self, function: Callable[..., Any], kinds: Sequence[llvm_expressions.Kind]
    ) -> None:
        """Compile `function` for arguments of these kinds.

        Raises:
            NotCompilable: the function is not in the part of Python that can be compiled.
        """
        module = llvm.parse_assembly(llvm_python.write(function, kinds))
        target, processor, features = _target()
        # The engine owns its machine, and frees it.
        machine = target.create_target_machine(processor, features, opt=2)
        options = llvm.create_pipeline_tuning_options(speed_level=2)
        options.inlining_threshold = _INLINED
        options.loop_vectorization = True
        builder = llvm.create_pass_builder(machine, options)
        builder.getModulePassManager().run(module, builder)
        builder.close()
        self._engine = llvm.create_mcjit_compiler(module, machine)
        self._engine.finalize_object()
        signature = ctypes.CFUNCTYPE(
            ctypes.c_int64, *(ctypes.c_int64 if kind is int else ctypes.py_object for kind in kinds)
        )
        self._call = signature(self._engine.get_function_address(llvm_python.NAME))
        self.of_row: int = self._engine.get_function_address(llvm_python.OF_ROW)
        """The address of the function that takes its arguments as a row (`llvm_crew`)."""

    def call(self, *arguments: Any) -> int:
        """Call the function with array objects, and integers.

        A method keeps the engine, and so the code, while a thread is in the function.
        """
        found: int = self._call(*arguments)
        return found


@functools.cache
def compiled(function: Callable[..., Any], kinds: tuple[llvm_expressions.Kind, ...]) -> Compiled:
    """Return the compiled function, which the process keeps for arguments of these kinds.

    Threads that ask for it at the same time may compile it at the same time.
    """
    return Compiled(function, kinds)


@functools.cache
def _target() -> tuple[llvm.Target, str, str]:
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    features = llvm.get_host_cpu_features().flatten()
    return llvm.Target.from_default_triple(), llvm.get_host_cpu_name(), features
