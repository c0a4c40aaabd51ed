# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# ashlar::module: `import ashlar;` for projects that add this one to theirs, by CMake 3.28 or later and clang.
if(CMAKE_VERSION VERSION_LESS 3.28)
  message(FATAL_ERROR "ASHLAR_MODULE needs CMake 3.28 or later; this is ${CMAKE_VERSION}")
endif()
find_package(Python3 REQUIRED COMPONENTS Interpreter)

set(ashlar_module_interface "${PROJECT_BINARY_DIR}/module/ashlar.cppm")
file(MAKE_DIRECTORY "${PROJECT_BINARY_DIR}/module")
add_custom_command(OUTPUT "${ashlar_module_interface}"
  COMMAND Python3::Interpreter "${PROJECT_SOURCE_DIR}/scripts/release/module.py" "${ashlar_module_interface}"
  DEPENDS "${PROJECT_SOURCE_DIR}/scripts/release/module.py" ${ashlar_headers}
  VERBATIM)

add_library(ashlar_module STATIC)
add_library(ashlar::module ALIAS ashlar_module)
target_sources(ashlar_module PUBLIC
  FILE_SET CXX_MODULES BASE_DIRS "${PROJECT_BINARY_DIR}/module" FILES "${ashlar_module_interface}")
target_link_libraries(ashlar_module PUBLIC ashlar)
set_target_properties(ashlar_module PROPERTIES CXX_SCAN_FOR_MODULES ON)
