# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Completes the verbs, options and files of ashlar in bash, from the text of its --help.
_ashlar() {
  local word=${COMP_WORDS[COMP_CWORD]} words=""
  if ((COMP_CWORD == 1)); then
    words=$("${COMP_WORDS[0]}" --help 2>/dev/null | sed -n 's/^  \([a-z]*\)  .*/\1/p')
  elif [[ ${COMP_WORDS[COMP_CWORD - 1]} == --color ]]; then
    words="auto always never"
  elif [[ $word == -* && " ${COMP_WORDS[*]:2:COMP_CWORD-2} " != *" -- "* ]]; then
    words=$("${COMP_WORDS[0]}" "${COMP_WORDS[1]}" --help 2>/dev/null | sed -nE 's/^  (-[a-zA-Z],)? *(--[a-z-]+).*  .*/\2/p')
  fi
  mapfile -t COMPREPLY < <(compgen -W "$words" -- "$word")
}
complete -o default -F _ashlar ashlar
