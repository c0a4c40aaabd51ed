# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# `ashlar replay` prints with fmt and writes JSON; its replays run on threads.
find_package(fmt QUIET)
find_package(nlohmann_json QUIET)
find_package(Threads REQUIRED)
if(NOT fmt_FOUND OR NOT nlohmann_json_FOUND)
  message(FATAL_ERROR "The ashlar command needs fmt and nlohmann-json (Debian: libfmt-dev nlohmann-json3-dev); "
    "-DASHLAR_BUILD_CLI=OFF leaves it out")
endif()
set(ashlar_fmt fmt::fmt)
if(ASHLAR_CLI_PORTABLE)
  set(ashlar_fmt fmt::fmt-header-only)
endif()
target_link_libraries(ashlar_cli_verbs PUBLIC ${ashlar_fmt} nlohmann_json::nlohmann_json Threads::Threads)
