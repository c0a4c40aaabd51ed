#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# usage: docs.sh site|reference|versions <the repository> <folder to work in>
# Tests one property of the documentation as a site: see the functions. Status 77: its tools cannot be had.
set -euo pipefail
name=$1 ashlar=$2 work=$3
environment=$ashlar/build/docs_environment

# Every warning of mkdocs is an error: a link without a target, a page without a place in the navigation.
site() {
  cd "$ashlar"
  mkdocs build --quiet --site-dir "$work/site"
  python3 scripts/docs/check.py "$work/site" .
}

reference() { python3 "$ashlar/tests/docs_site/reference.py" "$ashlar/scripts/docs" "$work"; }

# The verb as it is, in a checkout with one page, as version 0.7 and then as 0.8.
versions() {
  local number
  mkdir -p "$work/build" "$work/docs" "$work/scripts/dev" "$work/include/ashlar/base"
  cp "$ashlar"/scripts/dev/{common,docs}.sh "$work/scripts/dev"
  cp -r "$ashlar/scripts/docs" "$work/scripts"
  ln -s "$environment" "$work/build/docs_environment"
  sed -e '/^hooks:/d' -e '/^watch:/d' -e '/^extra_css:/d' "$ashlar/mkdocs.yml" >"$work/mkdocs.yml"
  cd "$work"
  git init -q && git config user.name test && git config user.email test@localhost
  for number in 7 8; do
    printf '#define ASHLAR_VERSION_MAJOR 0\n#define ASHLAR_VERSION_MINOR %s\n' "$number" >include/ashlar/base/config.hpp
    echo "# Version 0.$number" >docs/index.md
    git add docs include mkdocs.yml && git commit -q -m "0.$number"
    ASHLAR_ASSUME_PACKAGES=1 bash scripts/dev/docs.sh --publish
  done
  for number in 7 8; do git show "gh-pages:0.$number/index.html" | grep -q "<h1[^>]*>Version 0.$number"; done
  git show gh-pages:index.html | grep -q 'latest/'
  git show gh-pages:versions.json | python3 -c '
import json, sys
assert {each["version"]: each["aliases"] for each in json.load(sys.stdin)} == {"0.8": ["latest"], "0.7": []}'
}

bash "$ashlar/scripts/docs/environment.sh" "$environment"
command -v clang++-19 >/dev/null || { echo "skipped: there is no clang++-19"; exit 77; }
PATH=$environment/bin:$PATH
export NO_MKDOCS_2_WARNING=1
rm -rf "$work"
mkdir -p "$work"
"$name"
