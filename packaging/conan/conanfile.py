# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The Conan 2 recipe: conan create packaging/conan, with -o core=True for ashlar::core"""
import re
from pathlib import Path

from conan import ConanFile
from conan.tools.build import check_min_cppstd
from conan.tools.cmake import CMake, CMakeDeps, CMakeToolchain
from conan.tools.files import copy
from conan.tools.layout import basic_layout

ROOT = Path(__file__).resolve().parents[2]


class AshlarConan(ConanFile):
    name = "ashlar"
    description = "C++20 memory resources: pools, arenas, stacks, TLSF and heaps, for one thread or many"
    license = "Apache-2.0 WITH LLVM-exception"
    topics = ("allocator", "memory")
    settings = "os", "arch", "compiler", "build_type"
    options = {"core": [True, False]}  # the compiled unit for C++11, 14 and 17
    default_options = {"core": False}
    no_copy_source = True

    def set_version(self):
        text = (ROOT / "CMakeLists.txt").read_text()
        self.version = re.search(r"project\(ashlar VERSION ([\d.]+)", text).group(1)

    def export_sources(self):
        for part in ("CMakeLists.txt", "LICENSE", "include/*", "cmake/*", "compiled/*", "malloc/*", "packaging/*"):
            copy(self, part, src=str(ROOT), dst=self.export_sources_folder, excludes=("packaging/conan/*", "*.pyc"))

    def layout(self):
        basic_layout(self)

    def validate(self):
        check_min_cppstd(self, 11 if self.options.core else 20)

    def package_id(self):
        if not self.info.options.core:
            self.info.clear()

    def generate(self):
        toolchain = CMakeToolchain(self)
        for part in ("CLI", "MALLOC"):
            toolchain.cache_variables[f"ASHLAR_BUILD_{part}"] = False
        toolchain.cache_variables["ASHLAR_BUILD_CORE"] = "STATIC" if self.options.core else "OFF"
        toolchain.generate()
        CMakeDeps(self).generate()

    def build(self):
        cmake = CMake(self)
        cmake.configure()
        cmake.build()

    def package(self):
        CMake(self).install()
        copy(self, "LICENSE", src=self.source_folder, dst=str(Path(self.package_folder, "licenses")))

    # The package has CMake files of its own, with the targets for sources too.
    def package_info(self):
        self.cpp_info.bindirs = []
        self.cpp_info.libdirs = ["lib"] if self.options.core else []
        self.cpp_info.set_property("cmake_find_mode", "none")
        self.cpp_info.builddirs = ["share/cmake/ashlar"]
