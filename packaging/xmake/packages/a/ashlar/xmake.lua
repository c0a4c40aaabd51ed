-- SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
-- For a project of xmake: add_repositories("ashlar <checkout>/packaging/xmake"), add_requires("ashlar").
package("ashlar")
    set_kind("library", {headeronly = true})
    set_description("Memory resources, and the tools that say which to use")
    set_license("Apache-2.0 WITH LLVM-exception")
    set_urls("https://ashlar.example/ashlar.git")
    add_versions("0.2.0", "v0.2.0")
    on_install(function (package)
        os.cp("include", package:installdir())
    end)
    on_test(function (package)
        assert(package:has_cxxincludes("ashlar/ashlar.hpp", {configs = {languages = "c++20"}}))
    end)
