# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Programs with planted remedies. They are optimised and have line numbers in every configuration, as their functions and
# lines are the expected answers; they stay free of sanitizers, which have an allocator of their own.
add_executable(advise_victim advise/victim.cpp)
add_executable(advise_whole advise/victim.cpp)
add_executable(advise_peak advise/peak.cpp)
foreach(name IN ITEMS victim whole peak)
  target_compile_options(advise_${name} PRIVATE -O1 -g -fno-sanitize=all)
  target_link_options(advise_${name} PRIVATE -fno-sanitize=all LINKER:--build-id)
  target_include_directories(advise_${name} PRIVATE "${PROJECT_SOURCE_DIR}")
  target_link_libraries(advise_${name} PRIVATE ashlar_warnings pthread ${CMAKE_DL_LIBS})
  target_compile_features(advise_${name} PRIVATE cxx_std_20)
endforeach()
target_link_options(advise_whole PRIVATE -static-libstdc++)  # the same, and loads no C++ library
target_compile_definitions(test_cli PRIVATE "ASHLAR_ADVISE_VICTIM=\"$<TARGET_FILE:advise_victim>\""
  "ASHLAR_ADVISE_PEAK=\"$<TARGET_FILE:advise_peak>\""
  "ASHLAR_ADVISE_WHOLE=\"$<TARGET_FILE:advise_whole>\""
  "ASHLAR_ADVISE_VICTIM_SOURCE=\"${CMAKE_CURRENT_SOURCE_DIR}/advise/victim.cpp\""
  "ASHLAR_RULES_PAGE=\"${PROJECT_SOURCE_DIR}/docs/advise-rules.md\"")
add_dependencies(test_cli advise_victim advise_peak advise_whole ashlar_record)
