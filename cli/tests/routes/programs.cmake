# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# A program with sites whose addresses it knows, and a module with another.
if(NOT TARGET ashlar_malloc-route OR NOT CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  return()
endif()
ashlar_test_program(ROUTE_VICTIM route_victim PROGRAM routes/victim.cpp -fno-builtin)
ashlar_test_program(ROUTE_PLUGIN route_plugin MODULE routes/plugin.cpp -fno-builtin)
target_compile_definitions(test_cli PRIVATE "ASHLAR_ROUTER=\"$<TARGET_FILE:ashlar_malloc-route>\"")
add_dependencies(test_cli ashlar_malloc-route)
