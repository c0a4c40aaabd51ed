-- SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
add_repositories("ashlar packages")
add_requires("ashlar")
target("program")
    set_languages("c++20")
    add_files("main.cpp")
    add_packages("ashlar")
