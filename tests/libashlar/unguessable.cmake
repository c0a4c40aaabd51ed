# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# What no other process may know of a heap at level hardened: its canaries, where its blocks are, and when they come back.
if(TARGET ashlar_malloc-hardened)
  ashlar_add_c_program(libashlar_unguessable unguessable.c)
  foreach(way IN ITEMS overflows canaries forks processes reuse)
    ashlar_add_libashlar_test(unguessable.${way} env "LD_PRELOAD=$<TARGET_FILE:ashlar_malloc-hardened>"
      $<TARGET_FILE:libashlar_unguessable> ${way})
  endforeach()
endif()
