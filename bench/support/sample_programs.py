# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What real programs do in measurements: sources, scripts and queries, the same on every machine."""

import shutil

SOURCE = """
#include <algorithm>
#include <functional>
#include <iostream>
#include <map>
#include <regex>
#include <string>
#include <unordered_map>
#include <vector>
int main(int argc, char** argv) {
  std::map<std::string, std::vector<std::string>> found;
  std::unordered_map<std::string, std::function<bool(const std::string&)>> tests;
  for (int i = 1; i < argc; ++i) {
    const std::regex pattern(argv[i]);
    tests[argv[i]] = [pattern](const std::string& line) { return std::regex_search(line, pattern); };
  }
  for (std::string line; std::getline(std::cin, line);)
    for (const auto& [name, test] : tests)
      if (test(line)) found[name].push_back(line);
  for (auto& [name, lines] : found) {
    std::sort(lines.begin(), lines.end());
    for (const std::string& line : lines)
      std::cout << name << ": " << std::regex_replace(line, std::regex("a+"), "b") << '\\n';
  }
}
"""

SCRIPT = """
import ast, os
folder = os.path.dirname(os.__file__)
kept = []
for name in sorted(n for n in os.listdir(folder) if n.endswith(".py"))[:60]:
    with open(os.path.join(folder, name), encoding="utf-8") as file:
        tree = ast.parse(file.read())
    compile(ast.unparse(tree), name, "exec")
    kept.append({node.id for node in ast.walk(tree) if isinstance(node, ast.Name)})
    if len(kept) == 7:
        kept.pop(3)
"""

QUERIES = """
.output /dev/null
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
UPDATE orders SET note = replace(note, 'note', 'remark') WHERE id % 3 = 0;
DELETE FROM orders WHERE id % 7 = 0;
SELECT count(DISTINCT note), avg(length(note)) FROM orders;
"""

# python3's small objects are malloc's, too.
PYTHON = {"PYTHONMALLOC": "malloc", "PYTHONHASHSEED": "0", "PYTHONDONTWRITEBYTECODE": "1"}


def found(*names):
    """The first of some programs that this machine has, or None; pyenv's python3 is a script that starts the real one."""
    for name in names:
        path = shutil.which(name)
        if path and "/shims/" not in path:
            return path
    return None
