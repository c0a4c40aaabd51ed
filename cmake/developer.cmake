# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Settings for developers of ashlar only (ASHLAR_DEVELOPER): warnings, header verification, ccache. Those who use or
# package ashlar see none.
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

# Link it PRIVATE to targets of this build.
add_library(ashlar_warnings INTERFACE)
set(ashlar_warning_flags -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion -Wold-style-cast
  -Wnon-virtual-dtor -Wcast-align -Werror)
# Two warnings about the standard library: clang dislikes the stable sort of libstdc++ 12, and g++ 12 sees overlaps in
# the concatenation of strings (GCC bug 105651).
if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  list(APPEND ashlar_warning_flags -Wno-deprecated-declarations)
elseif(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  list(APPEND ashlar_warning_flags -Wno-restrict)
endif()
target_compile_options(ashlar_warnings INTERFACE ${ashlar_warning_flags})

# After those, for several sources compiled as one: a local name may hide a private one of another source.
add_library(ashlar_warnings_together INTERFACE)
target_compile_options(ashlar_warnings_together INTERFACE -Wno-shadow)

# Target all_verify_interface_header_sets compiles every header alone. The end of CMakeLists.txt adds the warnings.
set_target_properties(ashlar PROPERTIES VERIFY_INTERFACE_HEADER_SETS ON)

# Target headers_alone compiles every public header alone, but for the standard ones, which are most of the time: they are
# precompiled, and the lint `includes` checks which of them a header must include. A header stands behind one that it
# includes itself, at the start or by another: nothing is in front of it then that would not be there without.
function(ashlar_read_included header)
  get_property(is_read GLOBAL PROPERTY "ashlar_included_by_${header}" SET)
  if(is_read)
    return()
  endif()
  file(STRINGS "${PROJECT_SOURCE_DIR}/include/${header}" lines REGEX "^#(include <ashlar/| *if| *endif)")
  set(included "")
  set(conditions 0)
  foreach(line IN LISTS lines)
    if(line MATCHES "^# *if")
      math(EXPR conditions "${conditions} + 1")
    elseif(line MATCHES "^# *endif")
      math(EXPR conditions "${conditions} - 1")
    elseif(conditions EQUAL 0 AND line MATCHES "<(.*)>")
      set(name "${CMAKE_MATCH_1}")
      ashlar_read_included("${name}")
      get_property(more GLOBAL PROPERTY "ashlar_included_by_${name}")
      list(APPEND included "${name}" ${more})
    endif()
  endforeach()
  list(REMOVE_DUPLICATES included)
  set_property(GLOBAL PROPERTY "ashlar_included_by_${header}" "${included}")
endfunction()

set(left "")
foreach(header IN LISTS ashlar_headers)
  string(REGEX REPLACE "^.*/include/(ashlar/.*)$" "\\1" name "${header}")
  ashlar_read_included("${name}")
  get_property(included GLOBAL PROPERTY "ashlar_included_by_${name}")
  list(LENGTH included count)
  list(APPEND left "${count} ${name}")
endforeach()
list(SORT left COMPARE NATURAL ORDER DESCENDING)
list(TRANSFORM left REPLACE "^[0-9]+ " "")
set(alone "")
while(left)
  list(GET left 0 last)
  set(included ${left})
  set(row "")
  foreach(name IN LISTS left)
    if(name IN_LIST included)
      list(PREPEND row "${name}")
      get_property(included GLOBAL PROPERTY "ashlar_included_by_${name}")
    endif()
  endforeach()
  list(REMOVE_ITEM left ${row})
  list(TRANSFORM row REPLACE "(.+)" "#include <\\1>\n" OUTPUT_VARIABLE row)
  list(JOIN row "" row)
  file(CONFIGURE OUTPUT "${PROJECT_BINARY_DIR}/alone/${last}.cpp" CONTENT "@row@" @ONLY)
  list(APPEND alone "${PROJECT_BINARY_DIR}/alone/${last}.cpp")
endwhile()
set_source_files_properties(${alone} PROPERTIES COMPILE_OPTIONS -fsyntax-only)
add_library(headers_alone OBJECT EXCLUDE_FROM_ALL ${alone})
target_link_libraries(headers_alone PRIVATE ashlar ashlar_warnings)
target_precompile_headers(headers_alone PRIVATE <algorithm> <array> <atomic> <bit> <charconv> <chrono> <cmath> <compare>
  <concepts> <deque> <filesystem> <fstream> <functional> <map> <memory> <memory_resource> <mutex> <new> <numeric>
  <optional> <queue> <ranges> <source_location> <span> <string> <string_view> <system_error> <thread> <tuple>
  <unordered_map> <unordered_set> <utility> <vector>)

# ccache compares a precompiled header by its content, so that it still serves its includers. The includes of a file
# come from the compiler's own list: preprocessing each file first costs a quarter more without a cache.
# CMake's own `env` takes ten times as long to start as the system's. In huge pages clang spends a twelfth less.
set(ashlar_in_huge_pages GLIBC_TUNABLES=glibc.malloc.hugetlb=1)
find_program(ASHLAR_CCACHE ccache)
find_program(ASHLAR_ENV env)
if(ASHLAR_CCACHE AND ASHLAR_ENV)
  set(CMAKE_CXX_COMPILER_LAUNCHER
    "${ASHLAR_ENV}" CCACHE_DEPEND=1 CCACHE_SLOPPINESS=pch_defines,time_macros ${ashlar_in_huge_pages}
    "${ASHLAR_CCACHE}")
  add_compile_options("$<$<CXX_COMPILER_ID:Clang>:SHELL:-Xclang -fno-pch-timestamp>")
endif()
