# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# What the system counts for many threads with a few blocks each; and short ones.
ashlar_add_c_program(libashlar_many_threads many_threads.c)
target_compile_definitions(libashlar_many_threads PRIVATE _GNU_SOURCE)
target_link_libraries(libashlar_many_threads PRIVATE Threads::Threads)
foreach(suffix IN ITEMS "" -checked -hardened)
  if(NOT TARGET ashlar_malloc${suffix})
    continue()
  endif()
  foreach(case IN ITEMS "data 100 256" "space 500 1024" "locked 100 88" "charged 200 220")
    separate_arguments(arguments UNIX_COMMAND "${case}")
    list(GET arguments 0 way)
    ashlar_add_libashlar_test(threads.${way}${suffix} env "LD_PRELOAD=$<TARGET_FILE:ashlar_malloc${suffix}>"
      $<TARGET_FILE:libashlar_many_threads> ${arguments})
    set_tests_properties(libashlar.threads.${way}${suffix} PROPERTIES SKIP_RETURN_CODE 77)
  endforeach()
  ashlar_add_libashlar_test(threads.short${suffix} ${Python3_EXECUTABLE} "${CMAKE_CURRENT_SOURCE_DIR}/short_threads.py"
    $<TARGET_FILE:ashlar_malloc${suffix}> $<TARGET_FILE:libashlar_many_threads>)
endforeach()
foreach(way IN ITEMS resident short)
  ashlar_add_libashlar_test(threads.${way}_huge_pages env ASHLAR=huge_pages=1
    "LD_PRELOAD=$<TARGET_FILE:ashlar_malloc>" $<TARGET_FILE:libashlar_many_threads> ${way} 200 64)
endforeach()
if(TARGET ashlar_malloc-route)
  ashlar_add_libashlar_test(threads.short_routed ${Python3_EXECUTABLE} "${CMAKE_CURRENT_SOURCE_DIR}/short_threads.py"
    $<TARGET_FILE:ashlar_malloc-route> $<TARGET_FILE:libashlar_many_threads>)
endif()
