#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# The whole loop once: record a real program, replay it against every allocator here, and name the one that wins.
source scripts/dev/common.sh

folder=build/demo
trace=$folder/demo.trace
report="ashlar-report.html"
ashlar=build/release/bin/ashlar

# A program that allocates like real ones: sqlite3 builds an indexed table of 200,000 rows, and queries it.
write_sql() {
  cat >"$1" <<'SQL'
.output build/demo/sqlite3.out
PRAGMA journal_mode = OFF;
CREATE TABLE orders(id INTEGER PRIMARY KEY, customer TEXT, city TEXT, cents INTEGER, note TEXT);
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 200000)
INSERT INTO orders
  SELECT i, 'customer-' || (i * 7919 % 20011), 'city-' || (i * 31 % 997), i * 104729 % 1000003,
         substr('a note of some length, different for each order', 1, 5 + i * 13 % 43)
  FROM n;
CREATE INDEX by_customer ON orders(customer);
CREATE INDEX by_city ON orders(city, cents);
SELECT city, count(*), sum(cents), group_concat(id) FROM orders GROUP BY city ORDER BY sum(cents) DESC;
SELECT customer, max(cents), upper(note) FROM orders GROUP BY customer HAVING count(*) > 9;
SELECT a.id, b.id, a.note || b.note FROM orders a JOIN orders b ON a.customer = b.customer AND a.id < b.id LIMIT 50000;
UPDATE orders SET note = replace(note, 'note', 'remark') WHERE id % 3 = 0;
DELETE FROM orders WHERE id % 7 = 0;
SELECT count(DISTINCT note), avg(length(note)) FROM orders;
SQL
}

[[ ${1:-} != -- ]] || shift
program=("$@")
packages=("${compile_packages[@]}" "${command_packages[@]}" "${rival_packages[@]}")
((${#program[@]})) || packages+=(sqlite3)
need "${packages[@]}"

say "1 of 3: building the ashlar command (Release); the first time this takes minutes, later a second"
configure release
build release cli/all

rm -rf "$folder" && mkdir -p "$folder"
if ((${#program[@]} == 0)); then
  write_sql "$folder/demo.sql"
  program=(sqlite3 :memory: ".read $folder/demo.sql")
fi
say "2 of 3: recording every allocation of ${program[*]}; the demo's own program takes seconds"
"$ashlar" record -o "$trace" -- "${program[@]}"

say "3 of 3: replaying against every allocator on this machine: until all is decided, for two minutes at most"
"$ashlar" replay "$trace" --all --budget 120 --html "$report"
say "the report, one file: $PWD/$report"
say "what the program itself gains: $ashlar try $trace -- ${program[*]@Q}"
