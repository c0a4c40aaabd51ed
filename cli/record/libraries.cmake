# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Where `ashlar record` finds the library it preloads, from the directory of the command.
include(GNUInstallDirs)
set_source_files_properties(record/verb.cpp PROPERTIES
  COMPILE_DEFINITIONS "ASHLAR_LIBRARY_DIRECTORY=\"${CMAKE_INSTALL_LIBDIR}\"")

# What stands in the way of the recorder is read from the program's ELF headers.
find_library(ASHLAR_ELF_LIBRARY elf)
if(NOT ASHLAR_ELF_LIBRARY)
  message(FATAL_ERROR "The ashlar command needs libelf (Debian: libelf-dev); -DASHLAR_BUILD_CLI=OFF leaves it out")
endif()
target_link_libraries(ashlar_cli PRIVATE "${ASHLAR_ELF_LIBRARY}")
