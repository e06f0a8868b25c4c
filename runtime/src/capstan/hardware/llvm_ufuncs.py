"""Compiles elementwise programs for the processor, as ufuncs of NumPy.

NumPy gives the loop of a ufunc arrays of any layout, and broadcasts them. It lets other threads run
Python meanwhile. `llvm_loops` writes the loop.
"""

import ctypes
import functools
import weakref
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import llvmlite.binding as llvm
from numpy._core import _multiarray_umath  # type: ignore[attr-defined]

from capstan.core import elementwise
from capstan.hardware import llvm_loops

_REGISTERS = 4
"""The registers of a vector. A processor computes them side by side, because no result of one
depends on another. More would not fit into its registers."""

_FROM_FUNCTIONS = 1
"""The place of PyUFunc_FromFuncAndData in NumPy's table of functions (`PyUFunc_API`)."""

_NO_IDENTITY = -1


class Compiler:
    """Compiles programs for the processor of this machine. Thread-safe."""

    def __init__(self) -> None:
        llvm.initialize_native_target()
        llvm.initialize_native_asmprinter()
        features = llvm.get_host_cpu_features()
        self._target = llvm.Target.from_default_triple()
        self._processor = llvm.get_host_cpu_name()
        self._features = features.flatten()
        wide = [size for name, size in (("avx512f", 64), ("avx", 32)) if features.get(name)]
        self.register = (wide or [16])[0]
        """The bytes of a vector that the processor has in one register."""
        self.vector = _REGISTERS * self.register
        """The bytes of a vector."""
        self._loops: weakref.WeakValueDictionary[str, Loop] = weakref.WeakValueDictionary()

    def compile(self, program: elementwise.Program, numbers: tuple[bool, ...]) -> "Loop":
        """Return the loop of a program. `numbers` are those of `llvm_loops.write`.

        Equal programs share a loop.
        """
        # In Python, register 1 equals the constant 1.0, and 0.0 equals -0.0. Their texts differ.
        key = repr((program, numbers))
        loop = self._loops.get(key)
        if loop is None:
            loop = self._loops[key] = self._compile(program, numbers)
        return loop

    def _compile(self, program: elementwise.Program, numbers: Sequence[bool]) -> "Loop":
        return Loop(self.engine(llvm_loops.write(program, numbers, self.vector)), program)

    def engine(
        self, text: str, symbols: Mapping[str, int] = MappingProxyType({})
    ) -> llvm.ExecutionEngine:
        """Return the engine that owns the functions of a module, which are compiled.

        `symbols` are the addresses of functions that the module calls.
        """
        for name, address in symbols.items():
            llvm.add_symbol(name, address)
        module = llvm.parse_assembly(text)
        # The engine owns its machine, and frees it.
        machine = self._target.create_target_machine(self._processor, self._features, opt=2)
        builder = llvm.create_pass_builder(machine, llvm.create_pipeline_tuning_options())
        passes = llvm.create_new_module_pass_manager()
        # More passes take longer than the loops, whose code they hardly improve.
        passes.add_instruction_combine_pass()
        passes.add_simplify_cfg_pass()
        passes.run(module, builder)
        builder.close()
        engine = llvm.create_mcjit_compiler(module, machine)
        engine.finalize_object()
        return engine


class Loop:
    """A compiled program. `call` is a ufunc, which must not be called after its loop is gone."""

    def __init__(self, engine: llvm.ExecutionEngine, program: elementwise.Program) -> None:
        dtypes = (*program.input_dtypes, *program.result_dtypes)
        self._engine = engine
        # NumPy does not copy these arrays.
        self._functions = (ctypes.c_void_p * 1)(engine.get_function_address(llvm_loops.NAME))
        self._data = (ctypes.c_void_p * 1)()
        self._types = ctypes.create_string_buffer(bytes(dtype.num for dtype in dtypes))
        self._name = ctypes.create_string_buffer(llvm_loops.NAME.encode())
        self.call: Callable[..., Any] = _make()(
            ctypes.addressof(self._functions),
            ctypes.addressof(self._data),
            ctypes.addressof(self._types),
            1,
            program.inputs,
            len(program.results),
            _NO_IDENTITY,
            ctypes.addressof(self._name),
            ctypes.addressof(self._name),
            0,
        )


@functools.cache
def _make() -> Callable[..., Any]:
    """Return NumPy's function that makes a ufunc. It is in the C API, and has no name in Python."""
    get = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)
    address = get(("PyCapsule_GetPointer", ctypes.pythonapi))(_multiarray_umath._UFUNC_API, None)
    functions = ctypes.cast(address, ctypes.POINTER(ctypes.c_void_p))
    place, number = ctypes.c_void_p, ctypes.c_int
    signature = ctypes.PYFUNCTYPE(
        ctypes.py_object, *[place] * 3, *[number] * 4, *[place] * 2, number
    )
    return signature(functions[_FROM_FUNCTIONS] or 0)
