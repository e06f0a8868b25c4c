"""The functions by which threads share the calls of a compiled function, as a module of LLVM.

All calls of a job are one table: a row has the arguments of a call, a word each. A function that
takes such a row (`write_row_function`) unpacks it. The threads take rows by an atomic counter and
hold no lock, so a thread that loses its core delays only its own row.
"""

import platform
import string
from typing import Final

from llvmlite import ir

from capstan.hardware import llvm_expressions
from capstan.hardware.llvm_expressions import POINTER

OPEN, WORK, WAIT = "capstan_open", "capstan_work", "capstan_wait"
HELP, ALONE = "capstan_help", "capstan_alone"
"""The names of the functions.

* `OPEN(state, function, table)` opens a job. There is one job at a time.
* `WORK(state)` takes rows until none is left. It returns the number of rows that it has taken.
* `WAIT(state)` ends the job, and returns when no helper works on a row any more.
* `HELP(state, rounds)` helps with jobs until it has looked for one `rounds` times in vain.
* `ALONE(function, table)` computes all rows.

`state` is an array object of int64, `SIZE` long. `table` is one, too, with a line for each row.
`function` is an address.
"""

SIZE: Final = 32
"""The numbers of a state.

The first is the next row, 8 later is the number of helpers that may be at work, 16 later is the
job: the function, the rows, their length and their number, and `ENDED` later is the number of calls
of `HELP` that have ended. They lie in different lines of the cache, because threads write them at
different times.
"""

ENDED: Final = 24

CLOSED: Final = 1 << 62
"""The next row if there is no job. A state begins with it."""

_ROUNDS: Final = 1 << 12
"""A caller looks so many times whether its helpers are ready before it lets its core go."""

_NAP: Final = 50
"""Then it sleeps for so many microseconds at a time. On busy cores, a helper may need its core."""

_WORD: Final = 8

_X86: Final = ("x86_64", "amd64")


def write_row_function(module: ir.Module, function: ir.Function, name: str) -> None:
    """Write a function that takes the address of a row, and calls `function` with its words."""
    made = ir.Function(module, ir.FunctionType(ir.VoidType(), [POINTER]), name)
    build = ir.IRBuilder(made.append_basic_block())
    (row,) = made.args
    words = [
        llvm_expressions.member(build, row, _WORD * at, argument.type)
        for at, argument in enumerate(function.args)
    ]
    build.call(function, words)
    build.ret_void()


def write() -> str:
    """Return the text of the module, for the processor of this machine."""
    is_x86 = platform.machine().lower() in _X86
    return string.Template(_TEXT).substitute(
        elements=llvm_expressions.HEAD,
        sizes=llvm_expressions.HEAD + llvm_expressions.SIZES,
        pause="call void @llvm.x86.sse2.pause()" if is_x86 else "",
        declare="declare void @llvm.x86.sse2.pause()" if is_x86 else "",
        closed=CLOSED,
        ended=ENDED,
        rounds=_ROUNDS,
        nap=_NAP,
    )


# A helper first counts itself as inside, and then takes a row. A caller first closes the job, and
# then waits until nobody is inside. So no helper takes a row of a job that has ended.
#
# A helper first counts itself as ended, and then looks for a job once more. A caller first opens
# the job, and then reads how many have ended. So no helper that seems to be awake misses a job.
_TEXT: Final = """
$declare
declare i32 @usleep(i32)

define internal ptr @elements(ptr %array) {
  %at = getelementptr i8, ptr %array, i64 $elements
  %elements = load ptr, ptr %at
  ret ptr %elements
}

define internal ptr @sizes(ptr %array) {
  %at = getelementptr i8, ptr %array, i64 $sizes
  %sizes = load ptr, ptr %at
  ret ptr %sizes
}

define internal i1 @is_open(ptr %members) {
  %next = load atomic i64, ptr %members seq_cst, align 8
  %count.at = getelementptr i64, ptr %members, i64 19
  %count = load atomic i64, ptr %count.at monotonic, align 8
  %is.open = icmp slt i64 %next, %count
  ret i1 %is.open
}

define internal i64 @take(ptr %members) {
begin:
  %job = getelementptr i64, ptr %members, i64 16
  br label %look
look:
  %taken = phi i64 [ 0, %begin ], [ %more, %work ]
  %row = atomicrmw add ptr %members, i64 1 seq_cst
  %count.at = getelementptr i64, ptr %job, i64 3
  %count = load atomic i64, ptr %count.at monotonic, align 8
  %is.left = icmp slt i64 %row, %count
  br i1 %is.left, label %work, label %end
work:
  %function = load ptr, ptr %job
  %table.at = getelementptr i64, ptr %job, i64 1
  %table = load ptr, ptr %table.at
  %width.at = getelementptr i64, ptr %job, i64 2
  %width = load i64, ptr %width.at
  %distance = mul i64 %row, %width
  %place = getelementptr i64, ptr %table, i64 %distance
  call void %function(ptr %place)
  %more = add i64 %taken, 1
  br label %look
end:
  ret i64 %taken
}

define void @capstan_open(ptr %state, ptr %function, ptr %table) {
  %members = call ptr @elements(ptr %state)
  %job = getelementptr i64, ptr %members, i64 16
  store ptr %function, ptr %job
  %table.at = getelementptr i64, ptr %job, i64 1
  %rows = call ptr @elements(ptr %table)
  store ptr %rows, ptr %table.at
  %sizes = call ptr @sizes(ptr %table)
  %width.from = getelementptr i64, ptr %sizes, i64 1
  %width = load i64, ptr %width.from
  %width.at = getelementptr i64, ptr %job, i64 2
  store i64 %width, ptr %width.at
  %count = load i64, ptr %sizes
  %count.at = getelementptr i64, ptr %job, i64 3
  store atomic i64 %count, ptr %count.at monotonic, align 8
  atomicrmw xchg ptr %members, i64 0 seq_cst
  ret void
}

define i64 @capstan_work(ptr %state) {
  %members = call ptr @elements(ptr %state)
  %taken = call i64 @take(ptr %members)
  ret i64 %taken
}

define void @capstan_wait(ptr %state) {
begin:
  %members = call ptr @elements(ptr %state)
  %inside.at = getelementptr i64, ptr %members, i64 8
  atomicrmw xchg ptr %members, i64 $closed seq_cst
  br label %look
look:
  %rounds = phi i64 [ 0, %begin ], [ %more, %pause ], [ %more, %sleep ]
  %inside = load atomic i64, ptr %inside.at seq_cst, align 8
  %is.done = icmp eq i64 %inside, 0
  br i1 %is.done, label %end, label %again
again:
  %more = add i64 %rounds, 1
  %is.late = icmp sgt i64 %rounds, $rounds
  br i1 %is.late, label %sleep, label %pause
pause:
  $pause
  br label %look
sleep:
  call i32 @usleep(i32 $nap)
  br label %look
end:
  ret void
}

define void @capstan_help(ptr %state, i64 %rounds) {
begin:
  %members = call ptr @elements(ptr %state)
  %inside.at = getelementptr i64, ptr %members, i64 8
  %ended.at = getelementptr i64, ptr %members, i64 $ended
  br label %look
look:
  %round = phi i64 [ 0, %begin ], [ 0, %help ], [ %more, %pause ]
  %is.open = call i1 @is_open(ptr %members)
  br i1 %is.open, label %help, label %rest
help:
  atomicrmw add ptr %inside.at, i64 1 seq_cst
  call i64 @take(ptr %members)
  atomicrmw sub ptr %inside.at, i64 1 seq_cst
  br label %look
rest:
  %more = add i64 %round, 1
  %is.end = icmp sgt i64 %more, %rounds
  br i1 %is.end, label %end, label %pause
pause:
  $pause
  br label %look
end:
  atomicrmw add ptr %ended.at, i64 1 seq_cst
  %is.missed = call i1 @is_open(ptr %members)
  br i1 %is.missed, label %stay, label %leave
stay:
  atomicrmw sub ptr %ended.at, i64 1 seq_cst
  br label %help
leave:
  ret void
}

define void @capstan_alone(ptr %function, ptr %table) {
begin:
  %rows = call ptr @elements(ptr %table)
  %sizes = call ptr @sizes(ptr %table)
  %count = load i64, ptr %sizes
  %width.from = getelementptr i64, ptr %sizes, i64 1
  %width = load i64, ptr %width.from
  br label %look
look:
  %row = phi i64 [ 0, %begin ], [ %more, %work ]
  %is.left = icmp slt i64 %row, %count
  br i1 %is.left, label %work, label %end
work:
  %distance = mul i64 %row, %width
  %place = getelementptr i64, ptr %rows, i64 %distance
  call void %function(ptr %place)
  %more = add i64 %row, 1
  br label %look
end:
  ret void
}
"""
