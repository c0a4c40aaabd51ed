#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# The common part of the verbs: progress, missing packages, configuring and building. Sourced, with the repository as
# the current directory.
set -euo pipefail

# shellcheck disable=SC2034 # used by the verbs
compile_packages=(clang-19 lld-19 g++ cmake ninja-build ccache patch)
# shellcheck disable=SC2034
command_packages=(libcli11-dev nlohmann-json3-dev libfmt-dev libzstd-dev libdw-dev libelf-dev libunwind-dev)
# shellcheck disable=SC2034
rival_packages=(libmimalloc2.0 libjemalloc2 libtcmalloc-minimal4)
# shellcheck disable=SC2034
bench_packages=(libbenchmark-dev libboost-dev libboost-container-dev libmimalloc-dev libjemalloc-dev libgoogle-perftools-dev
  libfoonathan-memory-dev)
# shellcheck disable=SC2034 # that run under each malloc
program_packages=(git sqlite3 lua5.4 perl gawk libxml2-utils xz-utils cppcheck sassc jq libjsoncpp-dev libyaml-cpp-dev)
# shellcheck disable=SC2034 # makers of packages, and the archives that a command for many machines is linked with
release_packages=(debhelper dpkg-dev libbz2-dev liblzma-dev python3 zlib1g-dev)
# shellcheck disable=SC2034 # for a machine without an operating system
bare_packages=(gcc-arm-none-eabi libstdc++-arm-none-eabi-dev libnewlib-dev)
# shellcheck disable=SC2034 # the oldest clang, what it needs for other processors, and qemu to run that (a g++ for these
# and g++-multilib would exclude each other)
processor_packages=(clang-16
  libstdc++-12-dev-arm64-cross libgcc-12-dev-arm64-cross libc6-dev-arm64-cross binutils-aarch64-linux-gnu qemu-user
  libstdc++-12-dev-s390x-cross libgcc-12-dev-s390x-cross libc6-dev-s390x-cross binutils-s390x-linux-gnu
  libstdc++-12-dev-riscv64-cross libgcc-12-dev-riscv64-cross libc6-dev-riscv64-cross binutils-riscv64-linux-gnu)
# shellcheck disable=SC2034 # what rooms need that use tools: all of room_packages
tool_packages=("${release_packages[@]}" meson pkgconf python3-venv heaptrack valgrind gdb lldb-19 musl-tools "${bare_packages[@]}"
  "${processor_packages[@]}")
# shellcheck disable=SC2034
windows_packages=(g++-mingw-w64-x86-64-posix wine64)
# shellcheck disable=SC2034
lint_packages=(clang-format-19 clang-tidy-19 shellcheck python3)

say() { printf '\n==> %s\n' "$*"; }

fail() {
  printf 'dev: %s\n' "$*" >&2
  exit 1
}

# Effects: verifies that the named Debian packages are installed, or names the missing ones and ends the verb.
# ASHLAR_ASSUME_PACKAGES=1 is for other systems that have them.
need() {
  [[ ${ASHLAR_ASSUME_PACKAGES:-0} != 1 ]] || return 0
  command -v dpkg-query >/dev/null || fail "this is not Debian, so nothing was installed. Needed, by their names in" \
    "Debian 12: $*. If you have all of these, say so: ASHLAR_ASSUME_PACKAGES=1 ./dev …"
  local package known missing=()
  known=$(dpkg-query -W -f '${db:Status-Status} ${Package}\n' "$@" 2>/dev/null) || true
  for package in "$@"; do
    [[ $'\n'$known$'\n' == *$'\n'"installed $package"$'\n'* || " ${missing[*]} " == *" $package "* ]] || missing+=("$package")
  done
  ((${#missing[@]} == 0)) || install_packages "${missing[@]}"
}

# Waits for another apt, and passes on the errors of apt.
install_packages() {
  local root=() log
  if ((EUID != 0)); then
    root=(sudo -n)
    sudo -n true 2>/dev/null || fail "packages are missing; run: sudo apt-get install -y --no-install-recommends $*"
  fi
  say "installing $*"
  mkdir -p build
  log=build/apt.log
  "${root[@]}" env DEBIAN_FRONTEND=noninteractive bash -c '
    apt-cache show --no-all-versions "$@" >/dev/null 2>&1 || apt-get update -qq || exit
    apt-get install -y -qq --no-install-recommends -o DPkg::Lock::Timeout=600 "$@"' bash "$@" >"$log" 2>&1 ||
    fail "could not install: $*. The end of apt's output (all of it is in $log):"$'\n'"$(tail -n 5 "$log")"
}

# configure <preset>: quiet unless it fails.
configure() {
  mkdir -p build
  local log="build/$1.configure.log"
  cmake --preset "$1" >"$log" 2>&1 || {
    cat "$log"
    return 1
  }
}

# build <preset> <target>…: shows its progress on a terminal, otherwise only errors; continues after an error, to show
# them all.
build() {
  local preset=$1 options=(-k 0 --quiet)
  shift
  [[ ! -t 1 ]] || options=(-k 0)
  cmake --build "build/$preset" -j "$(nproc)" --target "$@" -- "${options[@]}"
}
