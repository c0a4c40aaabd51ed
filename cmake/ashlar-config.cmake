# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# What find_package(ashlar) reads. The library has no dependency to find.
include("${CMAKE_CURRENT_LIST_DIR}/ashlar_targets.cmake")
