# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# The library between the program and a system that refuses its reports, or another library in front of its calls.

# Reports without a reader, or refused by the system.
ashlar_add_c_program(libashlar_reported reported.c)
target_compile_options(libashlar_reported PRIVATE -fno-optimize-sibling-calls -funwind-tables)
target_link_options(libashlar_reported PRIVATE LINKER:--no-as-needed -lgcc_s)
ashlar_add_libashlar_test(reports.unwritten ${Python3_EXECUTABLE} "${CMAKE_CURRENT_SOURCE_DIR}/reported.py"
  $<TARGET_FILE:ashlar_malloc> $<TARGET_FILE:libashlar_reported>)

# Each library behind another one, in front of every function that it imports.
if(CMAKE_SYSTEM_PROCESSOR STREQUAL "x86_64")
  add_executable(libashlar_interposed interposed.cpp)
  target_compile_features(libashlar_interposed PRIVATE cxx_std_20)
  target_compile_options(libashlar_interposed PRIVATE -fno-builtin -fexceptions)
  target_link_libraries(libashlar_interposed PRIVATE ashlar_warnings Threads::Threads)
  target_link_options(libashlar_interposed PRIVATE LINKER:--no-as-needed -lgcc_s)
  foreach(library IN ITEMS ashlar_malloc ashlar_malloc-checked ashlar_malloc-hardened ashlar_malloc-route ashlar_record)
    if(TARGET ${library})
      ashlar_add_libashlar_test(interposed.${library} ${Python3_EXECUTABLE}
        "${CMAKE_CURRENT_SOURCE_DIR}/interposed.py" "${CMAKE_C_COMPILER}" $<TARGET_FILE:${library}>
        $<TARGET_FILE:libashlar_interposed>)
    endif()
  endforeach()
endif()
