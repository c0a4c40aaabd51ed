# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Completes the verbs, options and files of ashlar in fish, from the text of its --help.
complete -c ashlar -n __fish_is_first_token -f \
  -a '(ashlar --help 2>/dev/null | string replace -rf "^  ([a-z]+)  +(.*)" "\$1\t\$2")'
complete -c ashlar -n 'not __fish_is_first_token; and string match -q -- "-*" (commandline -ct)' -f \
  -a '(ashlar (commandline -opc)[2] --help 2>/dev/null | string replace -rf "^  (?:-[a-zA-Z],)? *(--[a-z-]+).*  (.*)" "\$1\t\$2")'
complete -c ashlar -n 'test (commandline -opc)[-1] = --color' -f -a 'auto always never'
