# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Reports of misuse: the handlers of a program, and what each level finds.
ashlar_add_c_program(libashlar_misuse_handlers misuse_handlers.c)
target_link_libraries(libashlar_misuse_handlers PRIVATE ashlar::malloc Threads::Threads)
ashlar_add_libashlar_test(misuse.handlers libashlar_misuse_handlers)

# Misuse, as far as each level knows it.
if(TARGET ashlar_malloc-checked AND TARGET ashlar_malloc-hardened)
  ashlar_add_c_program(libashlar_misuse misuse.c)
  target_link_libraries(libashlar_misuse PRIVATE ashlar::malloc-checked Threads::Threads)
  set(preload_hardened "LD_PRELOAD=$<TARGET_FILE:ashlar_malloc-hardened>")
  foreach(way IN ITEMS double_free invalid_free misaligned_free size_mismatch)
    ashlar_add_libashlar_test(misuse.checked.${way} bash ${ends} 134 "^ashlar: ${way}: "
      $<TARGET_FILE:libashlar_misuse> ${way})
  endforeach()
  foreach(way IN ITEMS double_free misaligned_free size_mismatch)
    ashlar_add_libashlar_test(misuse.size.${way} bash ${ends} 134 "^ashlar: ${way}: .*, (size|block of) [1-9][0-9]*(,| |$)"
      $<TARGET_FILE:libashlar_misuse> ${way})
  endforeach()
  foreach(way IN ITEMS foreign foreign_beside_heap)  # the same answer with heaps that are objects and without
    ashlar_add_libashlar_test(misuse.fast.${way} bash ${ends} 134
      "^ashlar: invalid_free: freed a pointer that is not of this heap, "
      env "LD_PRELOAD=$<TARGET_FILE:ashlar_malloc>" $<TARGET_FILE:libashlar_misuse> ${way})
  endforeach()
  foreach(pair IN ITEMS heap_deleted_twice:invalid_free wrong_heap:wrong_pool wrong_heap_object:wrong_pool
      size_of_flagged:size_mismatch small_size_of_flagged:size_mismatch)
    string(REPLACE ":" ";" pair "${pair}")
    list(GET pair 0 way)
    list(GET pair 1 kind)
    ashlar_add_libashlar_test(misuse.checked.${way} bash ${ends} 134 "^ashlar: ${kind}: "
      $<TARGET_FILE:libashlar_misuse> ${way})
    ashlar_add_libashlar_test(misuse.hardened.${way} bash ${ends} 134 "^ashlar: ${kind}: "
      env ${preload_hardened} $<TARGET_FILE:libashlar_misuse> ${way})
  endforeach()
  foreach(way IN ITEMS double_free invalid_free misaligned_free size_mismatch overflow underflow)
    ashlar_add_libashlar_test(misuse.hardened.${way} bash ${ends} 134 "^ashlar: ${way}: "
      env ${preload_hardened} $<TARGET_FILE:libashlar_misuse> ${way})
  endforeach()
  # The next request for a cell of the size finds it, or the free of a neighbour.
  ashlar_add_libashlar_test(misuse.checked.write_after_free bash ${ends} 134 "^ashlar: corrupt_link: "
    $<TARGET_FILE:libashlar_misuse> write_after_free)
  ashlar_add_libashlar_test(misuse.hardened.write_after_free bash ${ends} 134
    "^ashlar: (corrupt_link|overflow|underflow): " env ${preload_hardened} $<TARGET_FILE:libashlar_misuse> write_after_free)
  foreach(way IN ITEMS copy move fill string)
    ashlar_add_libashlar_test(misuse.hardened.${way} bash ${ends} 134
      "^ashlar: overflow: a copy or fill writes beside a live block, .*expected 40, got 41$"
      env ${preload_hardened} $<TARGET_FILE:libashlar_misuse> ${way})
  endforeach()
  ashlar_add_libashlar_test(misuse.hardened.overflow_of_large bash ${ends} 134 "^ashlar: overflow: .*expected 300000, got 300001$"
    env ${preload_hardened} $<TARGET_FILE:libashlar_misuse> overflow_of_large)
  ashlar_add_libashlar_test(misuse.hardened.zero_size bash ${ends} 139 - env ${preload_hardened}
    $<TARGET_FILE:libashlar_misuse> zero_size)
  ashlar_add_libashlar_test(misuse.hardened.huge_after_free bash ${ends} 139 - env ${preload_hardened}
    $<TARGET_FILE:libashlar_misuse> huge_after_free)
  # Misuse ends the process also in a thread that is to be cancelled.
  ashlar_add_libashlar_test(misuse.cancelled bash ${ends} 134 "^ashlar: double_free: "
    $<TARGET_FILE:libashlar_misuse> cancelled_double_free)
  ashlar_add_libashlar_test(misuse.cancelled_guarded bash ${ends} 134 "^(ashlar: double_free: |  )"
    env ASHLAR=sample=1 $<TARGET_FILE:libashlar_misuse> cancelled_double_free)
  ashlar_add_libashlar_test(misuse.cancelled_fault bash ${ends} 139 "^(ashlar: use_after_free: |  )"
    env ASHLAR=sample=1 $<TARGET_FILE:libashlar_misuse> cancelled_use)
  ashlar_add_libashlar_test(misuse.handler bash ${ends} 134 "^mine: double_free$"
    $<TARGET_FILE:libashlar_misuse> double_free mine)
  ashlar_add_libashlar_test(misuse.without_core bash ${ends} 134 "^ashlar: double_free: "
    env ASHLAR=abort=0 $<TARGET_FILE:libashlar_misuse> double_free)
endif()
