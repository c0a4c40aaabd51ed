# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The recipe of Spack: spack repo add packaging/spack, spack install ashlar."""
from spack.package import depends_on, license, variant, version
from spack_repo.builtin.build_systems.cmake import CMakePackage


class Ashlar(CMakePackage):
    """Memory resources, and the tools that say which to use."""

    git = "https://ashlar.example/ashlar.git"
    license("Apache-2.0 WITH LLVM-exception")
    version("0.2.0", tag="v0.2.0")
    variant("core", default=False, description="Build the unit for C++11, 14 and 17")
    depends_on("cxx", type="build")
    depends_on("cmake@3.25:", type="build")

    def cmake_args(self):
        off = [self.define(f"ASHLAR_BUILD_{part}", False) for part in ("CLI", "MALLOC")]
        return [*off, self.define_from_variant("ASHLAR_BUILD_CORE", "core")]
