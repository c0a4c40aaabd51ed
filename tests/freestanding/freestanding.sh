#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# usage: freestanding.sh <program.cpp> <executable> <compiler> <flags…>
# Compiles a program for the bare machine and links it with nothing but machine.cpp and the compiler's own arithmetic:
# what would need an operating system or malloc does not link. Runs it where this machine can. Exits with 77, which
# means skipped, where there is no such compiler.
set -euo pipefail
program=$1 executable=$2 compiler=$3
flags=("${@:4}" -ffreestanding -fno-exceptions -fno-rtti -fno-stack-protector -fno-pie -fno-threadsafe-statics
  -ffunction-sections -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion -Wold-style-cast -Wcast-align
  -Werror)
machine=${BASH_SOURCE%/*}/machine.cpp

command -v "$compiler" >/dev/null || {
  echo "skipped: there is no $compiler"
  exit 77
}

# Compiles what follows as `memcpy` and its like must be: not by calls of themselves.
no_idioms() { if "$compiler" --version | grep -q clang; then echo -fno-builtin; else echo -fno-tree-loop-distribute-patterns; fi; }

"$compiler" "${flags[@]}" -c "$program" -o "$executable.o"
"$compiler" "${flags[@]}" "$(no_idioms)" -c "$machine" -o "$executable.machine.o"
"$compiler" "${flags[@]}" -nostdlib -static "$executable.o" "$executable.machine.o" -lgcc -o "$executable"

named=$(nm --undefined-only "$executable.o" | sed 's/^ *[A-Za-z] //')
if grep -E '^(malloc|calloc|realloc|free|aligned_alloc|posix_memalign|mmap|munmap|sbrk|_sbrk|_Zn[wa].*|_Zd[la].*|__cxa_.*|__emutls.*|_Unwind.*|pthread_.*)$' <<<"$named"; then
  echo "the program asks for what the bare machine does not have"
  exit 1
fi
echo "asks for: $(tr '\n' ' ' <<<"$named")"

case $compiler in
  arm-*)
    command -v qemu-arm >/dev/null || exit 0
    qemu-arm "$executable"
    ;;
  *) "$executable" ;;
esac
echo "ran"
