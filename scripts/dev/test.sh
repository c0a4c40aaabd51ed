#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Lints, then builds and runs the tests in every configuration, or in those named. `quick` lints and runs every room
# once; the name of a room runs that room alone; `cli` runs the tests of the command, `cli/<verb>` those of one verb. Ends
# with a table of the seconds that each took, and with one line that counts all of the tests.
source scripts/dev/common.sh

all=(noexcept lint outside gcc asan tsan mingw m32)
wanted=("${@:-${all[@]}}")
[[ $* != quick ]] || wanted=(lint quick)
results=build/results

packages_for() {
  case $1 in
    lint) echo "${lint_packages[@]}" "${command_packages[@]}" ;;
    outside | dev) echo libgtest-dev python3 python3-jsonschema sqlite3 "${command_packages[@]}" "${rival_packages[@]}" \
      "${bench_packages[@]}" "${tool_packages[@]}" ;;
    quick) echo libgtest-dev python3 "${tool_packages[@]}" ;;
    asan) echo googletest python3 libclang-rt-19-dev libcli11-dev ;;
    tsan) echo googletest python3 libclang-rt-19-dev ;;
    gcc | noexcept) echo libgtest-dev python3 ;;
    m32) echo googletest python3 g++-multilib ;;
    mingw) echo googletest python3 "${windows_packages[@]}" ;;
    cli | cli/*) echo libgtest-dev python3 python3-jsonschema sqlite3 heaptrack "${command_packages[@]}" "${rival_packages[@]}" ;;
    *) is_room "$1" || fail_unknown "$1"; echo libgtest-dev python3 && room_packages "$1" ;;
  esac
}

# What a room needs besides: its tests use tools.
room_packages() {
  case $1 in
    consumer) echo "${release_packages[@]}" meson pkgconf ;;
    debuggers) echo gdb lldb-19 ;;
    docs_site) echo git python3-venv ;;
    freestanding) echo "${bare_packages[@]}" ;;
    libashlar | threads) echo musl-tools ;;
    processors) echo "${processor_packages[@]}" ;;
    visibility) echo heaptrack valgrind ;;
  esac
}

# A folder of tests is a room; that of a mechanism, detail/<mechanism>, has the name detail_<mechanism>.
folder_of() { echo "tests/${1/#detail_/detail/}"; }

has_rules() { [[ -f $(folder_of "$1")/CMakeLists.txt ]]; }

# The room `windows` is for the configuration mingw alone.
is_room() {
  [[ $1 != cli/* ]] || { [[ -d cli/tests/${1#cli/} ]] && return; }
  [[ $1 != windows && $1 != */* && $1 != detail ]] && { has_rules "$1" || compgen -G "$(folder_of "$1")/*.test.cpp" >/dev/null; }
}

fail_unknown() {
  local folder name rooms=()
  for folder in tests/*/ tests/detail/*/; do
    name=${folder#tests/} name=${name%/} name=${name/#detail\//detail_}
    if is_room "$name"; then rooms+=("$name"); fi
  done
  fail "test: no configuration and no room '$1'. Configurations: ${all[*]} quick dev. Rooms: ${rooms[*]} cli"
}

# step <name> <command>…: runs it and notes whether it passed.
step() {
  local name=$1 outcome=passed
  shift
  "$@" || outcome=failed
  echo "$outcome $name" >>"$results/steps"
  [[ $outcome == passed ]]
}

# timed <configuration> <build or tests> <command>…: runs it and notes how long that took, and the processor's time. A
# shell of its own, since bash adds the time of jobs in the background that end meanwhile.
timed() (
  TIMEFORMAT="$1 $2 %R %U %S"
  shift 2
  { time "$@" 2>&3; } 3>&2 2>>"$results/seconds"
)

# run_tests <results> <folder of the build> <option of ctest>…
# Freed blocks that AddressSanitizer keeps, 256 MiB by default, make each fork of a test slower.
run_tests() {
  local log=build/$1.ctest.log
  ASAN_OPTIONS=${ASAN_OPTIONS:-quarantine_size_mb=16} ctest --test-dir "$2" -j "$(nproc)" --no-tests=error \
    --output-on-failure --output-junit "$PWD/$results/$1.xml" "${@:3}" >"$log" 2>&1 || grep -vE ' Passed +[0-9.]+ sec$|^ +Start +[0-9]+:' "$log"
  grep -E '^[0-9]+% tests passed' "$log"
  [[ $1 != mingw || ! -e build/wine/run-again ]] || cat build/wine/run-again
}

# One compiler compiles each public header alone; another, with the same standard library, finds no further errors.
targets_of() {
  case $1 in
    outside) echo all headers_alone ;;
    *) echo all ;;
  esac
}

# Comparisons of compile times take a minute of their own, the site half of one.
selection_of() { [[ $1 != quick ]] || echo "-E ^compile_time|^docs\\.(site|versions)$"; }

# libc++ for the tests that need it: unpacked beside the builds, since Debian's package removes libunwind-dev.
unpack_libcxx() {
  [[ $1 != outside && $1 != dev && $1 != quick ]] || bash tests/libcxx/unpack.sh build/libcxx
}

# Builds a configuration while the tests of those before it run: both have a last long job that leaves cores idle.
test_configuration() {
  local targets selection
  read -ra targets <<<"$(targets_of "$1")"
  say "$1: building"
  step "$1: build" timed "$1" build build "$1" "${targets[@]}" || true
  rm -rf "build/$1/gtest"
  [[ $1 != mingw ]] || rm -f build/wine/run-again
  read -ra selection <<<"$(selection_of "$1")"
  begin "$1" in_turn timed "$1" tests run_tests "$1" "build/$1" "${selection[@]}"
  report_ended
}

# in_turn <command>…: runs it when no other such command runs. What it starts may outlive it, and does not hold its turn.
in_turn() {
  {
    flock 9
    "$@" 9>&-
  } 9>build/turn
}

# begin <name> <command>…: runs it in the background, for `report_ended` to print what it said.
under_way=()
begin() {
  local log=build/$1.tests.log
  rm -f "$log"
  { "${@:2}" >"$log.begun" 2>&1 || true; mv "$log.begun" "$log"; } &
  under_way+=("$1")
}

# Effects: prints what commands in the background said, in their order, up to the first that has not ended.
report_ended() {
  while ((${#under_way[@]} > 0)) && [[ -e build/${under_way[0]}.tests.log ]]; do
    say "${under_way[0]}" && cat "build/${under_way[0]}.tests.log"
    under_way=("${under_way[@]:1}")
  done
}

# Those of cli/tests/<verb>, also instantiated ones, as a filter.
suites_of() {
  grep -ohP '^TEST(_F|_P)?\(\K\w+' "cli/tests/$1"/*.test.cpp | sort -u | sed 's:.*:&.*\:*/&.*:' | paste -sd:
}

# A room with rules of its own is a folder of the build too; another is one target. The command has a build of its own.
test_room() {
  local folder target preset=quick selection=()
  folder=$(folder_of "$1")
  if [[ $1 == cli ]]; then
    preset=outside folder=cli target="cli/all malloc/all"
  elif [[ $1 == cli/* ]]; then
    preset=outside folder=cli target=test_cli selection=(-R '^cli\.')
    local -x GTEST_FILTER
    GTEST_FILTER=$(suites_of "${1#cli/}")
  elif has_rules "$1"; then
    target=$folder/all
    [[ $1 != libashlar && $1 != malloc ]] || target+=" malloc/all"
  else
    target=test_$1 folder=. selection=(-R "^$1\.")
  fi
  [[ $1 != libcxx ]] || unpack_libcxx quick
  say "$1: building"
  step "$1: configure" timed "$1" build configure "$preset" || return 0
  # shellcheck disable=SC2086 # the targets are words
  step "$1: build" timed "$1" build build "$preset" $target || true
  say "$1: testing"
  rm -rf "build/$preset/gtest"
  timed "$1" tests run_tests "$preset.${1//\//.}" "build/$preset/$folder" "${selection[@]}" || true
}

# need_for <name>…: the packages of all of them.
need_for() {
  local name list more packages=()
  for name in "$@"; do
    list=$(packages_for "$name")
    read -ra more <<<"${list//$'\n'/ }"
    packages+=("${more[@]}")
  done
  need "${compile_packages[@]}" "${packages[@]}"
}

configure_for() {
  unpack_libcxx "$1"
  step "$1: configure" timed "$1" build configure "$1" || true
}

lint() {
  step "lint" bash scripts/dev/lint.sh quick || true
  step "lint: each rule catches its planted faults" python3 scripts/lint.py --self-test || true
}

is_configuration() { [[ $1 != lint && $1 != cli ]] && ! is_room "$1"; }

# The first configuration, whose tests start no tools, is built while the packages of the others are installed.
first=
for name in "${wanted[@]}"; do packages_for "$name" >/dev/null; done # or it ends here, before any work
if ((${#wanted[@]} > 1)) && is_configuration "${wanted[0]}"; then first=${wanted[0]}; fi
need_for "${first:-${wanted[@]}}"

rm -rf "$results"
mkdir -p "$results"
trap 'trap - TERM && kill 0' INT # a job in the background ignores the interrupt

if [[ -n $first ]]; then
  need_for "${wanted[@]}" &
  installing=$!
  configure_for "$first"
  test_configuration "$first"
  wait "$installing"
fi

# To lint and to configure take one core each, so they run beside each other.
[[ " ${wanted[*]} " != *" lint "* ]] || begin lint timed lint tests lint
for name in "${wanted[@]}"; do
  [[ $name == "$first" ]] || ! is_configuration "$name" || configure_for "$name"
done
report_ended

for name in "${wanted[@]}"; do
  if [[ $name == "$first" ]]; then continue
  elif is_configuration "$name"; then
    test_configuration "$name"
  elif [[ $name != lint ]]; then
    test_room "$name"
  fi
done
wait
report_ended
say "all of it"
python3 scripts/dev/tally.py "$results" "$SECONDS"
