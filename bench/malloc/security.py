# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""mimalloc-bench's security programs under a malloc: each misuses memory once, and prints NOT_CAUGHT if it goes on."""

import os
import resource
import subprocess

from . import launcher

SECONDS = 1  # as mimalloc-bench waits

# The beginnings of the names of programs.
KINDS = {
    "double_free": ("double_free",),
    "invalid_free": ("invalid_free",),
    "overflow": ("32_byte_overflow", "32_byte_memcpy_overflow", "one_byte_overflow", "one_byte_memcpy_overflow",
                 "one_mbyte_overflow", "one_mbyte_memcpy_overflow"),
    "underflow": ("32_byte_underflow", "32_byte_memcpy_underflow", "one_byte_underflow", "one_byte_memcpy_underflow",
                  "one_mbyte_underflow", "one_mbyte_memcpy_underflow"),
    "zero_size": ("read_zero_size", "write_zero_size"),
    "reuse": ("malloc_reuse", "realloc_reuse", "write_after_free"),
    "clearing": ("zero_after_free", "zero_on_malloc"),
    "wrong_delete": ("invalid_delete", "invalid_array_delete", "delete_type_size_mismatch"),
    "others": ("executable_heap", "impossibly_large_malloc"),
}
PROGRAMS = 116


def kind_of(name):
    return next(kind for kind, beginnings in KINDS.items() if name.startswith(beginnings))


def programs_in(folder):
    found = [path for path in sorted(folder.glob("*")) if path.is_file() and os.access(path, os.X_OK)]
    if len(found) != PROGRAMS:
        launcher.skip(f"{folder} has {len(found)} programs of {PROGRAMS}")
    return found


def without_core():
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def is_caught(path, environment):
    """mimalloc-bench's own rule: it neither says NOT_CAUGHT nor hangs."""
    try:
        done = subprocess.run([path], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                              env=environment, timeout=SECONDS, check=False, preexec_fn=without_core)
    except subprocess.TimeoutExpired:
        return False
    return b"NOT_CAUGHT" not in done.stdout


def caught_by(library, folder):
    """How many programs of each kind are caught, of all, and how many are missed."""
    preload = {"LD_PRELOAD": library} if library else {}
    environment = {**launcher.environment_without_malloc(), **preload}
    counts, missed = dict.fromkeys(KINDS, 0), []
    for path in programs_in(folder):
        if is_caught(path, environment):
            counts[kind_of(path.name)] += 1
        else:
            missed.append(path.name)
    return {"missed": len(missed), "caught": sum(counts.values()), **counts, "missed_programs": missed}
