#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# usage: man.sh FOLDER COMMAND…: writes there the manual pages of ashlar and of each verb, from the text of --help.
set -eu
folder=$1
shift
version=$("$@" version)

# page NAME LINE: the help on standard input, as roff.
page() {
  awk -v name="$1" -v line="$2" -v version="$version" '
    function roff(text) { gsub(/\\/, "\\e", text); gsub(/-/, "\\-", text); return text }
    function say(text) { text = roff(text); print (text ~ /^[.\47]/ ? "\\&" : "") text }
    # "-o,--output FILE (a.out)": names are bold, the value is italic.
    function entry(head, text) {
      head = roff(head)
      gsub(/,\\-/, "\\fR, \\fB\\-", head)
      if (!sub(/ [A-Z][^ ]*( [A-Z]+)*/, "\\fR\\fI&\\fR", head)) head = head "\\fR"
      print ".TP\n\\fB" head
      say(text)
      blank = 0
    }
    BEGIN {
      print ".TH " toupper(roff(name)) " 1 \"\" \"" roff(version) "\" \"User Commands\""
      print ".SH NAME\n" roff(name) " \\- " roff(line) "\n.SH SYNOPSIS\n.nf"
    }
    /^$/ { if (!described++) print ".fi\n.SH DESCRIPTION"; else blank = 1; next }
    !described { sub(/^(usage: | +)/, "") }
    { sub(/^          -/, "  -"); sub(/, +-/, ",-") }  # as later versions of CLI11 align them
    toupper($0) ~ /^(POSITIONALS|OPTIONS):$/ { print ".SH " (/^P/ ? "ARGUMENTS" : "OPTIONS"); next }
    sub(/^  /, "") && /^[^ ]/ && match($0, /  +/) { entry(substr($0, 1, RSTART - 1), substr($0, RSTART + RLENGTH)); next }
    sub(/^Exit status: /, "") { print ".SH EXIT STATUS"; blank = 0 }
    { if (blank) print ".PP"; blank = 0; sub(/^ +/, ""); say($0) }
    END { print ".SH SEE ALSO\n\\fBashlar" (name == "ashlar" ? "\\-\\fR\\fIVERB\\fR(1)" : "\\fR(1)") }
  ' >"$folder/$1.1"
}

mkdir -p "$folder"
"$@" --help | page ashlar "record the allocations of a program, and name the allocator that serves it best"
"$@" --help | sed -n 's/^  \([a-z]*\)  *\(.*\)/\1 \2/p' | while read -r verb line; do
  "$@" "$verb" --help </dev/null | page "ashlar-$verb" "$line"
done
