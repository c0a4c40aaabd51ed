# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# GoogleTest, built from Debian's source package with the flags of the configuration under test: a sanitizer, a 32-bit
# build and a build without exceptions each need their own. Other builds use an installed GoogleTest.
set(ASHLAR_GOOGLETEST_SOURCE /usr/src/googletest CACHE PATH "Where GoogleTest's sources are")

if(EXISTS "${ASHLAR_GOOGLETEST_SOURCE}/CMakeLists.txt")
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
