#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Lints, then builds and runs the tests in every configuration. Ends with one line that counts all of them.
source scripts/dev/common.sh

all=(lint outside gcc asan tsan noexcept m32)
wanted=("${@:-${all[@]}}")
results=build/results

packages_for() {
  case $1 in
    lint) echo "${lint_packages[@]}" "${command_packages[@]}" ;;
    outside | dev) echo googletest python3 sqlite3 "${command_packages[@]}" "${rival_packages[@]}" \
      "${bench_packages[@]}" "${tool_packages[@]}" ;;
    asan) echo googletest python3 libclang-rt-19-dev libcli11-dev ;;
    tsan) echo googletest python3 libclang-rt-19-dev ;;
    gcc | noexcept) echo googletest python3 ;;
    m32) echo googletest python3 g++-multilib ;;
    *) fail "test: no configuration '$1'; there are: ${all[*]} dev" ;;
  esac
}

# step <name> <command>…: runs it and notes whether it passed.
step() {
  local name=$1 outcome=passed
  shift
  "$@" || outcome=failed
  echo "$outcome $name" >>"$results/steps"
  [[ $outcome == passed ]]
}

run_tests() {
  local log=build/$1/ctest.log
  rm -rf "build/$1/gtest"
  ctest --test-dir "build/$1" -j "$(nproc)" --no-tests=error --output-on-failure \
    --output-junit "$PWD/$results/$1.xml" >"$log" 2>&1 || grep -vE ' Passed +[0-9.]+ sec$|^ +Start +[0-9]+:' "$log"
  grep -E '^[0-9]+% tests passed' "$log"
}

# g++ compiles each header alone; clang, with the same standard library, finds no further errors in that.
targets_of() {
  case $1 in
    gcc) echo all all_verify_interface_header_sets ;;
    *) echo all ;;
  esac
}

# libc++ for the tests that need it: unpacked beside the builds, since Debian's package removes libunwind-dev.
unpack_libcxx() {
  [[ $1 != outside && $1 != dev && $1 != noexcept ]] || bash tests/libcxx/unpack.sh build/libcxx
}

test_configuration() {
  local targets
  unpack_libcxx "$1"
  read -ra targets <<<"$(targets_of "$1")"
  say "$1: building"
  step "$1: configure" configure "$1" || return 0
  step "$1: build" build "$1" "${targets[@]}" || true
  say "$1: testing"
  run_tests "$1" || true
}

packages=()
for name in "${wanted[@]}"; do
  list=$(packages_for "$name")
  read -ra more <<<"$list"
  packages+=("${more[@]}")
done
need "${compile_packages[@]}" "${packages[@]}"

rm -rf "$results"
mkdir -p "$results"
for name in "${wanted[@]}"; do
  if [[ $name == lint ]]; then
    say "lint"
    step "lint" bash scripts/dev/lint.sh quick || true
    step "lint: each rule catches its planted faults" python3 scripts/lint.py --self-test || true
  else
    test_configuration "$name"
  fi
done
say "all of it"
python3 scripts/dev/tally.py "$results"
