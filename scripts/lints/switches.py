# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Policy is a type: behaviour hangs on no macro, except in the few files whose purpose that is."""
import re

RULE = "no #if outside atomics, config, platform, poison and the folders of the operating system"

ALLOWED = tuple(f"include/ashlar/{place}" for place in (
    "base/config.hpp", "base/atomics.hpp", "base/platform.hpp", "detail/support/poison.hpp", "os/", "detail/thread/",
    "detail/profiling/"))
CONDITION = re.compile(r"^\s*#\s*(if|ifdef|ifndef|elif)\b")


def check(tree):
    for file in tree.library:
        if file.path.startswith(ALLOWED):
            continue
        for number, line in enumerate(file.lines, 1):
            if CONDITION.match(line):
                yield file.problem(number, f"a switch: {line.strip()}")


PLANTED = [
    {"include/ashlar/resource/a.hpp": "#pragma once\n#ifdef __cpp_exceptions\n#endif\n"},
    {"include/ashlar/base/a.hpp": "#if __has_include(<thread>)\n#endif\n"},
]
CLEAN = [{"include/ashlar/base/config.hpp": "#if 1\n#endif\n", "include/ashlar/os/a.hpp": "#if 1\n#endif\n"}]
