#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# usage: packages.sh <the repository> <folder to work in>
# Passes if each verb of ./dev, on a machine that lacks one of its packages, asks for that one alone, and passes on the
# errors of apt: here another apt runs for too long. A package is tried with the first verb that needs it. No
# package is installed, and no verb comes to its work.
set -euo pipefail
cd "$1"
stubs=$2
mkdir -p "$stubs"

# stub <name>: from the input, the program that the verbs find.
stub() {
  cat >"$stubs/$1"
  chmod +x "$stubs/$1"
}
stub dpkg-query <<'TEXT'
#!/bin/bash
for package in "${@:4}"; do
  [[ $LACKS == all || $LACKS == "$package" ]] || echo "installed $package"
done
TEXT
stub apt-cache <<<'#!/bin/bash'
stub apt-get <<'TEXT'
#!/bin/bash
echo "$*" | grep -q DPkg::Lock::Timeout || exit 1
echo "E: Could not get lock /var/lib/dpkg/lock-frontend. It is held by process 7 (apt-get)" >&2
exit 100
TEXT
stub sudo <<'TEXT'
#!/bin/bash
exec "${@:2}"
TEXT

# asks <what is lacking> <verb>…: prints the packages that the verb asks for.
asks() {
  local said
  if said=$(LACKS=$1 ASHLAR_ASSUME_PACKAGES=0 PATH=$stubs:$PATH ./dev "${@:2}" 2>&1 </dev/null); then
    echo "$said" >&2
    return 1
  fi
  grep -q 'held by process 7' <<<"$said" || echo "${*:2} without $1 hides the cause: $said" >&2
  sed -n "s/^dev: could not install: \(.*\)\. The end of apt's output .*/\1/p" <<<"$said"
}

declare -A tried=()
fault=0
while read -ra verb; do
  all=$(asks all "${verb[@]}")
  for package in $all; do
    [[ -z ${tried[$package]:-} ]] || continue
    tried[$package]=1
    asked=$(asks "$package" "${verb[@]}" || true)
    [[ $asked == "$package" ]] || { echo "./dev ${verb[*]} without $package asks for '$asked'" && fault=1; }
  done
  echo "./dev ${verb[*]}: $(wc -w <<<"$all") packages"
  [[ -n $all ]] || fault=1
done <<'TEXT'
demo
test lint
test outside
test gcc
test asan
test mingw
test m32
test quick
test cli
test resource
test consumer
test threads
bench
programs
model
docs
lint
format
TEXT

for package in debhelper gcc-arm-none-eabi gdb qemu-user; do
  ! asks all test resource | grep -qw "$package" || { echo "one room asks for $package" && fault=1; }
done
exit "$fault"
