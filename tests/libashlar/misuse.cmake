# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Reports of misuse: what each level finds.
if(NOT TARGET ashlar_malloc-checked OR NOT TARGET ashlar_malloc-hardened)
  return()
endif()
ashlar_add_c_program(libashlar_misuse misuse.c)
target_link_libraries(libashlar_misuse PRIVATE ashlar::malloc-checked Threads::Threads)

# ashlar_add_misuses(<level> <status> <pattern> <way>…): {way} in the pattern stands for the way.
function(ashlar_add_misuses level status pattern)
  set(suffix "-${level}")
  if(level STREQUAL "fast")
    set(suffix "")
  endif()
  foreach(way IN LISTS ARGN)
    string(REPLACE "{way}" "${way}" line "${pattern}")
    ashlar_add_libashlar_test(misuse.${level}.${way} bash ${ends} ${status} "${line}"
      env "LD_PRELOAD=$<TARGET_FILE:ashlar_malloc${suffix}>" $<TARGET_FILE:libashlar_misuse> ${way})
  endforeach()
endfunction()

# The same answer with heaps that are objects and without.
ashlar_add_misuses(fast 134 "^ashlar: invalid_free: freed a pointer that is not of this heap, " foreign
  foreign_beside_heap)
ashlar_add_misuses(checked 134 "^ashlar: {way}: .*, (size|block of) [1-9][0-9]*(,| |$)" double_free misaligned_free
  size_mismatch)
ashlar_add_misuses(checked 134 "^ashlar: {way}: " invalid_free)
ashlar_add_misuses(hardened 134 "^ashlar: {way}: " double_free invalid_free misaligned_free size_mismatch overflow
  underflow)
foreach(level IN ITEMS checked hardened)
  ashlar_add_misuses(${level} 134 "^ashlar: invalid_free: " heap_deleted_twice)
  ashlar_add_misuses(${level} 134 "^ashlar: wrong_pool: " wrong_heap wrong_heap_object)
  ashlar_add_misuses(${level} 134 "^ashlar: size_mismatch: " size_of_flagged small_size_of_flagged)
endforeach()
# The next request for a cell of the size finds it, or the free of a neighbour.
ashlar_add_misuses(checked 134 "^ashlar: corrupt_link: " write_after_free)
ashlar_add_misuses(hardened 134 "^ashlar: (corrupt_link|overflow|underflow): " write_after_free)
ashlar_add_misuses(hardened 134
  "^ashlar: overflow: a copy or fill writes beside a live block, .*expected 40, got 41$" copy move fill string)
ashlar_add_misuses(hardened 134 "^ashlar: overflow: .*expected 300000, got 300001$" overflow_of_large)
ashlar_add_misuses(hardened 139 - zero_size huge_after_free)

# Misuse ends the process also in a thread that is to be cancelled.
ashlar_add_misuses(checked 134 "^ashlar: double_free: " cancelled_double_free)
ashlar_add_libashlar_test(misuse.cancelled_guarded bash ${ends} 134 "^(ashlar: double_free: |  )"
  env ASHLAR=sample=1 $<TARGET_FILE:libashlar_misuse> cancelled_double_free)
ashlar_add_libashlar_test(misuse.cancelled_fault bash ${ends} 139 "^(ashlar: use_after_free: |  )"
  env ASHLAR=sample=1 $<TARGET_FILE:libashlar_misuse> cancelled_use)
ashlar_add_libashlar_test(misuse.handler bash ${ends} 134 "^mine: double_free$"
  $<TARGET_FILE:libashlar_misuse> double_free mine)
ashlar_add_libashlar_test(misuse.without_core bash ${ends} 134 "^ashlar: double_free: "
  env ASHLAR=abort=0 $<TARGET_FILE:libashlar_misuse> double_free)
