#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# usage: consume.sh <way> <ashlar's folder> <folder to work in> <compiler> [<ashlar's own build>]
# Uses the library as another project would, in one way: see the functions. Where the ways `find_package` and `release`
# went before, in folders beside, others use what these installed and made.
set -euo pipefail
way=$1 ashlar=$2 work=$3 compiler=$4 built=${5:-}
here=$ashlar/tests/consumer
installed=$work/../find_package/prefix
released=$work/../release/release
version=$(sed -n 's/^project(ashlar VERSION \([0-9.]*\).*/\1/p' "$ashlar/CMakeLists.txt")
minor=${version%.*}

# configure <how the project finds ashlar> <option>…: without a network, as everywhere.
configure() {
  local how=$1
  shift
  cmake -G Ninja -S "$here/project" -B "$work/build" "-DCMAKE_CXX_COMPILER=$compiler" "-DFIND_ASHLAR=$how" \
    -DFETCHCONTENT_FULLY_DISCONNECTED=ON "$@"
}

# 77 is the status of a skipped test.
skip() {
  echo "skipped: $*"
  exit 77
}

# The source of each target is in its place, or CMake would have refused the project.
build_and_run_first() {
  cmake --build "$work/build" --target program
  "$work/build/program"
}

build_and_run() {
  cmake --build "$work/build"
  "$work/build/program"
  "$work/build/quiet"
  "$work/build/compiled_heap"
}

# install_ashlar <option>…
install_ashlar() {
  cmake -G Ninja -S "$ashlar" -B "$work/ashlar" "-DCMAKE_CXX_COMPILER=$compiler" -DASHLAR_BUILD_CLI=OFF \
    -DASHLAR_BUILD_MALLOC=OFF "$@"
  [[ " $* " != *" -DASHLAR_BUILD_"*"=ON "* ]] || cmake --build "$work/ashlar"
  cmake --install "$work/ashlar" --prefix "$work/prefix"
}

need_installed() {
  [[ -e $installed ]] || {
    install_ashlar
    installed=$work/prefix
  }
}

# need_released <file> <command to make it>…
need_released() {
  [[ -e $released/$1 ]] || {
    released=$work
    "${@:2}"
  }
}

first_program() {
  cp -r "$ashlar/include" "$work/include"
  "$compiler" -std=c++20 -I"$work/include" -pthread -o "$work/program" "$here/project/main.cpp"
  "$work/program"
}

# The heap compiled in each file, or once.
copied_headers() {
  first_program
  local flags=(-std=c++20 -I"$work/include" -pthread -o "$work/program")
  "$compiler" "${flags[@]}" -DASHLAR_COMPILED_HEAP=0 "$here/project/compiled_heap.cpp"
  "$work/program"
  "$compiler" "${flags[@]}" -DASHLAR_COMPILED_HEAP=1 "$here/project/compiled_heap.cpp" "$ashlar/compiled/heap.cpp"
  "$work/program"
}

# The example in the README compiles and runs.
readme() {
  awk '/^```/ { inside = ($0 == "```cpp"); next } inside' "$ashlar/README.md" >"$work/readme.cpp"
  "$compiler" -std=c++20 -I"$ashlar/include" "$work/readme.cpp" -o "$work/program"
  "$work/program"
}

find_package() {
  install_ashlar
  configure find_package "-DCMAKE_PREFIX_PATH=$work/prefix" "-DASHLAR_WANTED=$minor"
  build_and_run_first
}

# Some distributions give absolute folders. CMake refuses a target that names a missing source.
absolute_folders() {
  install_ashlar "-DCMAKE_INSTALL_PREFIX=$work/prefix" "-DCMAKE_INSTALL_DATADIR=$work/prefix/share"
  configure find_package "-DCMAKE_PREFIX_PATH=$work/prefix" "-DASHLAR_WANTED=$minor"
}

add_subdirectory() {
  configure add_subdirectory "-DASHLAR_FOLDER=$ashlar"
  build_and_run
  # Nothing of ashlar's own development may reach a project that only uses it.
  if cmake --build "$work/build" --target help | grep -E 'gtest|test_base|ashlar_warnings'; then
    echo "the library brought its own tests along"
    return 1
  fi
}

# A repository of these sources with the tag of the release, which the recipes for other tools name.
make_repository() {
  local git=(git -C "$work/ashlar.git" -c user.name=test -c user.email=test@ashlar.example)
  mkdir "$work/ashlar.git"
  cp -r "$ashlar"/{CMakeLists.txt,LICENSE,BUILD.bazel,MODULE.bazel,cmake,compiled,include,malloc,packaging} "$work/ashlar.git"
  "${git[@]}" init --quiet
  "${git[@]}" add .
  "${git[@]}" commit --quiet -m "Release $version"
  "${git[@]}" tag "v$version"
}

# recipe <file or folder of packaging/> <target>: with the address of the repository in place of the example's.
recipe() {
  cp -r "$ashlar/packaging/$1" "$2"
  grep -rl 'https://ashlar\.example/ashlar\.git' "$2" | xargs sed -i "s|https://ashlar.example/ashlar.git|file://$work/ashlar.git|"
}

fetch_content() {
  make_repository
  configure fetch_content "-DASHLAR_REPOSITORY=file://$work/ashlar.git" "-DASHLAR_WANTED=$version" \
    -DFETCHCONTENT_FULLY_DISCONNECTED=OFF
  build_and_run_first
}

meson() {
  type -P meson >/dev/null || skip "there is no meson"
  make_repository
  cp -r "$here/recipes/meson" "$work/project"
  recipe meson "$work/project/subprojects"
  cp "$here/project/main.cpp" "$work/project"
  cp "$ashlar/tests/cxx11/program.cpp" "$work/project/old.cpp"
  CXX=$compiler command meson setup "$work/build" "$work/project"
  command meson test -C "$work/build"
}

# By Debian's Bazel, older than modules: WORKSPACE names Debian's rules of Java, and a stand-in for those of C++.
bazel() {
  type -P bazel >/dev/null || skip "there is no bazel"
  [[ -e /usr/share/bazel/rules/java ]] || skip "there is no bazel-rules-java"
  make_repository
  cp -r "$here/recipes/bazel" "$work/project"
  cp "$here/project/main.cpp" "$work/project"
  cp "$ashlar/tests/cxx11/program.cpp" "$work/project/old.cpp"
  touch "$work/ashlar.git/WORKSPACE" "$work/project/rules_cc/"{WORKSPACE,cc/BUILD}
  cd "$work/project"
  local bazel=(command bazel --batch "--output_user_root=$work/output")
  CC=$compiler "${bazel[@]}" build --jobs=2 //:program //:old
  bazel-bin/program
  bazel-bin/old
}

xmake() {
  type -P xmake >/dev/null || skip "there is no xmake"
  make_repository
  cp -r "$here/recipes/xmake" "$work/project"
  cp "$here/project/main.cpp" "$work/project"
  recipe xmake "$work/project/packages"
  export XMAKE_GLOBALDIR=$work XMAKE_ROOT=y
  cd "$work/project"
  command xmake global --network=private
  command xmake config --yes "--cxx=$compiler" "--ld=$compiler"
  command xmake build
  command xmake run
}

# The adapter on which Boost's own tests run (scripts/outside_suites) follows the names of the library.
boost_names() {
  if ! echo '#include <boost/config.hpp>' | "$compiler" -x c++ -fsyntax-only - 2>/dev/null; then
    skip "there are no headers of Boost"
  fi
  mkdir -p "$work/include/boost/pool"
  local name
  for name in pool pool_alloc object_pool singleton_pool poolfwd; do
    echo "#include \"$ashlar/scripts/outside_suites/boost_pool.hpp\"" >"$work/include/boost/pool/$name.hpp"
  done
  "$compiler" -std=c++20 -I"$work/include" -I"$ashlar/include" "$here/project/boost_names.cpp" -o "$work/program"
  "$work/program"
}

# build_old <prefix>: a project of C++11 finds the compiled unit there.
build_old() {
  mkdir "$work/project"
  cat >"$work/project/CMakeLists.txt" <<TEXT
cmake_minimum_required(VERSION 3.10)
project(old LANGUAGES CXX)
set(CMAKE_CXX_STANDARD 11)
find_package(ashlar $minor REQUIRED COMPONENTS core)
add_executable(program "\${PROGRAM}")
target_link_libraries(program ashlar::core)
TEXT
  cmake -S "$work/project" -B "$work/project/build" "-DCMAKE_PREFIX_PATH=$1" "-DCMAKE_CXX_COMPILER=$compiler" \
    "-DPROGRAM=$ashlar/tests/cxx11/program.cpp"
  cmake --build "$work/project/build"
  "$work/project/build/program"
}

cxx11() {
  install_ashlar -DASHLAR_BUILD_CORE=ON
  build_old "$work/prefix"
  local program=$ashlar/tests/cxx11/program.cpp found
  command -v pkg-config >/dev/null || return 0
  found=$(PKG_CONFIG_PATH=$work/prefix/lib/pkgconfig pkg-config --cflags --libs ashlar-core)
  # shellcheck disable=SC2086 # flags are words
  "$compiler" -std=c++11 "$program" $found "-Wl,-rpath,$work/prefix/lib" -o "$work/program"
  "$work/program"
}

wrong_version() {
  need_installed
  local wanted
  for wanted in "${minor%.*}.$((${minor#*.} + 1))" 0.0.9 9.0; do
    if configure find_package "-DCMAKE_PREFIX_PATH=$installed" "-DASHLAR_WANTED=$wanted" >"$work/log" 2>&1; then
      echo "version $wanted was asked for, and the installed one was accepted"
      return 1
    fi
    tr -s ' \n' ' ' <"$work/log" | grep -q "compatible with requested version \"$wanted\"" || {
      cat "$work/log"
      return 1
    }
  done
  ! build_old "$installed" >"$work/log" 2>&1 || return 1
  tr -s ' \n' ' ' <"$work/log" | grep -q 'ashlar::core is not installed'
}

# Each committed single header alone, without the folder of headers; and one of a class, in a folder that does not exist yet.
single_header() {
  python3 "$ashlar/scripts/release/single_header.py" "$work/new/arena.hpp" ashlar/resource/arena.hpp
  "$compiler" -std=c++20 -fsyntax-only -x c++ -include "$work/new/arena.hpp" /dev/null
  local header
  for header in ashlar_single ashlar_all; do
    install -D -t "$work/$header" "$ashlar/single_include/$header.hpp"
    "$compiler" -std=c++20 -Wall -Wextra -I"$work/$header" -include "$header.hpp" -pthread -o "$work/program" \
      "$here/project/single.cpp"
    "$work/program"
  done
}

pkg_config() {
  command -v pkg-config >/dev/null || skip "there is no pkg-config"
  need_installed
  local flags
  read -ra flags <<<"$(PKG_CONFIG_PATH="$installed/share/pkgconfig" pkg-config --cflags ashlar)"
  [[ "$(PKG_CONFIG_PATH="$installed/share/pkgconfig" pkg-config --modversion ashlar)" == "$version" ]]
  "$compiler" -std=c++20 "${flags[@]}" -pthread -o "$work/program" "$here/project/main.cpp"
  "$work/program"
}

# uses_command <folder of the command>: it finds its libraries in each way of installing both.
uses_command() {
  [[ "$("$1/ashlar" --version)" == "ashlar $version" ]]
  "$1/ashlar" run --stats -- /bin/ls "$work" 2>&1 | grep '^ashlar: '
  "$1/ashlar" record -o "$work/trace" -- /bin/true
  "$1/ashlar" report "$work/trace" >/dev/null
}

# The packages are installed into a folder, with a database of their own that knows none of what they depend on.
debian() {
  command -v dh >/dev/null || skip "there is no debhelper"
  need_released SHA256SUMS bash "$ashlar/scripts/release/debian.sh" "$work"
  [[ -z $(find "$released" -name '*-dbgsym_*') ]]
  mkdir -p "$work/system/var/lib/dpkg"/{info,updates}
  touch "$work/system/var/lib/dpkg/status"
  dpkg --root="$work/system" --log=/dev/null --force-not-root --force-depends --force-script-chrootless --install \
    "$released"/*.deb
  configure find_package "-DCMAKE_PREFIX_PATH=$work/system/usr" "-DASHLAR_WANTED=$minor"
  build_and_run_first
  build_old "$work/system/usr"
  LD_PRELOAD=$(echo "$work"/system/usr/lib/*/libashlar-hardened.so.1) ASHLAR=stats=exit /bin/ls "$work" 2>&1 |
    grep '^ashlar: '
  uses_command "$work/system/usr/bin"
}

need_command() {
  [[ -e $built/bin/ashlar ]] || skip "the command is not built"
  need_released SHA256SUMS bash "$ashlar/scripts/release/binaries.sh" "$work" "$built"
}

# The archive of the command and libashlar, unpacked.
binaries() {
  need_command
  tar -xzf "$released"/ashlar-*-linux-*.tar.gz --directory="$work" --strip-components=1
  uses_command "$work/bin"
  # Built to run on other machines, it needs the C library alone.
  ! grep -qx 'ASHLAR_CLI_PORTABLE:BOOL=ON' "$built/CMakeCache.txt" ||
    ! ldd "$work/bin/ashlar" | grep -vE 'linux-vdso|lib(c|m)\.so|/ld-linux' || return 1
}

# libashlar for aarch64, built as for a release: qemu runs a program that takes it, linked and in a static program.
aarch64() {
  type clang++-19 qemu-aarch64 aarch64-linux-gnu-ld >/dev/null || skip "there is no compiler or no qemu for aarch64"
  [[ -e /usr/aarch64-linux-gnu/include/c++ ]] || skip "there is no C++ library for aarch64"
  install_ashlar --toolchain "$ashlar/scripts/release/aarch64.cmake" -DCMAKE_BUILD_TYPE=Release \
    -DASHLAR_BUILD_MALLOC=ON -DASHLAR_MALLOC_LEVELS=fast
  local how
  for how in "-L$work/prefix/lib -lashlar" "-static $work/prefix/lib/ashlar.o"; do
    # shellcheck disable=SC2086 # words
    clang++-19 --target=aarch64-linux-gnu -std=c++20 "-I$work/prefix/include" "$here/project/malloc.cpp" $how \
      -o "$work/program"
    qemu-aarch64 -L /usr/aarch64-linux-gnu -E "LD_LIBRARY_PATH=$work/prefix/lib" "$work/program"
  done
}

# The command, installed by pip into an environment.
wheel() {
  python3 -c 'import ensurepip, venv' 2>/dev/null || skip "there is no python3-venv"
  need_command
  python3 -m venv "$work/environment"
  "$work/environment/bin/pip" install --quiet --no-index --disable-pip-version-check "$released"/ashlar-*.whl
  uses_command "$work/environment/bin"
}

# vcpkg itself is not needed: project/vcpkg.cmake stands for the helpers that the port calls.
vcpkg() {
  local feature
  for feature in headers core; do
    cmake "-DPORTFILE=$ashlar/packaging/vcpkg/ashlar/portfile.cmake" "-DFEATURES=$feature" "-DWORK=$work/$feature" \
      "-DCOMPILER=$compiler" -P "$here/project/vcpkg.cmake"
  done
  build_old "$work/core/packages/ashlar"
  configure find_package "-DCMAKE_PREFIX_PATH=$work/headers/packages/ashlar" "-DASHLAR_WANTED=$minor"
  build_and_run_first
}

# Commands that the distribution lacks, or has too old. Ends with the status of a skipped test where they cannot be had.
find_python_commands() {
  bash "$ashlar/scripts/docs/environment.sh" "$ashlar/build/consumer_environment" "$here/requirements.txt"
  PATH=$ashlar/build/consumer_environment/bin:$PATH
}

conan() {
  type -P conan >/dev/null || find_python_commands
  export CONAN_HOME=$work/conan CXX=$compiler
  command conan profile detect
  cp -r "$ashlar/packaging/conan/test_package" "$work/test_package"
  local create=(command conan create "$ashlar/packaging/conan" --test-folder "$work/test_package" --no-remote)
  "${create[@]}" -s compiler.cppstd=20
  "${create[@]}" -s compiler.cppstd=11 -o "&:core=True"
}

# A file that imports the module and one that also includes headers, in one program.
module() {
  "$compiler" --version | grep -q clang || skip "the compiler is not clang"
  local flags=(-std=c++20 -Wall -Wextra -Werror -pthread "-I$ashlar/include")
  "$compiler" "${flags[@]}" --precompile "$ashlar/compiled/ashlar.cppm" -o "$work/ashlar.pcm"
  "$compiler" "${flags[@]}" "-fmodule-file=ashlar=$work/ashlar.pcm" -o "$work/program" "$work/ashlar.pcm" \
    "$here/project/import.cpp" "$here/project/beside_import.cpp"
  "$work/program"
}

# The same by CMake, in a version that knows modules.
cmake_module() {
  "$compiler" --version | grep -q clang || skip "the compiler is not clang"
  [[ "$(printf '%s\n' 3.28 "$(cmake --version | awk 'NR == 1 { print $3 }')" | sort -V | head -1)" == 3.28 ]] ||
    find_python_commands
  install_ashlar
  local how
  for how in "-DASHLAR_FOLDER=$ashlar" "-DCMAKE_PREFIX_PATH=$work/prefix"; do
    cmake -G Ninja -S "$here/module" -B "$work/build" "-DCMAKE_CXX_COMPILER=$compiler" "$how"
    cmake --build "$work/build"
    "$work/build/program"
    rm -rf "$work/build"
  done
}

# block <language> <number>: a block of the page of recipes for malloc.
block() {
  awk -v opening="\`\`\`$1" -v wanted="$2" '/^```/ { inside = $0 == opening && ++seen == wanted; next } inside' \
    "$ashlar/docs/malloc-recipes.md"
}

# Commands of the page, in the folders of this test. The other levels by g++ are in the packages of `release`.
in_work() {
  sed -e "s|cmake --preset malloc|& -S $ashlar -B $work/build -DASHLAR_MALLOC_LEVELS=fast|" \
    -e "s|build/malloc|$work/build|" -e "s|/usr/local|$work/prefix|g"
}

# The container's commands run in a shell, with its compiler; its library serves the program at its end.
malloc_container() {
  block dockerfile 1 >"$work/Dockerfile"
  sed -n 's/^RUN \(cmake .*\)/\1/p' "$work/Dockerfile" | in_work >"$work/image.sh"
  [[ $(wc -l <"$work/image.sh") == 3 ]]
  CXX=$(command -v g++ || echo "$compiler") bash -euxo pipefail "$work/image.sh"
  local preload program
  preload=$(sed -n 's/^ENV LD_PRELOAD=//p' "$work/Dockerfile" | in_work)
  program='import json, os, sys; words = json.loads(sys.argv[1]); os.execvp(words[0], words)'
  LD_PRELOAD=$preload python3 -c "$program" "$(sed -n 's/^CMD //p' "$work/Dockerfile")" | grep -x libashlar
}

verify_unit() {
  command -v systemd-analyze >/dev/null || return 0
  ! systemd-analyze verify "$1" 2>&1 | grep "${1##*/}" || return 1  # it only warns
}

# The unit, and the same by the command, which serves another program then.
malloc_unit() {
  local start words
  block ini 1 | sed 's|/usr/local/bin/server|/bin/true|' >"$work/server.service"
  verify_unit "$work/server.service"
  [[ -e $built/bin/ashlar ]] || return 0
  start=$(grep -o "ExecStart=[^\`]*ashlar run [^\`]*" "$ashlar/docs/malloc-recipes.md" |
    sed -e "s|/usr/local/bin/ashlar|$built/bin/ashlar|" -e 's|/usr/local/bin/server|/bin/cat /proc/self/maps|')
  sed -e '/^Environment=/d' -e "s|^ExecStart=.*|$start|" "$work/server.service" >"$work/by_command.service"
  verify_unit "$work/by_command.service"
  read -ra words <<<"${start#ExecStart=}"
  [[ $("${words[@]}") == *libashlar.so* ]]
}

# The lines of docs/malloc.md with the command.
malloc_runs() {
  [[ -e $built/bin/ashlar ]] || return 0
  sed -n -e 's/ *#.*//' -e 's|^    \(ashlar run .*\) prog args…|\1 /bin/cat /proc/self/maps|p' "$ashlar/docs/malloc.md" \
    >"$work/runs.sh"
  [[ $(wc -l <"$work/runs.sh") == 3 ]]
  PATH=$built/bin:$PATH bash -euxo pipefail "$work/runs.sh" >"$work/maps"
  local level
  for level in libashlar.so libashlar-checked.so; do grep -q "$level" "$work/maps"; done
}

# Of a frame in a report addr2line names the function, as docs/malloc-samples.md tells.
malloc_frames() {
  command -v addr2line >/dev/null || return 0
  "$compiler" -std=c++20 -g -O0 -fno-omit-frame-pointer "$here/project/use_after_free.cpp" -o "$work/faulty"
  ! LD_PRELOAD=$work/prefix/lib/libashlar.so ASHLAR=sample=1 "$work/faulty" 2>"$work/report" || return 1
  grep -q '^ashlar: use_after_free: write in a block that is free' "$work/report"
  local offset
  offset=$(sed -n "/ allocated by /,/ freed by /s|.* $work/faulty+\(0x[0-9a-f]*\)\$|\1|p" "$work/report" | head -1)
  [[ $(addr2line -fe "$work/faulty" "$(printf '%#x' $((offset - 1)))") == *main*use_after_free.cpp:* ]]
}

# malloc_program <number of the block>: a project with that block.
malloc_program() {
  mkdir -p "$work/project$1"
  cp "$here/project/malloc.cpp" "$work/project$1"
  {
    printf 'cmake_minimum_required(VERSION 3.25)\nproject(consumer LANGUAGES CXX)\nadd_executable(program malloc.cpp)\n'
    block cmake "$1"
  } >"$work/project$1/CMakeLists.txt"
  cmake -G Ninja -S "$work/project$1" -B "$work/project$1/build" "-DCMAKE_CXX_COMPILER=$compiler" \
    "-DCMAKE_PREFIX_PATH=$work/prefix"
  cmake --build "$work/project$1/build"
  "$work/project$1/build/program"
}

# malloc_commands <number of the block of commands>: each makes the program, without CMake.
malloc_commands() {
  mkdir -p "$work/by_hand"
  cp "$here/project/malloc.cpp" "$work/by_hand/program.cpp"
  block sh "$1" | in_work | sed "s|^c++|$compiler -std=c++20|" >"$work/by_hand/commands"
  local command
  while IFS= read -r command; do
    rm -f "$work/by_hand/program"
    (cd "$work/by_hand" && PKG_CONFIG_PATH=$work/prefix/lib/pkgconfig bash -euxc "$command")
    LD_LIBRARY_PATH=$work/prefix/lib "$work/by_hand/program"
  done <"$work/by_hand/commands"
  [[ -n ${command+set} && -e $work/by_hand/program ]]
}

malloc_recipes() {
  [[ $(getconf LONG_BIT) == 64 ]] || skip "libashlar is for programs of 64 bits"
  malloc_container
  block sh 1 | in_work >"$work/install.sh"
  CXX=$compiler bash -euxo pipefail "$work/install.sh"
  malloc_unit
  malloc_program 1
  malloc_program 2
  [[ $(ldd "$work/project1/build/program") == *libashlar* ]]
  ! ldd "$work/project2/build/program" 2>/dev/null || return 1
  if command -v pkg-config >/dev/null; then
    malloc_commands 2
    [[ $(ldd "$work/by_hand/program") == *libashlar* ]]
  fi
  CPATH=$work/prefix/include malloc_commands 3  # which /usr/local/include is without a word
  ! ldd "$work/by_hand/program" 2>/dev/null || return 1
  malloc_runs
  malloc_frames
}

# The crate from what it packs, at level checked; and on libashlar as it is built here.
rust() {
  command -v cargo >/dev/null || skip "there is no cargo"
  cp -rL "$ashlar/bindings/rust" "$work/sources"
  cd "$work/sources"
  cargo fetch --quiet || skip "the crates that it builds with cannot be had"
  export CARGO_TARGET_DIR=$work/target CXX=$compiler
  cargo package --quiet --offline --allow-dirty --no-verify
  tar -xzf "$work/target/package/ashlar-$version.crate" --directory="$work"
  cd "$work/ashlar-$version"
  cargo test --quiet --offline --features allocator-api2,checked
  [[ ! -e $built/lib/libashlar.a ]] || ASHLAR_LIB_DIR=$built/lib cargo test --quiet --offline
}

# The files of a release are made, and what they hold works; a real one is refused while the version has no date.
release() {
  git -C "$ashlar" rev-parse HEAD >/dev/null 2>&1 || skip "this is not a checkout"
  CXX=$compiler bash "$ashlar/scripts/release/make.sh" --draft "$built" "$work/release"
  (cd "$work/release" && sha256sum --check --quiet SHA256SUMS)
  if grep -q '^## .* - unreleased$' "$ashlar/CHANGELOG.md" &&
    bash "$ashlar/scripts/release/make.sh" "$work/refused" 2>"$work/log"; then
    echo "a version without a date was released"
    return 1
  fi
}

rm -rf "$work"
mkdir -p "$work"
"$way"
