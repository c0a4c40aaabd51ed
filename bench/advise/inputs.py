# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Inputs of the programs, made from a seed: the same on every machine. One seed is for advice, another to verify it."""

import json
import random

from malloc.workloads import words_of


def words(seed, count):
    """Words as a text has them."""
    return words_of(count, seed)


def text(seed, count, width=11):
    all_words = words(seed, count)
    return "".join(" ".join(all_words[at : at + width]) + "\n" for at in range(0, count, width))


def xml(seed, items):
    w = words(seed, items * 10)
    parts = (
        f'<item id="{at}" kind="{w[at]}"><name>{w[at + 1]} {w[at + 2]}</name><tags>'
        + "".join(f"<tag>{word}</tag>" for word in w[at + 3 : at + 10])
        + "</tags></item>"
        for at in range(0, items * 10, 10)
    )
    return "<all>" + "\n".join(parts) + "</all>\n"


def records(seed, count):
    chosen, w = random.Random(seed), words(seed, count * 6)
    return [
        {
            "id": at,
            "name": f"{w[6 * at]} {w[6 * at + 1]}",
            "tags": w[6 * at + 2 : 6 * at + 2 + chosen.randint(1, 4)],
            "cents": chosen.randint(1, 10**6),
            "note": {"of": w[6 * at + 5], "rank": chosen.random()},
        }
        for at in range(count)
    ]


def json_text(seed, count):
    return json.dumps(records(seed, count))


def yaml_text(seed, count):
    lines = []
    for record in records(seed, count):
        lines.append(f"- id: {record['id']}\n  name: {record['name']}\n  tags: [{', '.join(record['tags'])}]")
        lines.append(f"  cents: {record['cents']}\n  note:\n    of: {record['note']['of']}\n    rank: {record['note']['rank']}")
    return "\n".join(lines) + "\n"


def scss(seed, rules):
    chosen, w = random.Random(seed), words(seed, rules * 4)
    lines = [f"$c{n}: rgb({chosen.randint(0, 255)}, {chosen.randint(0, 255)}, {chosen.randint(0, 255)});" for n in range(40)]
    lines.append("@mixin box($w, $c) { width: $w * 1px; border: 1px solid darken($c, 10%); &:hover { color: lighten($c, 5%); } }")
    for at in range(rules):
        a, b, c, d = w[4 * at : 4 * at + 4]
        lines.append(
            f".{a}-{at} {{ @include box({chosen.randint(1, 900)}, $c{at % 40}); .{b} &, .{c} > .{d} "
            f"{{ margin: ({chosen.randint(1, 40)} + {at % 7}) * 1px; }} }}"
        )
    lines.append("@for $i from 1 through 60 { .n#{$i} { height: percentage($i / 60); @include box($i, $c1); } }")
    return "\n".join(lines) + "\n"


HEADERS = "#include <map>\n#include <string>\n#include <vector>\n"
STUBS = """
namespace std {
struct string { string(const char*); };
template <class T> struct vector { T& operator[](int); void push_back(const T&); };
template <class K, class V> struct map { V& operator[](const K&); };
}
"""


def c_source(seed, functions, before=HEADERS):
    """Functions in C++ that a checker has to follow."""
    chosen, w = random.Random(seed), words(seed, functions * 3)
    parts = [before]
    for at in range(functions):
        name, a, b = (f"{word}_{at}{which}" for word, which in zip(w[3 * at : 3 * at + 3], "xyz"))
        parts.append(
            f"struct s_{name} {{ int {a}; std::vector<int> {b}; std::map<std::string, int> seen; }};\n"
            f"int f_{name}(s_{name}& of, int n) {{\n"
            f"  int sum = 0;\n  for (int i = 0; i < n; ++i) {{\n"
            f"    if (i % {chosen.randint(2, 9)} == 0 && of.{a} > {chosen.randint(1, 99)}) sum += of.{b}[i];\n"
            f"    else {{ switch (i & 3) {{ case 0: sum -= of.{a}; break; case 1: of.{b}.push_back(i); break; default: ++sum; }} }}\n"
            f'    of.seen["{b}"] += sum > {chosen.randint(5, 500)} ? sum : -sum;\n  }}\n'
            f"  return sum;\n}}\n"
        )
    return "".join(parts)


def macros(seed, count):
    """A source that a preprocessor has much to do with."""
    chosen, w = random.Random(seed), words(seed, count * 2)
    lines = ["#define JOIN2(a, b) a##b\n#define JOIN(a, b) JOIN2(a, b)\n#define TWICE(x) ((x) + (x))"]
    for at in range(count):
        a, b = w[2 * at], w[2 * at + 1]
        lines.append(f"#define M_{a}_{at}(x, y) TWICE((x) * {chosen.randint(1, 99)} + JOIN(v_{b}, {at % 9}) - (y))")
        lines.append(f"#if {at} % 3 == 0 && defined(JOIN)\nint JOIN(v_{b}_, {at}) = M_{a}_{at}(TWICE({at}), TWICE(TWICE(7)));")
        lines.append(f"#else\nint JOIN(w_{a}_, {at}) = M_{a}_{at}(1, M_{a}_{at}(2, 3));\n#endif")
    return "\n".join(lines) + "\n"


def queries(seed, rows):
    return f"""
.output /dev/null
CREATE TABLE orders(id INTEGER PRIMARY KEY, customer TEXT, city TEXT, cents INTEGER, note TEXT);
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {rows})
INSERT INTO orders
  SELECT i, 'customer-' || ((i + {seed}) * 7919 % 20011), 'city-' || (i * 31 % 997), (i + {seed}) * 104729 % 1000003,
         substr('a note of some length, different for each order', 1, 5 + (i + {seed}) * 13 % 43)
  FROM n;
CREATE INDEX by_customer ON orders(customer);
SELECT city, count(*), sum(cents), group_concat(id) FROM orders GROUP BY city ORDER BY sum(cents) DESC;
SELECT customer, max(cents), upper(note) FROM orders GROUP BY customer HAVING count(*) > 3;
UPDATE orders SET note = replace(note, 'note', 'remark') WHERE id % 3 = 0;
.output
SELECT count(DISTINCT note), avg(length(note)), sum(cents) FROM orders;
"""


LUA = """
local seen, sum = {}, 0
local function tree(depth, value)
  if depth == 0 then return {value = value} end
  return {left = tree(depth - 1, value * 2 % 1009), right = tree(depth - 1, value * 3 % 1013), value = value}
end
local function total(node) return node and node.value + total(node.left) + total(node.right) or 0 end
for line in io.lines(arg[1]) do
  for word in line:gmatch("%a+") do
    local entry = seen[word] or {count = 0, at = {}}
    entry.count = entry.count + 1
    entry.at[#entry.at + 1] = entry.count
    seen[word] = entry
  end
  sum = sum + #line
  if sum % 5 == 0 then sum = sum + total(tree(5, sum % 1000)) end
end
local words = {}
for word, entry in pairs(seen) do words[#words + 1] = word .. entry.count .. #entry.at end
table.sort(words)
print(sum, #words, words[1], words[#words])
"""
