# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# The heap profile, by the unwinder of C++.
ashlar_add_c_program(libashlar_profile profile.c)
target_compile_definitions(libashlar_profile PRIVATE _DEFAULT_SOURCE)
target_compile_options(libashlar_profile PRIVATE -fno-optimize-sibling-calls -funwind-tables)
target_link_libraries(libashlar_profile PRIVATE Threads::Threads)
target_link_options(libashlar_profile PRIVATE LINKER:--no-as-needed -lgcc_s)
foreach(suffix IN ITEMS "" -hardened)
  if(TARGET ashlar_malloc${suffix})
    ashlar_add_libashlar_test(profile${suffix}.exit ${Python3_EXECUTABLE} "${CMAKE_CURRENT_SOURCE_DIR}/profile.py"
      $<TARGET_FILE:ashlar_malloc${suffix}> $<TARGET_FILE:libashlar_profile> exit)
  endif()
endforeach()
foreach(way IN ITEMS signal fork)
  ashlar_add_libashlar_test(profile.${way} ${Python3_EXECUTABLE} "${CMAKE_CURRENT_SOURCE_DIR}/profile.py"
    $<TARGET_FILE:ashlar_malloc> $<TARGET_FILE:libashlar_profile> ${way})
endforeach()
# Plugins of one size, so that the loader gives each the address of the one before.
foreach(plugin IN ITEMS one two)
  add_library(libashlar_profile_plugin_${plugin} MODULE profile_plugin.c)
  target_compile_definitions(libashlar_profile_plugin_${plugin} PRIVATE ALLOCATES=allocates_for_${plugin})
  target_compile_options(libashlar_profile_plugin_${plugin} PRIVATE -fno-builtin -fno-omit-frame-pointer
    -fno-optimize-sibling-calls)
endforeach()
ashlar_add_libashlar_test(profile.closed ${Python3_EXECUTABLE} "${CMAKE_CURRENT_SOURCE_DIR}/profile_closed.py"
  $<TARGET_FILE:ashlar_malloc> ${scenes} $<TARGET_FILE:libashlar_profile_plugin_one>
  $<TARGET_FILE:libashlar_profile_plugin_two>)
set(at_fork "${CMAKE_CURRENT_BINARY_DIR}/profile_at_fork.")
ashlar_add_libashlar_test(profile.signal_in_fork env "LD_PRELOAD=$<TARGET_FILE:ashlar_malloc>"
  "ASHLAR=stats=profile:${at_fork}%p,profile_signal=12" ${scenes} profile_at_fork ${at_fork})
