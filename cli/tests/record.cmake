# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Programs for `ashlar record` to record. They stay free of sanitizers, which have an allocator of their own.
add_executable(record_victim record_victim.cpp)
add_library(record_greedy_dlsym MODULE record_greedy_dlsym.cpp)
foreach(target IN ITEMS record_victim record_greedy_dlsym)
  target_compile_options(${target} PRIVATE -fno-sanitize=all -fno-builtin -fno-omit-frame-pointer)
  target_link_options(${target} PRIVATE -fno-sanitize=all)
  target_link_libraries(${target} PRIVATE ashlar_warnings pthread ${CMAKE_DL_LIBS})
  target_compile_features(${target} PRIVATE cxx_std_20)
endforeach()
target_compile_definitions(test_cli PRIVATE
  "ASHLAR_VICTIM=\"$<TARGET_FILE:record_victim>\""
  "ASHLAR_GREEDY_DLSYM=\"$<TARGET_FILE:record_greedy_dlsym>\"")
add_dependencies(test_cli record_victim record_greedy_dlsym ashlar_record)
