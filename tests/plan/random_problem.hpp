// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Random small problems, an O(n^2) validator and an exhaustive search: the oracles of the planner's tests.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include <ashlar/base/layout.hpp>
#include <ashlar/base/problem.hpp>
#include <ashlar/detail/planner/generate.hpp>

namespace ashlar::tests {

inline plan::problem random_problem(ashlar::detail::planner::splitmix& random, std::size_t most, std::uint64_t times,
                                    std::uint64_t sizes, bool aligned = false) {
  plan::problem p;
  const auto count = static_cast<std::size_t>(1 + random.below(most));
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint64_t birth = random.below(times);
    const std::uint64_t death = birth + 1 + random.below(times - birth);
    const std::uint64_t alignment = aligned ? std::uint64_t{1} << random.below(3) : 1;
    p.buffers.push_back(plan::buffer::half_open(i, 1 + random.below(sizes), birth, death, alignment));
  }
  return p;
}

/// Whether two buffers of one address space must not share bytes at the given offsets, gap by gap.
inline bool collide(const plan::problem& p, plan::position a, plan::position b, std::uint64_t at_a,
                    std::uint64_t at_b) {
  const plan::buffer& x = p.buffers[a];
  const plan::buffer& y = p.buffers[b];
  const auto window = [&](plan::position i, std::uint64_t t) {
    for (const plan::gap& g : p.gaps)
      if (g.buffer == i && g.begin <= t && t < g.end) return std::pair{g.low, g.high};
    return std::pair{std::uint64_t{0}, p.buffers[i].size};
  };
  for (std::uint64_t t = std::max(x.birth, y.birth); t < std::min(x.death, y.death); ++t) {
    const auto [la, ha] = window(a, t);
    const auto [lb, hb] = window(b, t);
    if (la < ha && lb < hb && at_a + la < at_b + hb && at_b + lb < at_a + ha) return true;
  }
  for (const plan::pair& q : p.apart)
    if (((q.first == a && q.second == b) || (q.first == b && q.second == a)) && at_a < at_b + y.size &&
        at_b < at_a + x.size)
      return true;
  return false;
}

/// Places buffers in every order of ascending offsets, each as low as possible. One of these layouts is optimal. Only
/// for problems without aliases, with gap windows that start at zero and pins that do not collide.
class exhaustive {
public:
  explicit exhaustive(const plan::problem& p) : p_(p), offsets_(p.buffers.size()), placed_(p.buffers.size()) {
    for (const plan::buffer& b : p.buffers) best_ += b.size + b.alignment;
    for (const plan::pin& q : p.pins) {
      offsets_[q.buffer] = q.offset;
      placed_[q.buffer] = true;
      pinned_ = std::max(pinned_, q.offset + p.buffers[q.buffer].size);
    }
    best_ += pinned_;
  }

  std::uint64_t optimum() {
    descend(p_.pins.size(), pinned_, 0);
    return best_;
  }

private:
  std::uint64_t lowest(plan::position i) const {
    std::uint64_t at = 0;
    for (bool moved = true; moved;) {
      moved = false;
      const std::uint64_t a = p_.buffers[i].alignment;
      at = (at + a - 1) / a * a;
      for (plan::position j = 0; j < placed_.size(); ++j)
        if (placed_[j] && collide(p_, i, j, at, offsets_[j])) {
          ++at;
          moved = true;
        }
    }
    return at;
  }

  void descend(std::size_t depth, std::uint64_t height, std::uint64_t from) {
    if (height >= best_) return;
    if (depth == placed_.size()) {
      best_ = height;
      return;
    }
    for (plan::position i = 0; i < placed_.size(); ++i) {
      if (placed_[i]) continue;
      offsets_[i] = lowest(i);
      if (offsets_[i] < from) continue;
      placed_[i] = true;
      descend(depth + 1, std::max(height, offsets_[i] + p_.buffers[i].size), offsets_[i]);
      placed_[i] = false;
    }
  }

  const plan::problem& p_;
  std::vector<std::uint64_t> offsets_;
  std::vector<bool> placed_;
  std::uint64_t best_ = 1;
  std::uint64_t pinned_ = 0;
};

/// Tries every buffer at every offset in every pool. For very small problems without aliases; without pools, `capacity`
/// is that of the only one.
class every_placement {
public:
  every_placement(const plan::problem& p, std::uint64_t capacity) : p_(p), pools_(p.pools) {
    if (pools_.empty()) pools_.push_back({capacity});
  }

  bool any() {
    if (placed_.size() == p_.buffers.size()) return true;
    const auto i = static_cast<plan::position>(placed_.size());
    for (std::uint32_t pool = 0; pool < pools_.size(); ++pool)
      for (std::uint64_t at = 0; at + p_.buffers[i].size <= pools_[pool].capacity; at += p_.buffers[i].alignment) {
        if (!allowed(i, pool, at)) continue;
        placed_.push_back({pool, at});
        if (any()) return true;
        placed_.pop_back();
      }
    return false;
  }

private:
  struct place {
    std::uint32_t pool;
    std::uint64_t at;
  };

  bool allowed(plan::position i, std::uint32_t pool, std::uint64_t at) const {
    for (const plan::pin& q : p_.pins)
      if (q.buffer == i && q.offset != at) return false;
    for (const plan::pool_mask& a : p_.pool_masks)
      if (a.buffer == i && (a.pools >> pool & 1) == 0) return false;
    for (plan::position j = 0; j < i; ++j)
      if (placed_[j].pool == pool && collide(p_, i, j, at, placed_[j].at)) return false;
    return true;
  }

  const plan::problem& p_;
  std::vector<plan::pool> pools_;
  std::vector<place> placed_;
};

/// The simplest validator: every pair.
inline bool valid(const plan::problem& p, const plan::layout& l) {
  if (l.offsets.size() != p.buffers.size()) return false;
  for (plan::position i = 0; i < p.buffers.size(); ++i) {
    if (l.offsets[i] % p.buffers[i].alignment != 0 || l.offsets[i] + p.buffers[i].size > l.height) return false;
    for (const plan::pin& q : p.pins)
      if (l.offsets[q.buffer] != q.offset) return false;
    for (plan::position j = 0; j < i; ++j)
      if (collide(p, i, j, l.offsets[i], l.offsets[j])) return false;
  }
  return true;
}

}  // namespace ashlar::tests
