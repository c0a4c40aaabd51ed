// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Compares words by the number of letters to insert, delete or replace.
#include "cli/support/suggest.hpp"

#include <algorithm>
#include <cstddef>
#include <numeric>

namespace ashlar::cli {

namespace {

std::size_t distance(const std::string& a, const std::string& b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, replaced});
    }
  }
  return row.back();
}

}  // namespace

std::string suggestion(const std::string& word, const std::vector<std::string>& known) {
  std::size_t least = word.size() / 3 + 1;  // a third of the letters may be wrong
  std::string nearest;
  for (const std::string& candidate : known) {
    const std::size_t d = distance(word, candidate);
    if (d > least || (d == least && !nearest.empty())) continue;
    least = d;
    nearest = candidate;
  }
  return nearest.empty() ? nearest : "; did you mean '" + nearest + "'?";
}

}  // namespace ashlar::cli
