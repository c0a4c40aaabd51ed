# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The mallocs: the C library's, this project's at each level, and the rivals, as libraries to preload."""

import dataclasses
import glob
import hashlib
import json
import os
import pathlib
import subprocess
import sys
import sysconfig


@dataclasses.dataclass(frozen=True)
class Peer:
    name: str
    what: str
    files: tuple = ()  # the best first; none: the C library's


PEERS = (
    Peer("glibc", "malloc, glibc"),
    Peer("ashlar", "libashlar.so", ("libashlar.so",)),
    Peer("ashlar_checked", "libashlar-checked.so", ("libashlar-checked.so",)),
    Peer("ashlar_hardened", "libashlar-hardened.so", ("libashlar-hardened.so",)),
    Peer("mimalloc", "malloc, mimalloc", ("libmimalloc.so.2", "libmimalloc.so")),
    Peer("mimalloc3", "malloc, mimalloc", ("libmimalloc3.so",)),
    Peer("jemalloc", "malloc, jemalloc", ("libjemalloc.so.2", "libjemalloc.so")),
    Peer("tcmalloc", "malloc, tcmalloc", ("libtcmalloc_minimal.so.4", "libtcmalloc_minimal.so")),
    Peer("rpmalloc", "malloc, rpmalloc", ("librpmalloc.so",)),
    Peer("snmalloc", "malloc, snmalloc", ("libsnmalloc.so", "libsnmallocshim.so")),
)

# What the rivals offer against misuse of memory.
SECURE = (
    Peer("mimalloc_secure", "malloc, mimalloc secure", ("libmimalloc-secure.so.2", "libmimalloc-secure.so")),
    Peer("mimalloc3_secure", "malloc, mimalloc secure", ("libmimalloc3-secure.so",)),
    Peer("snmalloc_checks", "malloc, snmalloc checks", ("libsnmalloc-checks.so", "libsnmallocshim-checks.so")),
    Peer("scudo", "malloc, scudo", ("libclang_rt.scudo_standalone-x86_64.so", "libscudo.so")),
    Peer("hardened_malloc", "malloc, hardened_malloc", ("libhardened_malloc.so",)),
    Peer("hardened_malloc_light", "malloc, hardened_malloc light", ("libhardened_malloc-light.so",)),
)
FAST = tuple(peer for peer in PEERS if peer.name not in ("ashlar_checked", "ashlar_hardened"))
EVERY = {peer.name: peer for peer in (*PEERS, *SECURE)}

# Printed by a python3 under the library: the file of its malloc, and the version that the library reports.
TELL = """
import ctypes, json, os
class Info(ctypes.Structure):
    _fields_ = [("file", ctypes.c_char_p), ("base", ctypes.c_void_p), ("name", ctypes.c_char_p), ("at", ctypes.c_void_p)]
all, info, version = ctypes.CDLL(None), Info(), ""
all.dladdr(ctypes.cast(all.malloc, ctypes.c_void_p), ctypes.byref(info))
if hasattr(all, "mi_version"):
    number = all.mi_version()
    base = 100 if number >= 10000 else 10
    version = f"{number // base // base}.{number // base % base}.{number % base}"
elif hasattr(all, "tc_version"):
    all.tc_version.restype = ctypes.c_char_p
    version = all.tc_version(None, None, None).decode().split()[-1]
elif hasattr(all, "mallctl"):
    text, size = ctypes.c_char_p(), ctypes.c_size_t(8)
    if all.mallctl(b"version", ctypes.byref(text), ctypes.byref(size), None, ctypes.c_size_t(0)) == 0 and text.value:
        version = text.value.decode().split("-")[0]
print(json.dumps([os.path.realpath(info.file.decode()), version]))
"""


def directories():
    """ASHLAR_BENCH_LIBRARIES (folders with own builds, colon-separated), then the system's."""
    own = filter(None, os.environ.get("ASHLAR_BENCH_LIBRARIES", "").split(":"))
    compilers = sorted(glob.glob("/usr/lib/llvm-*/lib/clang/*/lib/linux"), reverse=True)
    system = [f"/usr/lib/{sysconfig.get_config_var('MULTIARCH')}", "/usr/lib64", "/usr/lib", "/usr/local/lib"]
    return [*own, *system, *compilers]


def library_of(peer):
    """The peer's library, an empty text for the C library's malloc, or None where it is not on this machine."""
    if not peer.files:
        return ""
    for folder in directories():
        for file in peer.files:
            path = pathlib.Path(folder) / file
            if path.exists():
                return str(path.resolve())
    return None


def told_by(library):
    """The version of a library. Ends this program where the library does not take over malloc."""
    environment = {**os.environ, "LD_PRELOAD": library}
    done = subprocess.run([sys.executable, "-c", TELL], capture_output=True, check=False, text=True, env=environment)
    if done.returncode != 0:
        sys.exit(f"python3 fails under {library}: {done.stderr.strip()}")
    file, version = json.loads(done.stdout)
    if library and file != library:
        sys.exit(f"malloc is that of {file}, not of {library}")
    return version


def version_of(library, beside):
    """As told_by. What a library told is kept in a folder beside the benches until its file changes."""
    if not library:
        return told_by(library)
    status = os.stat(library)
    key = hashlib.sha256(f"{library} {status.st_size} {status.st_mtime_ns}".encode()).hexdigest()[:16]
    kept = beside / "malloc_versions" / key
    if not kept.exists():
        kept.parent.mkdir(exist_ok=True)
        kept.write_text(told_by(library))
    return kept.read_text()
