# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Settings for developers of ashlar only: warnings, header verification, ccache. Users of the library see none.
set(CMAKE_CXX_EXTENSIONS OFF)
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
option(ASHLAR_VERIFY_DETAIL "Compile the headers of include/ashlar/detail alone too" ON)
set_target_properties(ashlar PROPERTIES VERIFY_INTERFACE_HEADER_SETS ON)
if(NOT ASHLAR_VERIFY_DETAIL)
  set_target_properties(ashlar PROPERTIES INTERFACE_HEADER_SETS_TO_VERIFY HEADERS)
endif()

# ccache compares a precompiled header by its content, so that it still serves its includers. The includes of a file
# come from the compiler's own list: preprocessing each file first costs a quarter more without a cache.
find_program(ASHLAR_CCACHE ccache)
if(ASHLAR_CCACHE)
  set(CMAKE_CXX_COMPILER_LAUNCHER
    "${CMAKE_COMMAND}" -E env CCACHE_DEPEND=1 CCACHE_SLOPPINESS=pch_defines,time_macros "${ASHLAR_CCACHE}")
  add_compile_options("$<$<CXX_COMPILER_ID:Clang>:SHELL:-Xclang -fno-pch-timestamp>")
endif()
