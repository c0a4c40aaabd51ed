# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A stone rests only on lower ones: a header includes its own folder, lower courses and the standard library."""
import re

RULE = "headers include their own folder, lower courses and the standard library only; the umbrella gathers all of its rooms"

# A folder stands on one course and sees all lower ones, and none of its own. The ground comes first; every mechanism of
# detail/ is below every room.
COURSES = [
    ["base"],
    ["os"],
    ["detail/support", "detail/planner"],
    ["detail/checks", "detail/remote_free", "detail/trace"],
    ["detail/stack", "detail/thread", "detail/tlsf"],
    ["detail/profiling", "detail/slab", "detail/slots"],
    ["detail/heap"],
    ["detail/heap_threads"],
    ["plan", "resource", "trace"],
    ["adaptor"],
    ["face", "heap"],
    ["study", "test"],
]
LEVEL = {room: level for level, rooms in enumerate(COURSES) for room in rooms}

# This header gathers the others for users; no header of the library may include it.
UMBRELLA = "include/ashlar/ashlar.hpp"
GATHERED = ("adaptor", "face", "heap", "os", "resource")
# The first two bring the writer of traces, and twice the time to compile; the others are calls of the system for the
# library itself.
NOT_GATHERED = ("include/ashlar/adaptor/trace_log.hpp", "include/ashlar/adaptor/tracing.hpp",
                "include/ashlar/os/descriptor.hpp", "include/ashlar/os/native.hpp",
                "include/ashlar/os/numa_calls.hpp", "include/ashlar/os/random_bits.hpp",
                "include/ashlar/os/system_calls.hpp")
# This one declares every public name: it sees the ground only, and all above may see it.
FORWARD = "include/ashlar/fwd.hpp"

# The operating system and the instrumentation tools are visible here only.
SYSTEM = ("include/ashlar/os/", "include/ashlar/detail/thread/", "include/ashlar/detail/profiling/",
          "include/ashlar/base/platform.hpp", "include/ashlar/detail/support/poison.hpp")

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]', re.MULTILINE)
STANDARD = re.compile(r"[a-z0-9_]+")


def is_visible(room, seen):
    return room == seen or LEVEL[seen] < LEVEL.get(room, 0)


def wrong_with(file, quote, target):
    """Returns what is wrong with one include, or None."""
    if quote == '"':
        return f'spell it <ashlar/room/file.hpp>, not "{target}"'
    if not target.startswith("ashlar/"):
        if STANDARD.fullmatch(target) or file.path.startswith(SYSTEM):
            return None
        return f"<{target}> is not of the standard library"
    if target == "ashlar/fwd.hpp" and file.room != "base":
        return None
    room = "/".join(target.split("/")[1:-1])
    if not room:
        return f"<{target}> is an umbrella; include the exact header"
    if file.path == UMBRELLA:
        return None
    if file.path == FORWARD:
        return None if room in COURSES[0] else f"fwd.hpp may not see {room}"
    if room not in LEVEL:
        return f"<{target}>: there is no room {room}"
    return None if is_visible(file.room, room) else f"{file.room} may not see {room}"


def missing_in_umbrella(tree):
    umbrella = next((file for file in tree.library if file.path == UMBRELLA), None)
    if umbrella is None:
        return
    gathered = set(INCLUDE.findall(umbrella.text))
    for file in tree.library:
        path = file.path.removeprefix("include/")
        if file.room in GATHERED and file.path not in NOT_GATHERED and ("<", path) not in gathered:
            yield umbrella.problem(1, f"<{path}> is missing")


def check(tree):
    yield from missing_in_umbrella(tree)
    for file in tree.library:
        if file.path not in (UMBRELLA, FORWARD) and file.room not in LEVEL:
            yield file.problem(1, "this header is in no room of the house")
            continue
        for number, line in enumerate(file.lines, 1):
            match = INCLUDE.match(line)
            wrong = match and wrong_with(file, *match.groups())
            if wrong:
                yield file.problem(number, wrong)


PLANTED = [
    {"include/ashlar/base/a.hpp": "#include <ashlar/os/pages.hpp>\n"},
    {"include/ashlar/resource/a.hpp": "#include <ashlar/adaptor/statistics.hpp>\n"},
    {"include/ashlar/base/a.hpp": "#include <ashlar/fwd.hpp>\n"},
    {"include/ashlar/fwd.hpp": "#include <ashlar/resource/a.hpp>\n"},
    {"include/ashlar/face/a.hpp": "#include <ashlar/ashlar.hpp>\n"},
    {"include/ashlar/face/a.hpp": '#include "ashlar/base/resource.hpp"\n'},
    {"include/ashlar/detail/slab/a.hpp": "#include <sys/mman.h>\n"},
    {"include/ashlar/detail/slab/a.hpp": "#include <ashlar/detail/slots/b.hpp>\n"},
    {"include/ashlar/detail/slab/a.hpp": "#include <ashlar/detail/heap/b.hpp>\n"},
    {"include/ashlar/detail/slots/a.hpp": "#include <ashlar/heap/b.hpp>\n"},
    {"include/ashlar/detail/slab/a.hpp": "#include <ashlar/resource/b.hpp>\n"},
    {"include/ashlar/base/a.hpp": "#include <ashlar/detail/support/b.hpp>\n"},
    {"include/ashlar/detail/heap/a.hpp": "#include <ashlar/detail/heap_threads/b.hpp>\n"},
    {"include/ashlar/os/a.hpp": "#include <ashlar/detail/thread/b.hpp>\n"},
    {"include/ashlar/detail/cellar/a.hpp": "#include <vector>\n"},
    {"include/ashlar/cellar/a.hpp": "#include <vector>\n"},
    {"include/ashlar/ashlar.hpp": "#include <ashlar/base/a.hpp>\n", "include/ashlar/heap/b.hpp": ""},
]
CLEAN = [
    {
        "include/ashlar/ashlar.hpp": "#include <ashlar/base/lock.hpp>\n#include <ashlar/face/a.hpp>\n#include <ashlar/os/pages.hpp>\n",
        "include/ashlar/fwd.hpp": "#include <ashlar/base/lock.hpp>\n",
        "include/ashlar/base/lock.hpp": "#include <ashlar/base/config.hpp>\n",
        "include/ashlar/face/a.hpp": "#include <vector>\n#include <ashlar/fwd.hpp>\n#include <ashlar/resource/b.hpp>\n#include <ashlar/face/c.hpp>\n",
        "include/ashlar/detail/slots/a.hpp": "#include <ashlar/detail/checks/b.hpp>\n#include <ashlar/detail/slots/c.hpp>\n",
        "include/ashlar/os/pages.hpp": "#include <sys/mman.h>\n",
    }
]
