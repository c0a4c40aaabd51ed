# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# GoogleTest: Debian's archive where the flags of the configuration let it serve; built from its source package where they
# do not, since a sanitizer and a 32-bit build each need their own. Without that package, an installed one.
set(ASHLAR_GOOGLETEST_SOURCE /usr/src/googletest CACHE PATH "Where GoogleTest's sources are")

if(NOT CMAKE_CROSSCOMPILING AND NOT CMAKE_CXX_FLAGS MATCHES "-(fsanitize|fprofile|m32|stdlib)")
  find_package(GTest QUIET)
endif()
if(TARGET GTest::gtest_main)
  add_library(ashlar_gtest_main ALIAS GTest::gtest_main)
elseif(EXISTS "${ASHLAR_GOOGLETEST_SOURCE}/CMakeLists.txt")
  set(INSTALL_GTEST OFF)
  set(BUILD_GMOCK OFF)
  add_subdirectory("${ASHLAR_GOOGLETEST_SOURCE}" googletest EXCLUDE_FROM_ALL SYSTEM)
  # Optimisation would take longer than it saves.
  target_compile_options(gtest PRIVATE -w -O0)
  target_compile_options(gtest_main PRIVATE -w -O0)
  add_library(ashlar_gtest_main ALIAS gtest_main)
else()
  find_package(GTest REQUIRED)
  add_library(ashlar_gtest_main ALIAS GTest::gtest_main)
endif()
