# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# `ashlar export` compresses for pprof by zlib, on which libdw rests; without it pprof reads the file as it is.
find_path(ASHLAR_Z_DIR zlib.h)
find_library(ASHLAR_Z_LIBRARY z)
if(ASHLAR_Z_DIR AND ASHLAR_Z_LIBRARY)
  target_compile_definitions(ashlar_cli_verbs PRIVATE ASHLAR_CLI_ZLIB=1)
  target_include_directories(ashlar_cli_verbs SYSTEM PUBLIC "${ASHLAR_Z_DIR}")
  target_link_libraries(ashlar_cli_verbs PUBLIC "${ASHLAR_Z_LIBRARY}")
endif()

# Most of it runs once for each stack, and is made small; the pass over the events is fast, as the rest.
if(CMAKE_BUILD_TYPE STREQUAL "Release")
  foreach(name IN ITEMS heaptrack parquet perfetto pprof profile tables viewers)
    set_source_files_properties("${CMAKE_CURRENT_SOURCE_DIR}/export/${name}.cpp" PROPERTIES
      COMPILE_OPTIONS "$<IF:$<CXX_COMPILER_ID:Clang>,-Oz,-Os>" SKIP_PRECOMPILE_HEADERS ON)
  endforeach()
  set_source_files_properties("${CMAKE_CURRENT_SOURCE_DIR}/export/count.cpp" "${CMAKE_CURRENT_SOURCE_DIR}/export/utf8.cpp"
    PROPERTIES SKIP_PRECOMPILE_HEADERS ON)
endif()
