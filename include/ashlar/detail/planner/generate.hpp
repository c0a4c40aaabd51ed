// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Generated problems to measure planners: cut from a full box, so that the optimum is known, or like real programs.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <ashlar/base/config.hpp>
#include <ashlar/base/problem.hpp>
#include <ashlar/detail/planner/greedy.hpp>

namespace ashlar::ASHLAR_ABI::detail::planner {

/// A rectangle of the full box: bytes upwards, moments across.
struct box_part {
  std::uint64_t low, high, begin, end;
  [[nodiscard]] std::uint64_t area() const noexcept { return (high - low) * (end - begin); }
  [[nodiscard]] bool divisible() const noexcept { return high - low > 1 || end - begin > 1; }
};

/// Cuts `x` in two, in the middle half of the side that is longer in relation to the box.
[[nodiscard]] inline box_part cut(box_part& x, double bytes_per_moment, splitmix& random) {
  const auto tall = static_cast<double>(x.high - x.low), wide = static_cast<double>(x.end - x.begin);
  const bool across = x.end - x.begin < 2 || (x.high - x.low > 1 && tall > wide * bytes_per_moment);
  box_part rest = x;
  const std::uint64_t side = across ? x.high - x.low : x.end - x.begin;
  const std::uint64_t at = std::max<std::uint64_t>(1, side / 4 + random.below(side / 2 + 1));
  const std::uint64_t kept = std::min(at, side - 1);
  (across ? x.high : x.end) = (across ? x.low : x.begin) + kept;
  (across ? rest.low : rest.begin) = across ? x.high : x.end;
  return rest;
}

/// Returns: about `count` buffers cut from a box of `height` granules and `moments`. The optimum is exactly `height *
/// granule` bytes, and every moment is full. Expects: `height` and `moments` are at least 1.
[[nodiscard]] inline problem generate_perfect(std::size_t count, std::uint64_t height, std::uint64_t moments,
                                              std::uint64_t granule, std::uint64_t seed) {
  splitmix random(seed);
  const auto smaller = [](const box_part& a, const box_part& b) { return a.area() < b.area(); };
  std::vector<box_part> parts{{0, height, 0, moments}};
  const double ratio = static_cast<double>(height) / static_cast<double>(moments);
  while (parts.size() < count && parts.front().divisible()) {
    std::pop_heap(parts.begin(), parts.end(), smaller);
    const box_part rest = cut(parts.back(), ratio * (random.below(2) == 0 ? 0.25 : 4), random);
    std::push_heap(parts.begin(), parts.end(), smaller);
    parts.push_back(rest);
    std::push_heap(parts.begin(), parts.end(), smaller);
  }
  problem p;
  for (std::size_t i = 0; i < parts.size(); ++i)
    p.buffers.push_back(buffer::half_open(i, (parts[i].high - parts[i].low) * granule, parts[i].begin, parts[i].end));
  for (std::size_t i = p.buffers.size(); i > 1; --i) {
    std::swap(p.buffers[i - 1], p.buffers[random.index(i)]);
    p.buffers[i - 1].id = i - 1;
  }
  if (!p.buffers.empty()) p.buffers[0].id = 0;
  return p;
}

/// Returns: a perfect packing with one buffer grown by a granule: nothing fits the box any more, and the load exceeds
/// it only during the life of that buffer.
[[nodiscard]] inline problem generate_nearly_infeasible(std::size_t count, std::uint64_t height, std::uint64_t moments,
                                                        std::uint64_t granule, std::uint64_t seed) {
  problem p = generate_perfect(count, height, moments, granule, seed);
  splitmix random(seed ^ 0x5eed);
  p.buffers[random.index(p.buffers.size())].size += granule;
  return p;
}

/// Returns: `count` buffers with random births, log-normal lives, and Pareto(1.1) sizes in units of 64 bytes.
[[nodiscard]] inline problem generate_random(std::size_t count, std::uint64_t seed) {
  splitmix random(seed);
  const auto uniform = [&] { return (static_cast<double>(random() >> 11) + 0.5) * 0x1p-53; };
  problem p;
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint64_t birth = random.below(count);
    const double normal = std::sqrt(-2 * std::log(uniform())) * std::cos(6.283185307179586 * uniform());
    const auto life = static_cast<std::uint64_t>(std::min(std::exp(3 + 1.5 * normal), static_cast<double>(count)));
    const auto size = static_cast<std::uint64_t>(std::min(64 * std::pow(uniform(), -1 / 1.1), 1e9));
    p.buffers.push_back(buffer::half_open(i, (size + 63) / 64 * 64, birth, birth + 1 + life));
  }
  return p;
}

/// Returns: a frame graph: three resources a pass, each live for one to six passes, 3 % of them for the frame.
[[nodiscard]] inline problem generate_frame(std::size_t count, std::uint64_t seed) {
  splitmix random(seed);
  problem p;
  const std::uint64_t passes = count / 3 + 1;
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint64_t pass = i / 3;
    const std::uint64_t texels = std::uint64_t{1} << (8 + random.below(14));
    const std::uint64_t life = random.below(100) < 3 ? passes - pass : 1 + random.below(6);
    const std::uint64_t size = texels * (std::uint64_t{4} << random.below(3));
    p.buffers.push_back(buffer::half_open(i, (size + 255) / 256 * 256, pass, std::min(pass + life, passes + 6), 256));
  }
  return p;
}

/// Returns: forward and backward passes of a network: the backward pass reads each layer's output again.
[[nodiscard]] inline problem generate_training(std::size_t count, std::uint64_t seed) {
  splitmix random(seed);
  problem p;
  const std::uint64_t layers = std::max<std::uint64_t>(1, count / 2);
  for (std::uint64_t layer = 0; layer < layers; ++layer) {
    const std::uint64_t size = 1024 * (1 + random.below(256));
    p.buffers.push_back(buffer::half_open(2 * layer, size, layer, 2 * layers - layer));
    p.buffers.push_back(buffer::half_open(2 * layer + 1, 512 * (1 + random.below(64)), layer, layer + 2));
  }
  return p;
}

}  // namespace ashlar::ASHLAR_ABI::detail::planner
