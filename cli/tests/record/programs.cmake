# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Programs for `ashlar record` to record. They stay free of sanitizers, which have an allocator of their own.
add_executable(record_victim record/victim.cpp)
add_library(record_greedy_dlsym MODULE record/greedy_dlsym.cpp)
add_executable(record_deaths record/deaths.cpp)
add_library(record_early_library SHARED record/early_library.cpp)
add_executable(record_early record/early.cpp)
target_link_libraries(record_early PRIVATE record_early_library)
add_executable(record_plugins record/plugins.cpp)
add_executable(record_prefork record/prefork.cpp)
foreach(name IN ITEMS one two three)
  add_library(record_plugin_${name} MODULE record/plugin.cpp)
  target_compile_definitions(record_plugin_${name} PRIVATE RECORD_PLUGIN=plugin_${name})
endforeach()
foreach(kind IN ITEMS plain static own_malloc no_tables)
  add_executable(record_${kind} record/plain.cpp)
endforeach()
target_link_options(record_plain PRIVATE LINKER:--as-needed)  # without the C++ library, which allocates at its start
target_link_options(record_static PRIVATE -static)
target_link_options(record_no_tables PRIVATE LINKER:--no-eh-frame-hdr)
target_compile_definitions(record_own_malloc PRIVATE RECORD_OWN_MALLOC)
set(record_programs record_victim record_deaths record_greedy_dlsym record_plain record_static record_own_malloc
  record_no_tables record_early_library record_early record_plugins record_plugin_one record_plugin_two
  record_plugin_three record_prefork)
foreach(target IN LISTS record_programs)
  target_compile_options(${target} PRIVATE -fno-sanitize=all -fno-builtin -fno-omit-frame-pointer)
  target_link_options(${target} PRIVATE -fno-sanitize=all)
  target_link_libraries(${target} PRIVATE ashlar_warnings pthread ${CMAKE_DL_LIBS})
  target_compile_features(${target} PRIVATE cxx_std_20)
endforeach()
# The walk of the recorder is also compared with an unwinder, in the tests themselves.
target_sources(test_cli PRIVATE "${PROJECT_SOURCE_DIR}/cli/preload/frame_rules.cpp"
  "${PROJECT_SOURCE_DIR}/cli/preload/known_stacks.cpp" "${PROJECT_SOURCE_DIR}/cli/preload/rule_cache.cpp"
  "${PROJECT_SOURCE_DIR}/cli/preload/stack_walk.cpp")
target_include_directories(record_victim PRIVATE "${PROJECT_SOURCE_DIR}")
target_link_libraries(record_victim PRIVATE ashlar::ashlar)
target_compile_definitions(test_cli PRIVATE
  "ASHLAR_VICTIM=\"$<TARGET_FILE:record_victim>\""
  "ASHLAR_DEATHS=\"$<TARGET_FILE:record_deaths>\""
  "ASHLAR_EARLY_VICTIM=\"$<TARGET_FILE:record_early>\""
  "ASHLAR_PLUGINS_VICTIM=\"$<TARGET_FILE:record_plugins>\""
  "ASHLAR_PLUGIN_ONE=\"$<TARGET_FILE:record_plugin_one>\""
  "ASHLAR_PLUGIN_TWO=\"$<TARGET_FILE:record_plugin_two>\""
  "ASHLAR_PLUGIN_THREE=\"$<TARGET_FILE:record_plugin_three>\""
  "ASHLAR_PREFORK_VICTIM=\"$<TARGET_FILE:record_prefork>\""
  "ASHLAR_PLAIN_VICTIM=\"$<TARGET_FILE:record_plain>\""
  "ASHLAR_NO_TABLES_VICTIM=\"$<TARGET_FILE:record_no_tables>\""
  "ASHLAR_STATIC_VICTIM=\"$<TARGET_FILE:record_static>\""
  "ASHLAR_OWN_MALLOC_VICTIM=\"$<TARGET_FILE:record_own_malloc>\""
  "ASHLAR_GREEDY_DLSYM=\"$<TARGET_FILE:record_greedy_dlsym>\"")
add_dependencies(test_cli ${record_programs} ashlar_record)

# The same program over musl, where Debian's musl-tools are installed.
find_program(ASHLAR_MUSL_GCC musl-gcc)
set(musl_victim "")
if(ASHLAR_MUSL_GCC)
  set(musl_victim "${CMAKE_CURRENT_BINARY_DIR}/record_musl")
  add_custom_command(OUTPUT "${musl_victim}"
    COMMAND "${ASHLAR_MUSL_GCC}" -x c++ -std=c++17 -O1 -fno-builtin -fno-exceptions -fno-rtti -o "${musl_victim}"
      "${CMAKE_CURRENT_SOURCE_DIR}/record/plain.cpp"
    DEPENDS record/plain.cpp VERBATIM)
  add_custom_target(record_musl_victim DEPENDS "${musl_victim}")
  add_dependencies(test_cli record_musl_victim)
endif()
target_compile_definitions(test_cli PRIVATE "ASHLAR_MUSL_VICTIM=\"${musl_victim}\"")
