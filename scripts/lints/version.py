# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The version is written in several places, and they agree. scripts/release/set_version.py sets all of them."""
import re

RULE = "CMakeLists.txt, base/config.hpp, CHANGELOG.md, recipes of packages, the natvis file and pages name the same version"

# The places that name the version, for each file: what stands before the number, its separator, and how many parts it has.
PLACES = {
    "CMakeLists.txt": [(r"project\(ashlar VERSION ", ".", 3)],
    "include/ashlar/base/config.hpp": [(r"#define ASHLAR_VERSION_MAJOR ", ".", 1),
                                       (r"#define ASHLAR_VERSION_MINOR ", ".", 1),
                                       (r"#define ASHLAR_VERSION_PATCH ", ".", 1)],
    "CHANGELOG.md": [(r"\A(?:(?!\n## )[\s\S])*\n## \[", ".", 3)],
    "packaging/vcpkg/ashlar/vcpkg.json": [(r'"version": "', ".", 3)],
    "MODULE.bazel": [(r'name = "ashlar", version = "', ".", 3)],
    "packaging/homebrew/ashlar.rb": [(r'tag: "v', ".", 3)],
    "packaging/meson/ashlar.wrap": [(r"revision = v", ".", 3)],
    "packaging/meson/packagefiles/ashlar/meson.build": [(r"version: '(?=\d)", ".", 3)],
    "packaging/spack/packages/ashlar/package.py": [(r'version\("', ".", 3), (r'tag="v', ".", 3)],
    "packaging/xmake/packages/a/ashlar/xmake.lua": [(r'add_versions\("', ".", 3), (r'"v', ".", 3)],
    "packaging/debuggers/ashlar.natvis": [(r"ashlar::v", "_", 2)],
    "bindings/rust/Cargo.toml": [(r'name = "ashlar"\nversion = "', ".", 3)],
    "README.md": [(r"find_package\(ashlar ", ".", 2)],
    "docs/cxx11.md": [(r"find_package\(ashlar ", ".", 2)],
    "docs/packages.md": [(r"find_package\(ashlar ", ".", 2), (r"GIT_TAG v", ".", 3)],
    "docs/malloc-recipes.md": [(r"find_package\(ashlar ", ".", 2)],
}


def pattern_of(before, separator, parts):
    return re.compile(f"({before})" + r"(\d+" + (re.escape(separator) + r"\d+") * (parts - 1) + ")")


def parts_of(path, place, expected):
    """The numbers of `expected`, a list of three, that the place of the file names."""
    _, _, parts = place
    return [expected[PLACES[path].index(place)]] if path.endswith("config.hpp") else expected[:parts]


def expected_version(tree):
    """That of CMakeLists.txt."""
    texts = [file.text for file in tree.files if file.path == "CMakeLists.txt"]
    match = pattern_of(*PLACES["CMakeLists.txt"][0]).search(texts[0]) if texts else None
    return match.group(2).split(".") if match else []


def check(tree):
    expected = expected_version(tree)
    for file in tree.files:
        for place in PLACES.get(file.path, []) if expected else []:
            found = list(pattern_of(*place).finditer(file.text))
            for match in found:
                if match.group(2).split(place[1]) != parts_of(file.path, place, expected):
                    yield file.problem(file.text.count("\n", 0, match.start(2)) + 1,
                                       f"names version {match.group(2)}; CMakeLists.txt names {'.'.join(expected)}")
            if not found:
                yield file.problem(1, f"names no version; CMakeLists.txt names {'.'.join(expected)}")


CMAKE = "project(ashlar VERSION 1.2.3)\n"
CONFIG = "#define ASHLAR_VERSION_MAJOR 1\n#define ASHLAR_VERSION_MINOR {}\n#define ASHLAR_VERSION_PATCH 3\n"
PLANTED = [
    {"CMakeLists.txt": CMAKE, "include/ashlar/base/config.hpp": CONFIG.format(1)},
    {"CMakeLists.txt": CMAKE, "CHANGELOG.md": "\n## [1.2.2] - unreleased\n\n## [1.2.3] - 2026-01-01\n"},
    {"CMakeLists.txt": CMAKE, "packaging/vcpkg/ashlar/vcpkg.json": '{ "version": "1.2.2" }\n'},
    {"CMakeLists.txt": CMAKE, "packaging/vcpkg/ashlar/vcpkg.json": "{}\n"},
    {"CMakeLists.txt": CMAKE, "packaging/debuggers/ashlar.natvis": '"ashlar::v1_2_fast"\n"ashlar::v1_1_fast"\n'},
    {"CMakeLists.txt": CMAKE, "README.md": "find_package(ashlar 1.1 REQUIRED)\n"},
]
CLEAN = [{"CMakeLists.txt": CMAKE, "include/ashlar/base/config.hpp": CONFIG.format(2),
          "CHANGELOG.md": "\n## [1.2.3]\n\n## [1.2.2] - 2026-01-01\n", "packaging/debuggers/ashlar.natvis": '"ashlar::v1_2_fast"\n',
          "README.md": "find_package(ashlar 1.2 REQUIRED)\n"}]
