# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# `ashlar report` names call sites with libdw (elfutils).
find_path(ASHLAR_DW_DIR elfutils/libdwfl.h)
find_library(ASHLAR_DW_LIBRARY dw)
if(NOT ASHLAR_DW_DIR OR NOT ASHLAR_DW_LIBRARY)
  message(FATAL_ERROR "The ashlar command needs libdw (Debian: libdw-dev); -DASHLAR_BUILD_CLI=OFF leaves it out")
endif()
target_include_directories(ashlar_cli_verbs SYSTEM PUBLIC "${ASHLAR_DW_DIR}")
target_link_libraries(ashlar_cli_verbs PUBLIC "${ASHLAR_DW_LIBRARY}")
