# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A stone rests only on lower ones: a header includes its own room, lower courses and the standard library."""
import re

RULE = "headers include their own room, lower courses and the standard library only; the umbrella gathers all of its rooms"

# Each room and each mechanism of detail/ stands on one course and sees all lower ones.
COURSES = [
    ["base", "detail/support"],
    ["os", "plan", "trace", "detail/checks", "detail/planner", "detail/profiling", "detail/remote_free", "detail/system",
     "detail/thread", "detail/trace"],
    ["resource", "adaptor", "detail/slab", "detail/stack", "detail/tlsf", "detail/tracking"],
    ["heap", "face", "detail/face", "detail/heap", "detail/heap_threads", "detail/slots"],
    ["study", "test", "detail/replay", "detail/testing"],
]
LEVEL = {room: level for level, rooms in enumerate(COURSES) for room in rooms}

# Neighbours on a course are blind to each other, except these. A mechanism and its room see each other.
CARRIED = {"detail/support": "base", "detail/system": "os", "detail/planner": "plan", "detail/trace": "trace", "detail/slab": "resource",
           "detail/stack": "resource", "detail/tlsf": "resource", "detail/tracking": "adaptor", "detail/face": "face",
           "detail/heap": "heap", "detail/heap_threads": "heap", "detail/slots": "face", "detail/replay": "study",
           "detail/testing": "test"}
SEEN = {"detail/thread": {"os", "detail/checks", "detail/system"},
        "detail/profiling": {"os", "detail/system", "detail/thread"}, "detail/heap_threads": {"detail/heap"}}

# This header gathers the others for users; no header of the library may include it.
UMBRELLA = "include/ashlar/ashlar.hpp"
GATHERED = ("adaptor", "base", "face", "heap", "os", "resource")
# They bring the writer of traces, and twice the time to compile.
NOT_GATHERED = ("include/ashlar/adaptor/trace_log.hpp", "include/ashlar/adaptor/tracing.hpp")
# This one declares every public name: it sees the lowest course only; all rooms above may see it.
FORWARD = "include/ashlar/fwd.hpp"

# The operating system and the instrumentation tools are visible here only.
SYSTEM = ("include/ashlar/os/", "include/ashlar/detail/system/", "include/ashlar/detail/thread/",
          "include/ashlar/detail/profiling/", "include/ashlar/detail/support/kernel.hpp",
          "include/ashlar/detail/support/platform.hpp", "include/ashlar/detail/support/quiet_write.hpp",
          "include/ashlar/detail/support/poison.hpp")

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]', re.MULTILINE)
STANDARD = re.compile(r"[a-z0-9_]+")


def is_visible(room, seen):
    if room == seen or LEVEL[seen] < LEVEL.get(room, 0):
        return True
    return CARRIED.get(room) == seen or CARRIED.get(seen) == room or seen in SEEN.get(room, ())


def wrong_with(file, quote, target):
    """Returns what is wrong with one include, or None."""
    if quote == '"':
        return f'spell it <ashlar/room/file.hpp>, not "{target}"'
    if not target.startswith("ashlar/"):
        if STANDARD.fullmatch(target) or file.path.startswith(SYSTEM):
            return None
        return f"<{target}> is not of the standard library"
    if target == "ashlar/fwd.hpp" and file.room not in ("base", "detail/support"):
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
    {"include/ashlar/face/a.hpp": '#include "ashlar/base/block.hpp"\n'},
    {"include/ashlar/detail/slab/a.hpp": "#include <sys/mman.h>\n"},
    {"include/ashlar/detail/slab/a.hpp": "#include <ashlar/detail/tlsf/b.hpp>\n"},
    {"include/ashlar/detail/slab/a.hpp": "#include <ashlar/detail/heap/b.hpp>\n"},
    {"include/ashlar/detail/slots/a.hpp": "#include <ashlar/heap/b.hpp>\n"},
    {"include/ashlar/adaptor/a.hpp": "#include <ashlar/detail/slab/b.hpp>\n"},
    {"include/ashlar/os/a.hpp": "#include <ashlar/detail/thread/b.hpp>\n"},
    {"include/ashlar/detail/cellar/a.hpp": "#include <vector>\n"},
    {"include/ashlar/cellar/a.hpp": "#include <vector>\n"},
    {"include/ashlar/ashlar.hpp": "#include <ashlar/base/a.hpp>\n", "include/ashlar/heap/b.hpp": ""},
]
CLEAN = [
    {
        "include/ashlar/ashlar.hpp": "#include <ashlar/base/lock.hpp>\n#include <ashlar/face/a.hpp>\n#include <ashlar/os/pages.hpp>\n",
        "include/ashlar/fwd.hpp": "#include <ashlar/base/lock.hpp>\n",
        "include/ashlar/base/lock.hpp": "#include <ashlar/detail/support/hints.hpp>\n",
        "include/ashlar/face/a.hpp": "#include <vector>\n#include <ashlar/fwd.hpp>\n#include <ashlar/resource/b.hpp>\n#include <ashlar/face/c.hpp>\n",
        "include/ashlar/detail/slots/a.hpp": "#include <ashlar/detail/slab/b.hpp>\n#include <ashlar/face/c.hpp>\n",
        "include/ashlar/os/pages.hpp": "#include <sys/mman.h>\n",
    }
]
