# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# A program whose malloc, in a library that it is linked with, takes long: each library that is preloaded gains.
add_library(slow_malloc SHARED remedies/slow_malloc.cpp)
add_executable(slow_victim remedies/victim.cpp)
foreach(target IN ITEMS slow_malloc slow_victim)
  target_compile_options(${target} PRIVATE -O1 -g -fno-sanitize=all -fno-builtin)
  target_link_options(${target} PRIVATE -fno-sanitize=all LINKER:--build-id)
  target_link_libraries(${target} PRIVATE ashlar_warnings)
  target_compile_features(${target} PRIVATE cxx_std_20)
endforeach()
target_link_libraries(slow_victim PRIVATE slow_malloc)
target_link_options(slow_victim PRIVATE LINKER:--no-as-needed)
target_compile_definitions(test_cli PRIVATE "ASHLAR_SLOW_VICTIM=\"$<TARGET_FILE:slow_victim>\"")
add_dependencies(test_cli slow_victim ashlar_record)
