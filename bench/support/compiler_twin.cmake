# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# ashlar_compiler_twin(<bench> <source> [shared library…]): in Release, the bench's source by the other compiler, clang++ or g++.
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  set(ashlar_twin clang)
  find_program(ASHLAR_BENCH_OTHER_COMPILER NAMES clang++-19 clang++)
else()
  set(ashlar_twin gcc)
  find_program(ASHLAR_BENCH_OTHER_COMPILER NAMES g++ g++-14 g++-13 g++-12)
endif()

function(ashlar_compiler_twin name source)
  if(NOT CMAKE_BUILD_TYPE STREQUAL "Release")
    return()
  endif()
  if(NOT ASHLAR_BENCH_OTHER_COMPILER)
    message(STATUS "bench: no ${ashlar_twin}: ${name} without the rows by it")
    return()
  endif()
  set(twin ${CMAKE_CURRENT_BINARY_DIR}/${name}_${ashlar_twin})
  set(twin_is "-DASHLAR_BENCH_TWIN=\"${ashlar_twin}\"")
  separate_arguments(flags UNIX_COMMAND "${CMAKE_CXX_FLAGS_RELEASE}")
  list(TRANSFORM CMAKE_DL_LIBS PREPEND -l OUTPUT_VARIABLE libraries)
  foreach(library IN LISTS ARGN)
    list(APPEND libraries $<TARGET_FILE:${library}>)
  endforeach()
  add_custom_command(
    OUTPUT ${twin}
    COMMAND ${ASHLAR_BENCH_OTHER_COMPILER} -std=c++20 ${flags} -I${PROJECT_SOURCE_DIR}/include -I${CMAKE_CURRENT_SOURCE_DIR}
            -DASHLAR_BENCH_HAS_BOOST=0 ${twin_is} -DASHLAR_BENCH_IS_TWIN -MD -MF ${twin}.d -MT ${twin}
            ${CMAKE_CURRENT_SOURCE_DIR}/support/main.cpp ${CMAKE_CURRENT_SOURCE_DIR}/${source} -o ${twin}
            -Wl,-rpath,${CMAKE_CURRENT_BINARY_DIR} ${libraries}
    DEPENDS ${source} support/main.cpp ${ARGN}
    DEPFILE ${twin}.d
    VERBATIM)
  add_custom_target(bench_${name}_${ashlar_twin} ALL DEPENDS ${twin})
  target_compile_options(bench_${name} PRIVATE ${twin_is})
endfunction()
