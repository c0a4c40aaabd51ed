# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# libashlar: the malloc that programs take without being changed, as shared libraries, an archive and one object.
include(GNUInstallDirs)
option(ASHLAR_BUILD_MALLOC "Build libashlar, the drop-in malloc" ${PROJECT_IS_TOP_LEVEL})
set(ASHLAR_MALLOC_LEVELS "fast;checked;hardened" CACHE STRING "The checking levels that libashlar is built at")

# Returns in `reason`: why libashlar cannot be built here, or nothing.
function(ashlar_reason_against_malloc reason)
  set(why "")
  include(CheckCXXSymbolExists)
  string(TOUPPER "CMAKE_CXX_FLAGS_${CMAKE_BUILD_TYPE}" of_type)
  if(NOT CMAKE_SYSTEM_NAME STREQUAL "Linux")
    set(why "it replaces the malloc of Linux's C library, and this is ${CMAKE_SYSTEM_NAME}")
  elseif(NOT CMAKE_SIZEOF_VOID_P EQUAL 8 OR "${CMAKE_CXX_FLAGS} ${${of_type}}" MATCHES "-m32")
    set(why "it is for programs of 64 bits")
  elseif("${CMAKE_CXX_FLAGS} ${${of_type}}" MATCHES "-fsanitize=")
    set(why "a sanitizer replaces malloc itself")
  else()
    check_cxx_symbol_exists(__GLIBC__ stdlib.h ASHLAR_HAS_GLIBC)
    check_cxx_symbol_exists(mallinfo2 malloc.h ASHLAR_HAS_MALLINFO2)
    if(NOT ASHLAR_HAS_GLIBC)
      set(why "it is built with glibc, and then serves programs over musl too")
    elseif(NOT ASHLAR_HAS_MALLINFO2)
      set(why "it needs glibc 2.33 or later")
    endif()
  endif()
  set(${reason} "${why}" PARENT_SCOPE)
endfunction()

if(NOT ASHLAR_BUILD_MALLOC)
  return()
endif()
ashlar_reason_against_malloc(reason)
if(reason)
  message(STATUS "ashlar::malloc is left out: ${reason}")
  return()
endif()

# What most programs call, what they call rarely, and what stands on others of these.
set(ashlar_malloc_hot_sources blocks.cpp family.cpp heap_blocks.cpp new_delete.cpp)
set(ashlar_malloc_cold_sources api.cpp bad_alloc.cpp call_stack.cpp cold_code.cpp control.cpp error_stream.cpp
  guard_pool.cpp heap_objects.cpp heap_profile.cpp heaps.cpp options.cpp report.cpp sampled_blocks.cpp)
set(ashlar_malloc_derived_sources names_of_others.cpp operator_forms.cpp)

# The C++ library is not linked: a program in C has none.
set(ashlar_malloc_flags -fPIC -ffunction-sections -fdata-sections -fvisibility=hidden -fvisibility-inlines-hidden -fno-exceptions -fno-rtti
  -funwind-tables -fno-threadsafe-statics -ftls-model=initial-exec -fno-plt
  -fno-builtin-malloc -fno-builtin-calloc -fno-builtin-realloc -fno-builtin-free
  -DASHLAR_FOR_SIZE -DASHLAR_STAYS_LOADED -DASHLAR_MAY_LACK_GLIBC -DASHLAR_TELLS_OF_MAPS)
set(ashlar_malloc_link_flags -static-libgcc LINKER:--as-needed LINKER:-z,now LINKER:-z,relro LINKER:-z,initfirst
  LINKER:--gc-sections LINKER:-z,nodelete LINKER:--no-undefined "LINKER:--version-script=${CMAKE_CURRENT_SOURCE_DIR}/exports.map")
# Speed counts even in a debug build of everything else. Each page of code is one more to be mapped in each process.
set(ashlar_malloc_hot_flags -O2)
set(ashlar_malloc_router_flags -O2)
set(ashlar_malloc_cold_flags -Os)
if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
  # By clang malloc and free have as many instructions at -Os. The loops of a heap run a few times each.
  set(ashlar_malloc_hot_flags -Os)
  set(ashlar_malloc_cold_flags -Oz)
  list(APPEND ashlar_malloc_router_flags -fno-unroll-loops -fno-vectorize -fno-slp-vectorize)
  list(APPEND ashlar_malloc_flags -fno-profile-instr-generate -fno-coverage-mapping)
  list(APPEND ashlar_malloc_link_flags -nostdlib++)
else()
  list(APPEND ashlar_malloc_link_flags -nodefaultlibs)
  # An alias need not repeat the attributes of its target, nor take as many arguments. A heap without parts of threads
  # frees to none of them. Operators delete with a size and without are in two files.
  list(APPEND ashlar_malloc_flags -Wno-missing-attributes -Wno-attribute-alias -Wno-nonnull -Wno-sized-deallocation
    -fno-gnu-unique)
endif()

# ashlar_add_malloc_object(<name> <number of the level> <flags> <source>…): one translation unit.
function(ashlar_add_malloc_object object number flags)
  add_library(${object} OBJECT ${ARGN})
  set_target_properties(${object} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 0 DISABLE_PRECOMPILE_HEADERS ON)
  target_include_directories(${object} PRIVATE "${PROJECT_SOURCE_DIR}")
  target_compile_options(${object} PRIVATE ${ashlar_malloc_flags} ${flags} -UNDEBUG -DNDEBUG
    -UASHLAR_CHECKING -DASHLAR_CHECKING=${number})
  target_link_libraries(${object} PRIVATE ashlar::ashlar $<TARGET_NAME_IF_EXISTS:ashlar_warnings>)
endfunction()

# pthread_atfork of a library that is built with glibc, and dlopen. In a static program those of glibc serve.
ashlar_add_malloc_object(ashlar_malloc_shared_parts 0 "${ashlar_malloc_cold_flags};-foptimize-sibling-calls"
  deep_binding.cpp fork_handlers.cpp)

# ashlar_add_malloc_library(<suffix> <object>…): a shared library. Of what two objects have, a linker takes that of the
# first.
function(ashlar_add_malloc_library suffix)
  set(library ashlar_malloc${suffix})
  add_library(${library} SHARED ${ARGN} $<TARGET_OBJECTS:ashlar_malloc_shared_parts>)
  set_target_properties(${library} PROPERTIES OUTPUT_NAME "ashlar${suffix}" SOVERSION 1 VERSION 1.0
    EXPORT_NAME "malloc${suffix}" LINKER_LANGUAGE CXX LIBRARY_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/lib"
    LINK_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/exports.map")
  target_link_options(${library} PRIVATE ${ashlar_malloc_link_flags})
  if(NOT CMAKE_CXX_COMPILER_ID MATCHES "Clang")
    target_link_libraries(${library} PRIVATE c gcc)
  endif()
endfunction()

# ashlar_add_malloc(<level> <number> <suffix>): three translation units and the library for programs.
function(ashlar_add_malloc level number suffix)
  ashlar_add_malloc_object(ashlar_malloc_hot_${level} ${number} "${ashlar_malloc_hot_flags}" ${ashlar_malloc_hot_sources})
  ashlar_add_malloc_object(ashlar_malloc_cold_${level} ${number} "${ashlar_malloc_cold_flags}"
    ${ashlar_malloc_cold_sources})
  ashlar_add_malloc_object(ashlar_malloc_derived_${level} ${number} "${ashlar_malloc_hot_flags};-fexceptions"
    ${ashlar_malloc_derived_sources})
  ashlar_add_malloc_library("${suffix}" $<TARGET_OBJECTS:ashlar_malloc_hot_${level}>
    $<TARGET_OBJECTS:ashlar_malloc_cold_${level}> $<TARGET_OBJECTS:ashlar_malloc_derived_${level}>)
  add_library(ashlar::malloc${suffix} ALIAS ashlar_malloc${suffix})
  target_include_directories(ashlar_malloc${suffix} INTERFACE "$<BUILD_INTERFACE:${CMAKE_CURRENT_SOURCE_DIR}>"
    "$<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>")
endfunction()

set(ashlar_malloc_libraries "")
set(ashlar_known_levels fast checked hardened)
foreach(level IN LISTS ASHLAR_MALLOC_LEVELS)
  list(FIND ashlar_known_levels "${level}" number)
  if(number EQUAL -1)
    message(FATAL_ERROR "ASHLAR_MALLOC_LEVELS: there is no level ${level}; there are fast, checked and hardened")
  endif()
  string(REPLACE "-fast" "" suffix "-${level}")
  ashlar_add_malloc(${level} ${number} "${suffix}")
  list(APPEND ashlar_malloc_libraries ashlar_malloc${suffix})
endforeach()

# The level hardened also has copies that do not write beside blocks, as an object of its own: `--wrap` gives the others
# those of the system.
if(TARGET ashlar_malloc-hardened)
  set(copies ashlar_malloc_copies)
  ashlar_add_malloc_object(${copies} 2 "-O2;-U_FORTIFY_SOURCE" guarded_copy.cpp)
  set(map "${PROJECT_BINARY_DIR}/malloc/exports-hardened.map")
  file(READ exports.map names)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS exports.map)
  string(REPLACE "\n  local:" "\n    memcpy; memmove; memset; strcpy;\n  local:" names "${names}")
  file(CONFIGURE OUTPUT "${map}" CONTENT "${names}" @ONLY)
  get_target_property(options ashlar_malloc-hardened LINK_OPTIONS)
  string(REPLACE "${CMAKE_CURRENT_SOURCE_DIR}/exports.map" "${map}" options "${options}")
  list(APPEND options LINKER:--wrap=memcpy LINKER:--wrap=memmove LINKER:--wrap=memset)
  set_target_properties(ashlar_malloc-hardened PROPERTIES LINK_OPTIONS "${options}")
  target_sources(ashlar_malloc-hardened PRIVATE $<TARGET_OBJECTS:${copies}>)
endif()

# ashlar.o, for static programs: a linker takes malloc from it, and all of the family with it. Its hidden names are
# local, so that it meets a program with the headers of this library.
find_program(ASHLAR_LD NAMES ld.bfd ld)
if(TARGET ashlar_malloc AND ASHLAR_LD AND CMAKE_OBJCOPY)
  set(ashlar_object "${PROJECT_BINARY_DIR}/lib/ashlar.o")
  ashlar_add_malloc_object(ashlar_malloc_static_start 0 "${ashlar_malloc_cold_flags}" static_start.cpp)
  set(ashlar_objects $<TARGET_OBJECTS:ashlar_malloc_hot_fast> $<TARGET_OBJECTS:ashlar_malloc_cold_fast>
    $<TARGET_OBJECTS:ashlar_malloc_derived_fast> $<TARGET_OBJECTS:ashlar_malloc_static_start>)
  add_custom_command(OUTPUT "${ashlar_object}"
    COMMAND "${ASHLAR_LD}" -r --force-group-allocation -o "${ashlar_object}.all" ${ashlar_objects}
    COMMAND "${CMAKE_OBJCOPY}" --localize-hidden "${ashlar_object}.all" "${ashlar_object}"
    COMMAND "${CMAKE_COMMAND}" -E rm "${ashlar_object}.all"
    DEPENDS ${ashlar_objects} COMMAND_EXPAND_LISTS VERBATIM)
  set(ashlar_archive "${PROJECT_BINARY_DIR}/lib/libashlar.a")
  add_custom_command(OUTPUT "${ashlar_archive}"
    COMMAND "${CMAKE_COMMAND}" -E rm -f "${ashlar_archive}"
    COMMAND "${CMAKE_AR}" rcs "${ashlar_archive}" "${ashlar_object}" DEPENDS "${ashlar_object}" VERBATIM)
  add_custom_target(ashlar_malloc_files ALL DEPENDS "${ashlar_object}" "${ashlar_archive}")
  add_library(ashlar_malloc_static INTERFACE)
  add_library(ashlar::malloc_static ALIAS ashlar_malloc_static)
  set_target_properties(ashlar_malloc_static PROPERTIES EXPORT_NAME malloc_static)
  add_dependencies(ashlar_malloc_static ashlar_malloc_files)
  target_include_directories(ashlar_malloc_static INTERFACE "$<BUILD_INTERFACE:${CMAKE_CURRENT_SOURCE_DIR}>"
    "$<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>")
  # An option comes in front of the program's objects, whose early handlers of forks then find those of the malloc.
  target_link_options(ashlar_malloc_static INTERFACE "$<BUILD_INTERFACE:${ashlar_object}>"
    "$<INSTALL_INTERFACE:${ashlar_installed_objects}/ashlar.o>")
  set_property(TARGET ashlar_malloc_static APPEND PROPERTY INTERFACE_LINK_DEPENDS "$<BUILD_INTERFACE:${ashlar_object}>")
endif()

# libashlar-route.so: the objects of libashlar, whose exports that take or make blocks have other names there, behind
# functions of the same names that route calls by their site. route/family.cpp declares them.
set(ashlar_routed_names malloc free calloc realloc malloc_usable_size rallocx xallocx
  sdallocx _Znwm ashlar_realloc ashlar_free_sized ashlar_usable_size ashlar_try_expand ashlar_heap_free
  ashlar_heap_realloc ashlar_heap_aligned_realloc ashlar_heap_of cfree ashlar_free __libc_free __libc_cfree ashlar_malloc __libc_malloc __libc_calloc
  __libc_realloc _ZdlPv _ZdlPvSt11align_val_t _Znam _ZdaPv)
if(TARGET ashlar_malloc AND CMAKE_OBJCOPY)
  set(ashlar_unrouted_objects "")
  list(TRANSFORM ashlar_routed_names REPLACE "(.+)" "--redefine-sym=\\1=ashlar_unrouted_\\1" OUTPUT_VARIABLE renamings)
  foreach(part IN ITEMS hot cold)
    set(object "${PROJECT_BINARY_DIR}/malloc/unrouted_${part}.o")
    add_custom_command(OUTPUT "${object}"
      COMMAND "${CMAKE_OBJCOPY}" ${renamings} "$<TARGET_OBJECTS:ashlar_malloc_${part}_fast>" "${object}"
      DEPENDS "$<TARGET_OBJECTS:ashlar_malloc_${part}_fast>" VERBATIM)
    list(APPEND ashlar_unrouted_objects "${object}")
  endforeach()
  ashlar_add_malloc_object(ashlar_malloc_router 0 "${ashlar_malloc_router_flags}" route/family.cpp route/group.cpp
    route/sites.cpp route/threads.cpp)
  ashlar_add_malloc_library(-route ${ashlar_unrouted_objects} $<TARGET_OBJECTS:ashlar_malloc_router>
    $<TARGET_OBJECTS:ashlar_malloc_derived_fast>)
  add_dependencies(ashlar_malloc-route ashlar_malloc_hot_fast ashlar_malloc_cold_fast)
  set_source_files_properties(${ashlar_unrouted_objects} PROPERTIES EXTERNAL_OBJECT ON GENERATED ON)
endif()

if(ASHLAR_INSTALL)
  install(TARGETS ${ashlar_malloc_libraries} EXPORT ashlar_malloc_targets
    LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}")
  install(FILES ashlar_malloc.h DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}")
  if(TARGET ashlar_malloc-route)
    install(TARGETS ashlar_malloc-route LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}")
  endif()
  if(TARGET ashlar_malloc_static)
    install(TARGETS ashlar_malloc_static EXPORT ashlar_malloc_targets)
    install(FILES "${ashlar_object}" "${ashlar_archive}" DESTINATION "${CMAKE_INSTALL_LIBDIR}")
  endif()
  install(EXPORT ashlar_malloc_targets NAMESPACE ashlar:: DESTINATION "${ashlar_package_dir}")
  configure_file("${PROJECT_SOURCE_DIR}/packaging/pkgconfig/ashlar-malloc.pc.in"
    "${PROJECT_BINARY_DIR}/ashlar-malloc.pc" @ONLY)
  install(FILES "${PROJECT_BINARY_DIR}/ashlar-malloc.pc" DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig")
endif()
