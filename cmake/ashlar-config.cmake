# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# The package file of find_package(ashlar). The library has no dependencies. A component is a target's name: `module` is
# made on request, the others are there or not.
include("${CMAKE_CURRENT_LIST_DIR}/ashlar_targets.cmake")
# Of the machine that they were built on.
include("${CMAKE_CURRENT_LIST_DIR}/ashlar_malloc_targets.cmake" OPTIONAL)
include("${CMAKE_CURRENT_LIST_DIR}/ashlar_core_targets.cmake" OPTIONAL)

foreach(component IN LISTS ashlar_FIND_COMPONENTS)
  if(component STREQUAL "module")
    include("${CMAKE_CURRENT_LIST_DIR}/module.cmake")
  elseif(NOT TARGET "ashlar::${component}" AND ashlar_FIND_REQUIRED_${component})
    set(ashlar_FOUND FALSE)
    set(ashlar_NOT_FOUND_MESSAGE "ashlar::${component} is not installed in ${CMAKE_CURRENT_LIST_DIR}")
  endif()
endforeach()
