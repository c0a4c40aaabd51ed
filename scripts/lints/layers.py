# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A stone rests only on lower ones: a header includes its own room, lower courses and the standard library."""
import re

RULE = "headers include their own room, lower courses and the standard library only"

COURSES = [["base"], ["os", "part", "plan", "trace"], ["resource", "adaptor"], ["heap", "face"], ["study", "test"]]
LEVEL = {room: level for level, rooms in enumerate(COURSES) for room in rooms}

# This header gathers the others for users; no header of the library may lean on it.
UMBRELLA = "include/ashlar/ashlar.hpp"
# This one declares every public name: it sees base alone, and all rooms above base may see it.
FORWARD = "include/ashlar/fwd.hpp"

# Where the operating system and the instrumentation tools may be seen.
SYSTEM = ("include/ashlar/os/", "include/ashlar/base/platform.hpp", "include/ashlar/base/poison.hpp")

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')
STANDARD = re.compile(r"[a-z0-9_]+")


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
    parts = target.split("/")
    if len(parts) != 3:
        return f"<{target}> is an umbrella; include the exact header"
    if file.path == UMBRELLA:
        return None
    room = parts[1]
    if file.path == FORWARD:
        return None if room == "base" else f"fwd.hpp may not see {room}"
    if room not in LEVEL:
        return f"<{target}>: there is no room {room}"
    if room != file.room and LEVEL[room] >= LEVEL.get(file.room, 0):
        return f"{file.room} may not see {room}"
    return None


def check(tree):
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
    {"include/ashlar/face/a.hpp": '#include "ashlar/base/bits.hpp"\n'},
    {"include/ashlar/part/a.hpp": "#include <sys/mman.h>\n"},
    {"include/ashlar/cellar/a.hpp": "#include <vector>\n"},
]
CLEAN = [
    {
        "include/ashlar/ashlar.hpp": "#include <ashlar/study/replay.hpp>\n",
        "include/ashlar/fwd.hpp": "#include <ashlar/base/lock.hpp>\n",
        "include/ashlar/face/a.hpp": "#include <vector>\n#include <ashlar/fwd.hpp>\n#include <ashlar/resource/b.hpp>\n#include <ashlar/face/c.hpp>\n",
        "include/ashlar/os/pages.hpp": "#include <sys/mman.h>\n",
    }
]
