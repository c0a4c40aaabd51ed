# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# The toolchain for aarch64 on another machine: clang, Debian's libraries for cross compilation and, in the folder
# ASHLAR_SYSROOT, those that sysroot.sh unpacks. What has no code, such as CLI11, is the machine's own.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)
set(CMAKE_CXX_COMPILER clang++-19)
set(CMAKE_CXX_COMPILER_TARGET aarch64-linux-gnu)
set(CMAKE_OBJCOPY aarch64-linux-gnu-objcopy)
set(CMAKE_STRIP aarch64-linux-gnu-strip)
set(ASHLAR_LD aarch64-linux-gnu-ld)
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64 -L /usr/aarch64-linux-gnu)
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES ASHLAR_SYSROOT)
set(CMAKE_FIND_ROOT_PATH "${ASHLAR_SYSROOT}" /usr/aarch64-linux-gnu)
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
