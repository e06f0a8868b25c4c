"""Compiled functions that take a row (`hardware.llvm_crew`), for tests of threads that share it."""

from capstan.hardware import cpu_elementwise

_TEXT = """
declare i64 @pthread_self()
declare i32 @usleep(i32)

; The row is an address of a number, which is counted up.
define void @count(ptr %row) {
  %place = load ptr, ptr %row
  atomicrmw add ptr %place, i64 1 seq_cst
  ret void
}

; The row is an address of a number, which is counted up, and the number that others must reach.
define void @meet(ptr %row) {
  call void @count(ptr %row)
  %place = load ptr, ptr %row
  %enough.at = getelementptr i64, ptr %row, i64 1
  %enough = load i64, ptr %enough.at
  call void @wait(ptr %place, i64 %enough)
  ret void
}

; The row is the number of the caller's thread, and the addresses of three numbers: how many helpers
; have begun, may end, and have ended. The caller waits until a helper has begun.
define void @part(ptr %row) {
begin:
  %caller = load i64, ptr %row
  %begun.at = getelementptr i64, ptr %row, i64 1
  %begun = load ptr, ptr %begun.at
  %released.at = getelementptr i64, ptr %row, i64 2
  %released = load ptr, ptr %released.at
  %ended.at = getelementptr i64, ptr %row, i64 3
  %ended = load ptr, ptr %ended.at
  %self = call i64 @pthread_self()
  %is.caller = icmp eq i64 %self, %caller
  br i1 %is.caller, label %wait, label %help
wait:
  call void @wait(ptr %begun, i64 1)
  ret void
help:
  atomicrmw add ptr %begun, i64 1 seq_cst
  call void @wait(ptr %released, i64 1)
  atomicrmw add ptr %ended, i64 1 seq_cst
  ret void
}

define internal void @wait(ptr %place, i64 %enough) {
begin:
  br label %look
look:
  %number = load atomic i64, ptr %place seq_cst, align 8
  %is.enough = icmp sge i64 %number, %enough
  br i1 %is.enough, label %end, label %rest
rest:
  call i32 @usleep(i32 100)
  br label %look
end:
  ret void
}
"""


# Compiled once, because an engine frees its code when nothing holds it any more.
_ENGINE = cpu_elementwise.compiler().engine(_TEXT)


def function(name: str) -> int:
    """Return the address of the function `count`, `meet` or `part`."""
    address: int = _ENGINE.get_function_address(name)
    return address
