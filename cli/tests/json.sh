#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# usage: json.sh <folder of the command> <sample_trace> <schema>: what each verb writes by --json is as the schema describes.
set -euo pipefail
export PATH=$1:$PATH
sample=$2 schema=$3 here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

# expect <verb> <name> <argument>…: the output of the verb is valid; a verdict may be any.
expect() {
  ashlar "$1" "${@:3}" --json "$2.json" "${program[@]}" >output 2>&1 || (($? == 3 || $? == 4)) || {
    cat output
    exit 1
  }
  python3 "$here/json_schema.py" "$schema" "$1" "$2.json"
}

query=(sqlite3 :memory: 'with recursive c(x) as (select 1 union all select x + 1 from c where x < 300) select sum(x) from c')
ashlar record -q --stacks 16 -o t.trace -- "${query[@]}" >/dev/null
ashlar record -q -o sh.trace -- sh -c 'ls / && true' >/dev/null
"$sample" threads.trace 5000 3
echo '{"program": {"bytes": 1}, "spans": {"absent": {"count": 3}}}' >limits
program=()
for trace in t sh threads; do
  expect report "report.$trace" "$trace.trace"
  expect advise "advise.$trace" --measure none "$trace.trace"
  expect budget "budget.$trace" limits --trace "$trace.trace"
done
for rows in stacks sites; do
  ashlar export t.trace --format jsonl --rows "$rows" | split -l 1 - "$rows."
  python3 "$here/json_schema.py" "$schema" export "$rows".*
done
ashlar record -q -o tree/ -- sh -c 'ls / && true' >/dev/null
for verb in report advise; do
  ashlar "$verb" tree --json "$verb.tree.json" >output
  python3 "$here/json_schema.py" "$schema" "${verb}_tree" "$verb.tree.json"
done
expect diff difference t.trace sh.trace --fail-above bytes=5%,allocations=7
expect replay compared threads.trace --repetitions 7 --with glibc,ashlar
expect replay few t.trace --repetitions 1 --program-seconds 1 --with glibc,ashlar
expect advise replayed --measure replay --budget 1s t.trace
expect advise measured --measure run --rounds 2 t.trace
program=(-- "${query[@]}")
expect verify compared --runs 7
