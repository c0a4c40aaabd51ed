#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""wheel.py <version> <prefix> <folder> <processor>: packs an installation as a Python wheel: its command and its shared
libraries, which pip puts into bin/ and lib/ of an environment, where the command finds them, and its manual. No Python code."""

import base64
import hashlib
import os
import pathlib
import platform
import sys
import time
import zipfile

LICENSE = "Apache-2.0 WITH LLVM-exception"


def tag(processor):
    """The C library that this was built on is the oldest that it runs with; that for another processor is of the same
    distribution."""
    library, release = platform.libc_ver()
    if library != "glibc":
        sys.exit(f"wheel.py: a wheel of the command is for glibc, and this is {library or 'another C library'}")
    return f"py3-none-manylinux_{release.replace('.', '_')}_{processor}"


def contents(prefix, name, version, tags):
    """Pairs of a path in the wheel and its bytes. A shared library is there once, by the name that is preloaded."""
    yield f"{name}.data/scripts/ashlar", (prefix / "bin" / "ashlar").read_bytes()
    for library in sorted((prefix / "lib").glob("*.so")):
        yield f"{name}.data/data/lib/{library.name}", library.read_bytes()
    for page in sorted((prefix / "share" / "man" / "man1").iterdir()):
        yield f"{name}.data/data/share/man/man1/{page.name}", page.read_bytes()
    about = f"""Metadata-Version: 2.1
Name: ashlar
Version: {version}
Summary: The command that tells a program which allocator to use, with the malloc that it preloads
License: {LICENSE}
Description-Content-Type: text/markdown

`ashlar record`, `ashlar advise` and `ashlar run` for programs on Linux with glibc. The headers of the library are not in it.
"""
    yield f"{name}.dist-info/METADATA", about.encode()
    yield f"{name}.dist-info/LICENSE", (prefix / "share" / "doc" / "ashlar" / "LICENSE").read_bytes()
    yield f"{name}.dist-info/WHEEL", f"Wheel-Version: 1.0\nGenerator: ashlar\nRoot-Is-Purelib: false\nTag: {tags}\n".encode()


def write(path, name, members):
    """RECORD, last, has the digest of each other member."""
    date = time.gmtime(max(int(os.environ.get("SOURCE_DATE_EPOCH", time.time())), 315532800))[:6]
    record = f"{name}.dist-info/RECORD"
    lines = []
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as wheel:
        for member, data in members:
            add(wheel, member, data, date)
            digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
            lines.append(f"{member},sha256={digest},{len(data)}\n")
        add(wheel, record, "".join([*lines, f"{record},,\n"]).encode(), date)


def add(wheel, member, data, date):
    entry = zipfile.ZipInfo(member, date)
    entry.external_attr = (0o100755 if "/scripts/" in member or "/lib/" in member else 0o100644) << 16
    wheel.writestr(entry, data, zipfile.ZIP_DEFLATED)


def main():
    version, prefix, folder = sys.argv[1], pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3])
    name, tags = f"ashlar-{version}", tag(sys.argv[4])
    write(folder / f"{name}-{tags}.whl", name, contents(prefix, name, version, tags))


if __name__ == "__main__":
    main()
