# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""clang-tidy over the command, a file at a time. It takes minutes, so `./dev lint` runs it and `./dev test` does not."""
import os

from lints import tidy

RULE = "clang-tidy finds nothing in the command"

RUNNER = "run-clang-tidy-19"


def output_for_command(tree):
    configured = tidy.run("cmake", "--preset", "tidy", cwd=tree.root)
    return configured + tidy.run(RUNNER, "-quiet", "-p", "build/tidy", "-j", str(os.cpu_count()), r"/cli/", cwd=tree.root)


def check(tree):
    yield from tidy.check(tree, output_for_command)


PLANTED = tidy.PLANTED
CLEAN = tidy.CLEAN
