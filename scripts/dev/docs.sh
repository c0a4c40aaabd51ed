#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Builds the documentation as a site and checks its links. --serve shows it while it is edited; --publish commits it to
# the branch gh-pages as this version, beside those that are there. Words after --publish go to mike, such as --push.
source scripts/dev/common.sh

environment=build/docs_environment
site=build/site

need clang-19 git python3 python3-venv
bash scripts/docs/environment.sh "$environment" || fail "there is no environment to build the site with"
PATH=$PWD/$environment/bin:$PATH
export NO_MKDOCS_2_WARNING=1 # a notice about another product

version() {
  sed -nE 's/^#define ASHLAR_VERSION_(MAJOR|MINOR) ([0-9]+)$/\2/p' include/ashlar/base/config.hpp | paste -sd.
}

case ${1:-} in
  '')
    mkdocs build --quiet --site-dir "$site"
    python3 scripts/docs/check.py "$site" .
    say "the site: $PWD/$site/index.html; it searches only where a server shows it: ./dev docs --serve"
    ;;
  --serve) exec mkdocs serve "${@:2}" ;;
  --publish)
    mike deploy --update-aliases "$(version)" latest "${@:2}"
    mike set-default latest "${@:2}"
    mike list
    ;;
  *) fail "docs: no option '$1'" ;;
esac
