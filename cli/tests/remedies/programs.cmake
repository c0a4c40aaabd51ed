# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# A program whose malloc, in a library that it is linked with, takes long: each library that is preloaded gains.
add_library(slow_malloc SHARED remedies/slow_malloc.cpp)
add_executable(slow_victim remedies/victim.cpp)
add_executable(victim_without_id remedies/victim.cpp)
foreach(target IN ITEMS slow_malloc slow_victim victim_without_id)
  target_compile_options(${target} PRIVATE -O1 -g -fno-sanitize=all -fno-builtin)
  target_link_options(${target} PRIVATE -fno-sanitize=all LINKER:--build-id)
  target_link_libraries(${target} PRIVATE ashlar_warnings)
  target_compile_features(${target} PRIVATE cxx_std_20)
endforeach()
target_link_libraries(slow_victim PRIVATE slow_malloc)
target_link_options(slow_victim PRIVATE LINKER:--no-as-needed)
target_link_options(victim_without_id PRIVATE LINKER:--build-id=none)
target_compile_definitions(test_cli PRIVATE "ASHLAR_VICTIM_WITHOUT_ID=\"$<TARGET_FILE:victim_without_id>\"")
target_compile_definitions(test_cli PRIVATE "ASHLAR_SLOW_VICTIM=\"$<TARGET_FILE:slow_victim>\"")
add_dependencies(test_cli slow_victim victim_without_id ashlar_record)
# A program to measure, and a library to measure it with.
add_executable(try_victim remedies/tried.cpp)
target_compile_options(try_victim PRIVATE -fno-sanitize=all -fno-builtin)
target_link_options(try_victim PRIVATE -fno-sanitize=all LINKER:--build-id)
target_link_libraries(try_victim PRIVATE ashlar_warnings)
target_compile_features(try_victim PRIVATE cxx_std_20)
# A library that can be preloaded on every machine: its malloc is glibc's.
add_library(try_preload MODULE remedies/preload.cpp)
target_compile_options(try_preload PRIVATE -fno-sanitize=all -fno-builtin)
target_link_options(try_preload PRIVATE -fno-sanitize=all)
target_link_libraries(try_preload PRIVATE ashlar_warnings)
target_compile_features(try_preload PRIVATE cxx_std_20)
target_compile_definitions(test_cli PRIVATE
  "ASHLAR_TRY_VICTIM=\"$<TARGET_FILE:try_victim>\""
  "ASHLAR_TRY_PRELOAD=\"$<TARGET_FILE:try_preload>\"")
add_dependencies(test_cli try_victim try_preload)
