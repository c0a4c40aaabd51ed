# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# A library to name addresses of.
add_library(support_many_symbols MODULE support/many_symbols.cpp)
target_compile_options(support_many_symbols PRIVATE -fno-sanitize=all)
target_link_options(support_many_symbols PRIVATE -fno-sanitize=all)
target_compile_definitions(test_cli PRIVATE "ASHLAR_MANY_SYMBOLS=\"$<TARGET_FILE:support_many_symbols>\"")
add_dependencies(test_cli support_many_symbols)
