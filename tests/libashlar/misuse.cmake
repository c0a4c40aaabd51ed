# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Reports of misuse: what each level finds, and what it tells of a guarded block, with its stacks.

# ashlar_add_guarded_tests(<library> <program> <status> <report> <stacks> <way>…): {way} in the report stands for the way.
function(ashlar_add_guarded_tests library program status report stacks)
  if(NOT TARGET ${library})
    return()
  endif()
  foreach(way IN LISTS ARGN)
    string(REPLACE "{way}" "${way}" line "${report}")
    string(REPLACE "{way}" "${way}" acts "${stacks}")
    ashlar_add_libashlar_test(${program}.${library}.${way} ${python} "${here}/guarded.py" ${status} "${line}" "${acts}"
      env ASHLAR=sample=1 "LD_PRELOAD=$<TARGET_FILE:${library}>" $<TARGET_FILE:libashlar_${program}> ${way})
  endforeach()
endfunction()
# The stacks by frame pointers, and by the unwinder of C++.
foreach(program IN ITEMS guarded guarded_unwound)
  ashlar_add_c_program(libashlar_${program} guarded.c)
  target_compile_definitions(libashlar_${program} PRIVATE _GNU_SOURCE)
  target_include_directories(libashlar_${program} PRIVATE "${PROJECT_SOURCE_DIR}")
  target_compile_options(libashlar_${program} PRIVATE -fno-optimize-sibling-calls)
  set_target_properties(libashlar_${program} PROPERTIES ENABLE_EXPORTS ON)  # its sigaction stands in front of glibc's
endforeach()
target_compile_options(libashlar_guarded PRIVATE -fno-omit-frame-pointer)
target_compile_options(libashlar_guarded_unwound PRIVATE -fomit-frame-pointer -funwind-tables)
target_link_options(libashlar_guarded_unwound PRIVATE LINKER:--no-as-needed -lgcc_s)

set(read access)  # processors other than x86-64 do not tell which
set(write access)
if(CMAKE_SYSTEM_PROCESSOR STREQUAL "x86_64")
  set(read read)
  set(write write)
endif()
set(made "allocated:make_block")
set(dropped "allocated:make_block,freed:drop_block")
foreach(pair IN ITEMS "ashlar_malloc guarded" "ashlar_malloc guarded_unwound" "ashlar_malloc-checked guarded_unwound"
    "ashlar_malloc-hardened guarded_unwound")
  separate_arguments(pair)
  ashlar_add_guarded_tests(${pair} 139
    "ashlar: use_after_free: .* in a block that is free, pointer 0x[0-9a-f]+, size 48, address 0x[0-9a-f]+"
    "accessed:read_at,${dropped}" use_after_free)
  ashlar_add_guarded_tests(${pair} 139 "ashlar: {way}: ${write} of byte 1 past the end of a block, .*"
    "accessed:write_at,${made}" overflow)
  ashlar_add_guarded_tests(${pair} 139 "ashlar: {way}: ${read} of byte 1 before a block, .*" "accessed:read_at,${made}"
    underflow)
  ashlar_add_guarded_tests(${pair} 134 "ashlar: {way}: freed a block that is free, .*" "freed again:drop_again,${dropped}"
    double_free)
  ashlar_add_guarded_tests(${pair} 0 - - threads)
endforeach()
set(by_frames ashlar_malloc guarded)
foreach(way IN ITEMS overflow underflow)
  ashlar_add_guarded_tests(${by_frames} 134 "ashlar: ${way}: bytes .* a block were written to, .*" "freed:drop_block,${made}"
    freed_${way})
endforeach()
ashlar_add_guarded_tests(${by_frames} 139 "ashlar: use_after_free: ${write} in a block that is free, .*"
  "accessed:write_without_frame,${dropped}" without_frame)
ashlar_add_guarded_tests(${by_frames} 134 "ashlar: {way}: .*" "freed:drop_block,${made}" misaligned_free)
ashlar_add_guarded_tests(${by_frames} 134 "ashlar: {way}: freed a pointer that is not a block, pointer 0x[0-9a-f]+"
  "freed:drop_block" invalid_free)
ashlar_add_guarded_tests(ashlar_malloc-checked guarded 134
  "ashlar: {way}: freed with another size .*, expected 48, got 40" - size_mismatch)
ashlar_add_guarded_tests(${by_frames} 11 "mine" "accessed:read_at,${dropped}" handler handler_meanwhile)
ashlar_add_guarded_tests(${by_frames} 134 "mine" "freed again:drop_again,${dropped}" heard_double_free)
ashlar_add_guarded_tests(${by_frames} 139 "ashlar: use_after_free: .*" "accessed:read_at,${dropped}" unheard_fault)
ashlar_add_guarded_tests(${by_frames} 134 "ashlar: precondition: asked the size of a block that is free, .*"
  "used:ask_size,${dropped}" size_of_freed)
ashlar_add_guarded_tests(${by_frames} 134 "ashlar: precondition: resized a block that is free, .*"
  "used:grow_block,${dropped}" resized_freed)
ashlar_add_guarded_tests(${by_frames} 139 "ashlar: use_after_free: .*"
  "accessed:read_at,allocated:make_{way},freed:drop_block" by_posix_memalign by_new by_aligned_new)
ashlar_add_guarded_tests(${by_frames} 139 - - other_fault)
ashlar_add_guarded_tests(${by_frames} 0 - - locked_pages resized_in_its_heap)

# What each level finds without samples.
if(NOT TARGET ashlar_malloc-checked OR NOT TARGET ashlar_malloc-hardened)
  return()
endif()
ashlar_add_c_program(libashlar_misuse misuse.c)
target_link_libraries(libashlar_misuse PRIVATE ashlar::malloc-checked)
set(misuse $<TARGET_FILE:libashlar_misuse>)

# ashlar_add_misuses(<library> <status> <pattern> <way>…): {way} in the pattern stands for the way.
function(ashlar_add_misuses library status pattern)
  foreach(way IN LISTS ARGN)
    string(REPLACE "{way}" "${way}" line "${pattern}")
    ashlar_add_ending_test(misuse.${library}.${way} ${library} "" ${status} "${line}" ${misuse} ${way})
  endforeach()
endfunction()

# The same answer with heaps that are objects and without.
ashlar_add_misuses(ashlar_malloc 134 "^ashlar: invalid_free: freed a pointer that is not of this heap, " foreign
  foreign_beside_heap)
ashlar_add_misuses(ashlar_malloc-checked 134 "^ashlar: {way}: .*, (size|block of) [1-9][0-9]*(,| |$)" double_free
  misaligned_free size_mismatch)
ashlar_add_misuses(ashlar_malloc-checked 134 "^ashlar: {way}: " invalid_free)
ashlar_add_misuses(ashlar_malloc-hardened 134 "^ashlar: {way}: " double_free invalid_free misaligned_free size_mismatch
  overflow underflow)
foreach(library IN ITEMS ashlar_malloc-checked ashlar_malloc-hardened)
  ashlar_add_misuses(${library} 134 "^ashlar: invalid_free: " heap_deleted_twice)
  ashlar_add_misuses(${library} 134 "^ashlar: wrong_pool: " wrong_heap wrong_heap_object)
  ashlar_add_misuses(${library} 134 "^ashlar: size_mismatch: " size_of_flagged small_size_of_flagged)
endforeach()
# The next request for a cell of the size finds it, or the free of a neighbour.
ashlar_add_misuses(ashlar_malloc-checked 134 "^ashlar: corrupt_link: " write_after_free)
ashlar_add_misuses(ashlar_malloc-hardened 134 "^ashlar: (corrupt_link|overflow|underflow): " write_after_free)
ashlar_add_misuses(ashlar_malloc-hardened 134
  "^ashlar: overflow: a copy or fill writes beside a live block, .*expected 40, got 41$" copy move fill string)
ashlar_add_misuses(ashlar_malloc-hardened 134 "^ashlar: overflow: .*expected 300000, got 300001$" overflow_of_large)
ashlar_add_misuses(ashlar_malloc-hardened 139 - zero_size huge_after_free)

# Misuse ends the process also in a thread that is to be cancelled.
ashlar_add_misuses(ashlar_malloc-checked 134 "^ashlar: double_free: " cancelled_double_free)
ashlar_add_ending_test(misuse.cancelled_guarded ashlar_malloc-checked sample=1 134 "^(ashlar: double_free: |  )" ${misuse}
  cancelled_double_free)
ashlar_add_ending_test(misuse.cancelled_fault ashlar_malloc-checked sample=1 139 "^(ashlar: use_after_free: |  )" ${misuse}
  cancelled_use)
ashlar_add_ending_test(misuse.handler ashlar_malloc-checked "" 134 "^mine: double_free$" ${misuse} double_free mine)
ashlar_add_ending_test(misuse.handlers ashlar_malloc "" 0 - ${misuse} handlers)
ashlar_add_ending_test(misuse.without_core ashlar_malloc-checked abort=0 134 "^ashlar: double_free: " ${misuse} double_free)
