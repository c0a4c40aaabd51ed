# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the machine is, as far as it moves the figures."""

import os
import pathlib
import re


def read(path):
    try:
        return pathlib.Path(path).read_text().strip()
    except OSError:
        return ""


def field(text, name):
    found = re.search(rf"^{name}\s*:\s*(.*)$", text, re.MULTILINE)
    return found.group(1).strip() if found else "unknown"


def selected(text):
    """The choice in brackets of a /sys file such as 'always [madvise] never'."""
    found = re.search(r"\[(\w+)\]", text)
    return found.group(1) if found else "unknown"


def describe(core):
    cpuinfo = read("/proc/cpuinfo")
    cache = "/sys/devices/system/cpu/cpu0/cache"
    huge_pages = "/sys/kernel/mm/transparent_hugepage"
    return {
        "cpu": field(cpuinfo, "model name"),
        "virtual": " hypervisor" in cpuinfo,
        "cores": os.cpu_count(),
        "core": core,
        "caches": ", ".join(
            f"L{read(f'{cache}/{index}/level')} {read(f'{cache}/{index}/size')}"
            for index in sorted(os.listdir(cache))
            if index.startswith("index") and read(f"{cache}/{index}/type") != "Instruction"
        ) if os.path.isdir(cache) else "unknown",
        "memory": field(read("/proc/meminfo"), "MemTotal"),
        "kernel": os.uname().sysname + " " + re.match(r"[\d.]+", os.uname().release).group(0),
        "libc": os.confstr("CS_GNU_LIBC_VERSION") or "unknown",
        "transparent_huge_pages": selected(read(f"{huge_pages}/enabled")),
        "pages": "4 KiB" if os.sysconf("SC_PAGE_SIZE") == 4096 else f"{os.sysconf('SC_PAGE_SIZE')} bytes",
    }
