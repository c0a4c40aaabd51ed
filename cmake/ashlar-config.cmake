# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# The package file of find_package(ashlar). The library has no dependencies.
include("${CMAKE_CURRENT_LIST_DIR}/ashlar_targets.cmake")
# Of the machine that they were built on.
include("${CMAKE_CURRENT_LIST_DIR}/ashlar_malloc_targets.cmake" OPTIONAL)
include("${CMAKE_CURRENT_LIST_DIR}/ashlar_core_targets.cmake" OPTIONAL)
