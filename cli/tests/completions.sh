#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# usage: completions.sh <folder of completions> <folder of the command>: verbs and options, in the shells that are installed.
set -euo pipefail
folder=$1
export PATH=$2:$PATH

expect() {
  [[ $2 == "$3" ]] || {
    printf '%s completes\n%s\nexpected:\n%s\n' "$1" "$3" "$2"
    exit 1
  }
}

# shellcheck disable=SC1091 # given by the caller
source "$folder/ashlar.bash"
in_bash() {
  COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
  _ashlar
  echo "${COMPREPLY[*]}"
}
expect bash "record replay report" "$(in_bash ashlar re)"
expect bash "--help --output --stacks --only --no-children --max-size --quiet --color" "$(in_bash ashlar record -)"
expect bash "--malloc --metric" "$(in_bash ashlar verify --m)"
expect bash "" "$(in_bash ashlar record -- ls --s)"
expect bash "auto always never" "$(in_bash ashlar report --color "")"
if type -P fish >/dev/null; then
  in_fish() { fish --no-config -c "source '$folder/ashlar.fish'; complete -C '$1'" | cut -f 1 | paste -sd ' '; }
  expect fish "record replay report" "$(in_fish 'ashlar re')"
  expect fish "--stacks" "$(in_fish 'ashlar record --s')"
  expect fish "always auto never" "$(in_fish 'ashlar report --color ')"
fi
if type -P zsh >/dev/null; then zsh -n "$folder/_ashlar"; fi
