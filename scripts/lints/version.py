# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The version is written in four places, and they agree."""
import re

RULE = "CMakeLists.txt, base/config.hpp, CHANGELOG.md and the port of vcpkg name the same version"


def header_version(text):
    return ".".join(re.findall(r"#define ASHLAR_VERSION_(?:MAJOR|MINOR|PATCH) (\d+)", text))


def found_in(file, pattern):
    match = re.search(pattern, file.text)
    return match.group(1) if match else ""


def check(tree):
    readers = {
        "CMakeLists.txt": lambda f: found_in(f, r"project\(ashlar VERSION ([\d.]+)"),
        "include/ashlar/base/config.hpp": lambda f: header_version(f.text),
        "CHANGELOG.md": lambda f: found_in(f, r"## \[([\d.]+)\]"),
        "packaging/vcpkg/ashlar/vcpkg.json": lambda f: found_in(f, r'"version": "([\d.]+)"'),
    }
    versions = {file: readers[file.path](file) for file in tree.files if file.path in readers}
    expected = next(iter(versions.values()), "")
    for file, version in versions.items():
        if version != expected or not version:
            yield file.problem(1, f"names version {version or 'none'}; another file names {expected or 'none'}")


CMAKE = "project(ashlar VERSION 1.2.3)\n"
CONFIG = "#define ASHLAR_VERSION_MAJOR 1\n#define ASHLAR_VERSION_MINOR {}\n#define ASHLAR_VERSION_PATCH 3\n"
PLANTED = [
    {"CMakeLists.txt": CMAKE, "include/ashlar/base/config.hpp": CONFIG.format(1)},
    {"CMakeLists.txt": CMAKE, "CHANGELOG.md": "## [1.2.2] - unreleased\n"},
    {"CMakeLists.txt": CMAKE, "packaging/vcpkg/ashlar/vcpkg.json": '{ "version": "1.2.2" }\n'},
]
CLEAN = [{"CMakeLists.txt": CMAKE, "include/ashlar/base/config.hpp": CONFIG.format(2), "CHANGELOG.md": "## [1.2.3]\n"}]
