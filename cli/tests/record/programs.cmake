# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Programs for `ashlar record` to record.
set(options -fno-builtin -fno-omit-frame-pointer)
ashlar_test_program(VICTIM record_victim PROGRAM record/victim.cpp ${options})
target_link_libraries(record_victim PRIVATE ashlar::ashlar)
ashlar_test_program(GREEDY_DLSYM record_greedy_dlsym MODULE record/greedy_dlsym.cpp ${options})
ashlar_test_program(TREE_VICTIM record_tree PROGRAM record/tree.cpp ${options})
ashlar_test_program(PLUGINS_VICTIM record_plugins PROGRAM record/plugins.cpp ${options})
foreach(name IN ITEMS ONE TWO THREE)
  string(TOLOWER ${name} lower)
  ashlar_test_program(PLUGIN_${name} record_plugin_${lower} MODULE record/plugin.cpp ${options})
  target_compile_definitions(record_plugin_${lower} PRIVATE RECORD_PLUGIN=plugin_${lower})
endforeach()
# It loads no plugin, only a library.
ashlar_test_program(EARLY_LIBRARY record_early_library SHARED record/plugin.cpp ${options})
target_compile_definitions(record_early_library PRIVATE RECORD_PLUGIN=early_block RECORD_EARLY)
ashlar_test_program(EARLY_VICTIM record_early PROGRAM record/plugins.cpp ${options})
target_link_options(record_early PRIVATE LINKER:--no-as-needed)
target_link_libraries(record_early PRIVATE record_early_library)
foreach(kind IN ITEMS PLAIN STATIC OWN_MALLOC NO_TABLES)
  string(TOLOWER record_${kind} target)
  ashlar_test_program(${kind}_VICTIM ${target} PROGRAM record/plain.cpp ${options})
endforeach()
target_link_options(record_plain PRIVATE LINKER:--as-needed)  # without the C++ library, which allocates at its start
target_link_options(record_static PRIVATE -static)
target_link_options(record_no_tables PRIVATE LINKER:--no-eh-frame-hdr)
target_compile_definitions(record_own_malloc PRIVATE RECORD_OWN_MALLOC)
# The walk of the recorder is also compared with an unwinder, in the tests themselves.
target_sources(test_cli PRIVATE "${PROJECT_SOURCE_DIR}/cli/preload/stack_walk.cpp")

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
