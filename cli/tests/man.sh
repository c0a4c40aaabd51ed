#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# usage: man.sh <folder of manual pages> <the command>: each verb and option of --help is in a page, which groff finds no
# fault with.
set -euo pipefail
folder=$1 ashlar=$2

# expect <page> <text of help> <pattern of a word>: the page has each such word of the text.
expect() {
  local word words
  mapfile -t words < <(grep -oE -- "$3" <<<"$2")
  ((${#words[@]} > 0))
  for word in "${words[@]}"; do
    grep -qF -- "\\fB${word//-/\\-}\\fR" "$1" || {
      echo "$1 lacks $word"
      exit 1
    }
  done
  grep -q '^\.SH NAME' "$1"
  if type -P groff >/dev/null; then [[ -z $(groff -man -ww -Tutf8 "$1" 2>&1 >/dev/null) ]]; fi
}

verbs=$("$ashlar" --help | grep -oE '^  [a-z]+')
expect "$folder/ashlar.1" "$verbs" '[a-z]+'
for verb in $verbs; do
  text=$("$ashlar" "$verb" --help)
  options=$(grep -oE '^  -[a-zA-Z]?(, *-)?[a-z-]*|^          --[a-z-]+' <<<"$text")
  expect "$folder/ashlar-$verb.1" "$options" '--?[a-z-]+'
  grep -q '^\.SH EXIT STATUS' "$folder/ashlar-$verb.1"
done
