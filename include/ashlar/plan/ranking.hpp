// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Static orders of the figures of a board, by which the exact search breaks ties.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <tuple>
#include <vector>

#include <ashlar/base/config.hpp>
#include <ashlar/plan/board_shape.hpp>

namespace ashlar {
inline namespace ASHLAR_ABI {
namespace plan::valley {

/// Which candidate to try first, and which figure leads. Each is compared word by word, greatest first.
enum class ranking { life, breadth, breadth_life, height };

/// Returns: the rank of each figure; the greatest comes first. Complexity: O(n log n + the lives).
[[nodiscard]] inline std::vector<std::uint32_t> ranks_by(const board_shape& shape, ranking r) {
  std::vector<units> load(shape.sections, 0);
  for (std::uint32_t t = 0; t < shape.sections; ++t)
    for (const member* m = shape.members.begin(t); m != shape.members.end(t); ++m) load[t] += m->height;
  struct measures {
    units life = 0, area = 0, breadth = 0, height = 0;
  };
  std::vector<measures> of(shape.figures.size());
  for (std::uint32_t f = 0; f < of.size(); ++f) {
    of[f].height = shape.figures[f].height;
    for (const strip* s = shape.begin(f); s != shape.end(f); ++s)
      for (std::uint32_t t = s->first; t < s->last; ++t) {
        ++of[f].life;
        of[f].breadth = std::max(of[f].breadth, load[t]);
      }
    // Heights of 2^61 times long lives would not fit: the order of areas matters only where they do.
    of[f].area = of[f].height > far / (of[f].life + 1) ? far : of[f].height * of[f].life;
  }
  const auto less = [&](std::uint32_t a, std::uint32_t b) {
    const measures& x = of[a];
    const measures& y = of[b];
    switch (r) {
      case ranking::life: return std::tie(x.life, x.area, x.breadth, a) < std::tie(y.life, y.area, y.breadth, b);
      case ranking::breadth: return std::tie(x.breadth, x.area, x.life, a) < std::tie(y.breadth, y.area, y.life, b);
      case ranking::breadth_life:
        return std::tie(x.breadth, x.life, x.area, a) < std::tie(y.breadth, y.life, y.area, b);
      case ranking::height: return std::tie(x.height, x.area, x.breadth, a) < std::tie(y.height, y.area, y.breadth, b);
    }
    return a < b;
  };
  std::vector<std::uint32_t> order(of.size()), rank(of.size());
  for (std::uint32_t f = 0; f < order.size(); ++f) order[f] = f;
  std::sort(order.begin(), order.end(), less);
  for (std::uint32_t k = 0; k < order.size(); ++k) rank[order[k]] = k;
  return rank;
}

}  // namespace plan::valley
}  // namespace ASHLAR_ABI
}  // namespace ashlar
