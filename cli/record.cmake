# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Where `ashlar record` finds the library it preloads, from the directory of the command.
include(GNUInstallDirs)
set_source_files_properties(record.cpp PROPERTIES
  COMPILE_DEFINITIONS "ASHLAR_LIBRARY_DIRECTORY=\"${CMAKE_INSTALL_LIBDIR}\"")
