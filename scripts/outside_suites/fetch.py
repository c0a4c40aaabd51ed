# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Fetches source packages from where the machine's own packages come from, and unpacks what is asked for of them."""
import re
import subprocess
from pathlib import Path

STANZA = re.compile(r"^Types:.*$", re.MULTILINE)


def source_parts(folder):
    """Copies the machine's list of sources, asking for source packages; the machine's own list stays as it is."""
    folder.mkdir(parents=True, exist_ok=True)
    for path in Path("/etc/apt/sources.list.d").glob("*.sources"):
        (folder / path.name).write_text(STANZA.sub("Types: deb-src", path.read_text()))
    lists = [Path("/etc/apt/sources.list"), *Path("/etc/apt/sources.list.d").glob("*.list")]
    lines = [line for path in lists if path.is_file() for line in path.read_text().splitlines()]
    wanted = [re.sub(r"^deb ", "deb-src ", line) for line in lines if line.startswith("deb ")]
    (folder / "sources.list").write_text("\n".join(wanted) + "\n")


def apt(work, *arguments, cwd=None):
    for folder in ("lists/partial", "cache/archives/partial"):
        (work / folder).mkdir(parents=True, exist_ok=True)
    options = {"Dir::Etc::SourceList": "/dev/null", "Dir::Etc::SourceParts": work / "parts",
               "Dir::State::Lists": work / "lists", "Dir::Cache": work / "cache", "APT::Sandbox::User": ""}
    flags = [flag for key, value in options.items() for flag in ("-o", f"{key}={value}")]
    subprocess.run(["apt-get", "-qq", *flags, *arguments], cwd=cwd, check=True)


def fetch(work, package):
    """Returns the folder with the files of the source package, fetched unless they are there."""
    folder = work / "packages" / package
    if not list(folder.glob("*.orig.tar.*")):
        folder.mkdir(parents=True, exist_ok=True)
        source_parts(work / "parts")
        apt(work, "update")
        apt(work, "source", "--download-only", package, cwd=folder)
    return folder


def untar(archive, into, *patterns):
    into.mkdir(parents=True, exist_ok=True)
    subprocess.run(["tar", "-xf", archive, "-C", into, "--wildcards", *patterns], check=True)


def unpack(work, package, patterns, inner=None):
    """Returns where the files that match `patterns` are; `inner`: the archive in the archive that has them."""
    into = work / "sources" / package
    if into.exists():
        return into
    (archive,) = fetch(work, package).glob("*.orig.tar.*")
    if inner is not None:
        untar(archive, work / "inner" / package, inner)
        (archive,) = (work / "inner" / package).rglob(inner.split("/")[-1])
    untar(archive, into, *patterns)
    return into
