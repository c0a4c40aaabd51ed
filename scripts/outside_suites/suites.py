# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The suites: where their tests are, how names become this library's, and what compiles them."""
import re
from dataclasses import dataclass, field
from pathlib import Path

OURS = re.compile(r"std::pmr::((?:un)?synchronized_pool_resource|monotonic_buffer_resource)\b")
NEEDED = "#include <ashlar/face/pmr_monotonic.hpp>\n#include <ashlar/face/pmr_pools.hpp>\n"
HERE = Path(__file__).resolve().parent


@dataclass
class Suite:
    name: str
    package: str
    patterns: list
    tests: str                    # a glob of the tests below the unpacked folder
    compiler: list
    inner: str | None = None
    includes: list = field(default_factory=list)  # globs of folders below the unpacked one

    def adapt(self, text):
        """Returns the test with names of this library, or nothing where it is about none of its classes."""
        changed = OURS.sub(r"ashlar::pmr::\1", text)
        return NEEDED + changed if changed != text else None


class BoostPool(Suite):
    """Boost's names stay: headers of the same names come first, and define them by this library."""

    HEADERS = ("pool/pool", "pool/pool_alloc", "pool/object_pool", "pool/singleton_pool", "pool/poolfwd", "thread")

    def adapt(self, text):
        return text if any(f"#include <boost/{name}.hpp>" in text for name in self.HEADERS[:-1]) else None

    def write_headers(self, folder):
        for name in self.HEADERS:
            header = folder / "boost" / f"{name}.hpp"
            header.parent.mkdir(parents=True, exist_ok=True)
            header.write_text(f'#include "{HERE / "boost_pool.hpp"}"\n')


SUITES = [
    Suite("libstdc++", "gcc-12", ["*/libstdc++-v3/testsuite/20_util/*resource*", "*/libstdc++-v3/testsuite/util/*.h"],
          "*/libstdc++-v3/testsuite/20_util/*/*.cc", ["g++"], inner="*/gcc-12.2.0-dfsg.tar.xz",
          includes=["*/libstdc++-v3/testsuite/util"]),
    Suite("libc++", "llvm-toolchain-19", ["*/libcxx/test/std/utilities/utility/mem.res", "*/libcxx/test/support"],
          "*/libcxx/test/std/utilities/utility/mem.res/**/*.pass.cpp", ["clang++-19"],
          includes=["*/libcxx/test/support"]),
    BoostPool("boost.pool", "boost1.74", ["*/libs/pool/test"], "*/libs/pool/test/*.cpp", ["g++"],
              includes=["*/libs/pool/test"]),
]
