# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# A program with sites whose addresses it knows, and a module with another. Without sanitizers, which have an allocator
# of their own.
if(NOT TARGET ashlar_malloc-route OR NOT CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  return()
endif()
find_package(Threads REQUIRED)
add_executable(route_victim routes/victim.cpp)
add_library(route_plugin MODULE routes/plugin.cpp)
foreach(target IN ITEMS route_victim route_plugin)
  target_compile_options(${target} PRIVATE -fno-sanitize=all -fno-builtin)
  target_link_options(${target} PRIVATE -fno-sanitize=all LINKER:--build-id)
  target_include_directories(${target} PRIVATE "${PROJECT_SOURCE_DIR}")
  target_link_libraries(${target} PRIVATE ashlar_warnings Threads::Threads ${CMAKE_DL_LIBS})
  target_compile_features(${target} PRIVATE cxx_std_20)
endforeach()
target_compile_definitions(test_cli PRIVATE
  "ASHLAR_ROUTER=\"$<TARGET_FILE:ashlar_malloc-route>\""
  "ASHLAR_ROUTE_VICTIM=\"$<TARGET_FILE:route_victim>\""
  "ASHLAR_ROUTE_PLUGIN=\"$<TARGET_FILE:route_plugin>\"")
add_dependencies(test_cli ashlar_malloc-route route_victim route_plugin)
