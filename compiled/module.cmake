# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# ashlar::module: `import ashlar;`, compiled with the program's flags. In the package too, beside the interface.
if(CMAKE_VERSION VERSION_LESS 3.28)
  message(FATAL_ERROR "ashlar::module needs CMake 3.28 or later; this is ${CMAKE_VERSION}")
endif()
if(NOT TARGET ashlar_module)
  add_library(ashlar_module STATIC EXCLUDE_FROM_ALL)
  add_library(ashlar::module ALIAS ashlar_module)
  target_sources(ashlar_module PUBLIC
    FILE_SET CXX_MODULES BASE_DIRS "${CMAKE_CURRENT_LIST_DIR}" FILES "${CMAKE_CURRENT_LIST_DIR}/ashlar.cppm")
  target_link_libraries(ashlar_module PUBLIC ashlar::ashlar)
  set_target_properties(ashlar_module PROPERTIES CXX_SCAN_FOR_MODULES ON)
endif()
