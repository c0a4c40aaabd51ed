# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Programs that replace some operators new and delete: themselves, by a library, by a module that they open.
set(forms "${here}/operator_forms")
add_library(libashlar_forms_caller OBJECT "${forms}/caller.cpp")
set_target_properties(libashlar_forms_caller PROPERTIES POSITION_INDEPENDENT_CODE ON)
target_compile_features(libashlar_forms_caller PRIVATE cxx_std_20)
target_include_directories(libashlar_forms_caller PRIVATE "${PROJECT_SOURCE_DIR}")
target_compile_options(libashlar_forms_caller PRIVATE -O1 -fno-builtin -fexceptions -fsized-deallocation
  -Wno-deprecated-declarations)  # of the buffer of stable_sort

# ashlar_add_forms(<name> <macro>…): the programs of a set of replaced forms.
set(forms_in_program "")
set(forms_in_library "")
set(forms_in_module "")
function(ashlar_add_forms name)
  set(replaced libashlar_forms_${name})
  add_library(${replaced} OBJECT "${forms}/replaced.cpp")
  set_target_properties(${replaced} PROPERTIES POSITION_INDEPENDENT_CODE ON)
  target_compile_definitions(${replaced} PRIVATE ${ARGN})
  target_compile_features(${replaced} PRIVATE cxx_std_20)
  target_compile_options(${replaced} PRIVATE -fno-builtin -fexceptions -Wno-unused)
  set(caller $<TARGET_OBJECTS:libashlar_forms_caller>)
  add_executable(${replaced}_program ${caller} $<TARGET_OBJECTS:${replaced}>)
  add_library(${replaced}_library SHARED $<TARGET_OBJECTS:${replaced}>)
  add_executable(${replaced}_by_library ${caller})
  target_link_libraries(${replaced}_by_library PRIVATE ${replaced}_library)
  add_library(${replaced}_module MODULE $<TARGET_OBJECTS:libashlar_forms_caller> $<TARGET_OBJECTS:${replaced}>)
  set_target_properties(${replaced}_program ${replaced}_library ${replaced}_by_library ${replaced}_module
    PROPERTIES LINKER_LANGUAGE CXX)
  list(APPEND forms_in_program -- $<TARGET_FILE:${replaced}_program>)
  list(APPEND forms_in_library -- $<TARGET_FILE:${replaced}_by_library>)
  list(APPEND forms_in_module -- ${scenes} module $<TARGET_FILE:${replaced}_module>)
  foreach(list IN ITEMS forms_in_program forms_in_library forms_in_module)
    set(${list} "${${list}}" PARENT_SCOPE)
  endforeach()
endfunction()
foreach(row IN ITEMS "new NEW" "basic NEW DELETE" "basic_nothrow NEW DELETE NOTHROW" "basic_array NEW DELETE ARRAY"
    "basic_sized NEW DELETE SIZED" "basic_aligned NEW DELETE ALIGNED" "engine NEW DELETE ARRAY SIZED"
    "all NEW DELETE ARRAY SIZED NOTHROW ALIGNED" "array ARRAY" "aligned ALIGNED" "nothrow NOTHROW")
  separate_arguments(row)
  ashlar_add_forms(${row})
endforeach()
# A program that has the C++ library in it, and opens a module that is linked with another.
add_executable(libashlar_forms_opener "${here}/scenes.c" $<TARGET_OBJECTS:libashlar_forms_basic>)
set_target_properties(libashlar_forms_opener PROPERTIES LINKER_LANGUAGE CXX ENABLE_EXPORTS ON)
target_compile_definitions(libashlar_forms_opener PRIVATE _GNU_SOURCE)
target_link_options(libashlar_forms_opener PRIVATE -static-libstdc++)
target_link_libraries(libashlar_forms_opener PRIVATE Threads::Threads ${CMAKE_DL_LIBS})
list(APPEND forms_in_module -- $<TARGET_FILE:libashlar_forms_opener> module
  $<TARGET_FILE:libashlar_forms_basic_module>)

# With a library in front.
set(compare ${python} "${forms}/compare.py")
foreach(library IN LISTS mallocs)
  set(variables "LD_PRELOAD=$<TARGET_FILE:${library}>" ASHLAR_RECORD_STACKS=16
    "ASHLAR_RECORD_FILE=${CMAKE_CURRENT_BINARY_DIR}/operator_forms.trace")
  ashlar_add_libashlar_test(operator_forms.${library}.in_program ${compare} --exact ${variables} ${forms_in_program})
  ashlar_add_libashlar_test(operator_forms.${library}.in_library ${compare} ${variables} ${forms_in_library})
  ashlar_add_libashlar_test(operator_forms.${library}.in_module ${compare} ${variables} ${forms_in_module})
endforeach()

# The same, linked with it.
set(forms_linked "")
function(ashlar_link_forms name way library)
  set(program libashlar_forms_${name}_${way})
  add_executable(${program} $<TARGET_OBJECTS:libashlar_forms_caller> $<TARGET_OBJECTS:libashlar_forms_${name}>)
  set_target_properties(${program} PROPERTIES LINKER_LANGUAGE CXX)
  target_link_libraries(${program} PRIVATE ${library})
  list(APPEND forms_linked -- $<TARGET_FILE:${program}>)
  set(forms_linked "${forms_linked}" PARENT_SCOPE)
endfunction()
foreach(name IN ITEMS basic basic_array)
  ashlar_link_forms(${name} linked ashlar::malloc)
  if(TARGET ashlar_malloc_static)
    ashlar_link_forms(${name} object ashlar::malloc_static)
    ashlar_link_forms(${name} static ashlar::malloc_static)
    target_link_options(libashlar_forms_${name}_static PRIVATE -static)
  endif()
endforeach()
ashlar_add_libashlar_test(operator_forms.linked ${compare} ${forms_linked})
