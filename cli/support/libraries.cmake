# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# The command finds its shared libraries from its own directory, wherever an installation is moved.
include(GNUInstallDirs)
file(RELATIVE_PATH ashlar_library_directory "${CMAKE_INSTALL_FULL_BINDIR}" "${CMAKE_INSTALL_FULL_LIBDIR}")
target_compile_definitions(ashlar_cli_verbs PRIVATE "ASHLAR_LIBRARY_DIRECTORY=\"${ashlar_library_directory}\"")

# The reason why nothing can be loaded into a program is read from its ELF headers.
find_library(ASHLAR_ELF_LIBRARY elf)
if(NOT ASHLAR_ELF_LIBRARY)
  message(FATAL_ERROR "The ashlar command needs libelf (Debian: libelf-dev); -DASHLAR_BUILD_CLI=OFF leaves it out")
endif()
target_link_libraries(ashlar_cli_verbs PUBLIC "${ASHLAR_ELF_LIBRARY}")
