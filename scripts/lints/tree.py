# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The files that the rules look at, and the problems that they report."""
import subprocess
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

CPP = (".hpp", ".cpp")
GENERATED = "single_include/"  # the rule `generated` alone looks there


@dataclass(frozen=True)
class Problem:
    path: str
    line: int
    text: str

    def __str__(self):
        return f"{self.path}:{self.line}: {self.text}"


class File:
    """One text file; `path` is relative to the tree, with slashes."""

    def __init__(self, root, path):
        self.full = root / path
        self.path = path

    @cached_property
    def text(self):
        return self.full.read_text(encoding="utf-8", errors="replace")

    @property
    def lines(self):
        return self.text.splitlines()

    @property
    def is_cpp(self):
        return self.path.endswith(CPP)

    @property
    def is_header(self):
        return self.path.endswith(".hpp")

    @property
    def room(self):
        """The room of a library header, `base` for include/ashlar/base/resource.hpp and `detail/slab` for
        include/ashlar/detail/slab/slab.hpp; empty for anything else."""
        parts = self.path.split("/")
        depth = 5 if parts[2:3] == ["detail"] else 4
        return "/".join(parts[2:-1]) if parts[:2] == ["include", "ashlar"] and len(parts) == depth else ""

    @property
    def is_script(self):
        return self.path == "dev" or self.path.endswith(".sh") or self.text.startswith("#!/usr/bin/env bash")

    def problem(self, line, text):
        return Problem(self.path, line, text)


class Tree:
    def __init__(self, root, paths, is_repository):
        self.root = root
        self.is_repository = is_repository
        self.files = [File(root, path) for path in sorted(paths)]

    @classmethod
    def of_repository(cls, root):
        """What git tracks or would track, without what is generated; without git, every file outside build/."""
        listing = subprocess.run(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"], cwd=root,
                                 capture_output=True, text=True, check=False)
        if listing.returncode != 0:
            return cls(root, cls._walk(root), True)
        paths = {path for path in listing.stdout.split("\0") if path and not path.startswith(GENERATED) and (root / path).is_file()}
        return cls(root, paths, True)

    @classmethod
    def of_folder(cls, root):
        return cls(root, cls._walk(root), False)

    @staticmethod
    def _walk(root):
        paths = (p.relative_to(root).as_posix() for p in root.rglob("*") if p.is_file())
        return {p for p in paths if not p.startswith((".git/", "build/", GENERATED))}

    @property
    def cpp(self):
        return [f for f in self.files if f.is_cpp]

    @property
    def library(self):
        return [f for f in self.files if f.path.startswith("include/ashlar/") and f.is_header]

    def has(self, path):
        return (self.root / path).is_file()
