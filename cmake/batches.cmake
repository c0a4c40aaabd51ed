# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Compiles test files in batches: their common includes and templates are then compiled once, which is most of the work.
# Each file has its own namespace, so that names do not collide. With sanitizers a dozen take up to 1.6 GB of memory, the
# thirty of tests/face 2.9 GB.
set(ASHLAR_TEST_BATCH 1 CACHE STRING "How many test files are compiled as one")

# Sets `result` to the #include lines of a test file.
function(ashlar_includes_of source result)
  file(STRINGS "${source}" lines REGEX "^#include ")
  set(${result} ${lines} PARENT_SCOPE)
endfunction()

# Writes one batch: first the includes of all its files, outside of any namespace; then the files, whose own includes
# have no effect by then. In the namespace of a file, ashlar_test means the same as outside.
function(ashlar_write_batch batch)
  set(includes)
  set(number 0)
  set(files "namespace ashlar_test {}\n")
  foreach(source IN LISTS ARGN)
    ashlar_includes_of("${source}" more)
    list(APPEND includes ${more})
    math(EXPR number "${number} + 1")
    string(APPEND files "namespace file_${number} {\nnamespace ashlar_test {\nusing namespace ::ashlar_test;\n}\n"
      "#include \"${source}\"\n}\n")
  endforeach()
  list(REMOVE_DUPLICATES includes)
  list(JOIN includes "\n" includes)
  file(CONFIGURE OUTPUT "${batch}" CONTENT "@includes@\n@files@" @ONLY)
endfunction()

# ashlar_files_with(<result> <pattern> <source>…): the files with a line that matches the pattern.
function(ashlar_files_with result pattern)
  set(found)
  foreach(source IN LISTS ARGN)
    file(STRINGS "${source}" lines REGEX "${pattern}")
    if(lines)
      list(APPEND found "${source}")
    endif()
  endforeach()
  set(${result} ${found} PARENT_SCOPE)
endfunction()

# ashlar_batches(<room> <result> <source>…): the files to compile in place of the sources. A replacement of operator new
# must stand outside of every namespace, so its file is compiled alone.
function(ashlar_batches room result)
  list(LENGTH ARGN count)
  if(count LESS 2 OR ASHLAR_TEST_BATCH LESS 2)
    set(${result} ${ARGN} PARENT_SCOPE)
    return()
  endif()
  # The includes of a file are read when CMake runs.
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${ARGN})
  ashlar_files_with(alone "^[^ /].*operator (new|delete)" ${ARGN})
  set(sources ${ARGN})
  list(REMOVE_ITEM sources ${alone})
  set(batches)
  while(sources)
    list(LENGTH batches number)
    list(SUBLIST sources 0 ${ASHLAR_TEST_BATCH} some)
    list(REMOVE_ITEM sources ${some})
    set(batch "${PROJECT_BINARY_DIR}/batches/${room}_${number}.cpp")
    ashlar_write_batch("${batch}" ${some})
    list(APPEND batches "${batch}")
  endwhile()
  set(${result} ${batches} ${alone} PARENT_SCOPE)
endfunction()
