// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The problem: buffers with lives, the constraints between them, and a check of both; the steps of their lives.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include <ashlar/base/config.hpp>

namespace ashlar::ASHLAR_ABI::plan {

/// One buffer, live in `[birth, death)`: a buffer may reuse the bytes of one that dies at its birth. Sizes are in
/// bytes; the caller chooses the unit of moments (operators, passes, nanoseconds).
struct buffer {
  std::uint64_t id = 0;
  std::uint64_t size = 0;
  std::uint64_t alignment = 1;
  std::uint64_t birth = 0;
  std::uint64_t death = 0;

  /// Live in `[birth, death)`.
  [[nodiscard]] static constexpr buffer half_open(std::uint64_t id, std::uint64_t size, std::uint64_t birth,
                                                  std::uint64_t death, std::uint64_t alignment = 1) noexcept {
    return {id, size, alignment, birth, death};
  }

  /// Used first at `first` and last at `last`, both included, the convention of TFLite, IREE, Halide and XLA. Expects:
  /// `last` is less than the greatest 64-bit number.
  [[nodiscard]] static constexpr buffer inclusive(std::uint64_t id, std::uint64_t size, std::uint64_t first,
                                                  std::uint64_t last, std::uint64_t alignment = 1) noexcept {
    return {id, size, alignment, first, last + 1};
  }

  friend constexpr bool operator==(const buffer&, const buffer&) = default;
};

/// Returns: whether two buffers are live at a common moment.
[[nodiscard]] constexpr bool live_together(const buffer& a, const buffer& b) noexcept {
  return a.birth < b.death && b.birth < a.death;
}

/// The position of a buffer in `problem::buffers`. Constraints and layouts use positions, not ids.
using position = std::uint32_t;

/// During `[begin, end)` the buffer keeps only its bytes `[low, high)`; by default it keeps none.
struct gap {
  position buffer = 0;
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  std::uint64_t low = 0;
  std::uint64_t high = 0;
  friend constexpr bool operator==(const gap&, const gap&) = default;
};

/// The buffer must lie exactly at `offset`.
struct pin {
  position buffer = 0;
  std::uint64_t offset = 0;
  friend constexpr bool operator==(const pin&, const pin&) = default;
};

/// Two buffers tied by a rule, which is the rule of the list with the pair.
struct pair {
  position first = 0;
  position second = 0;
  friend constexpr bool operator==(const pair&, const pair&) = default;
};

/// A separate address space. Offsets count from the start of the pool.
struct pool {
  std::uint64_t capacity = 0;
  friend constexpr bool operator==(const pool&, const pool&) = default;
};

/// The buffer may lie in pool `p` only if bit `p` of `pools` is set.
struct pool_mask {
  position buffer = 0;
  std::uint64_t pools = ~std::uint64_t{0};
  friend constexpr bool operator==(const pool_mask&, const pool_mask&) = default;
};

/// Buffers and constraints. An empty list means no such constraint; no pools mean one pool without a limit.
struct problem {
  std::vector<buffer> buffers{};
  std::vector<gap> gaps{};      ///< Buffers dead in the middle of their lives.
  std::vector<pin> pins{};      ///< Buffers with a given offset.
  std::vector<pair> aliases{};  ///< Pairs at one offset and in one pool; chains of pairs make groups.
  std::vector<pair> apart{};    ///< Pairs that must share no byte, regardless of their lifetimes.
  std::vector<pool> pools{};    ///< At most 64.
  std::vector<pool_mask> pool_masks{};

  /// Returns: whether the problem consists of buffers alone.
  [[nodiscard]] bool unconstrained() const noexcept {
    return gaps.empty() && pins.empty() && aliases.empty() && apart.empty() && pools.empty() && pool_masks.empty();
  }
};

/// The reason to reject a problem.
enum class defect {
  zero_size,
  zero_alignment,
  alignment_not_power_of_two,
  dies_before_birth,
  dies_at_birth,
  duplicate_id,
  sum_too_large,
  too_many_buffers,
  no_such_buffer,
  gap_outside_life,
  gap_window,
  gaps_overlap,
  pinned_twice,
  pin_misaligned,
  alias_conflict,
  too_many_pools,
  no_allowed_pool
};

[[nodiscard]] constexpr std::string_view describe(defect d) noexcept {
  switch (d) {
    case defect::zero_size: return "the size is zero";
    case defect::zero_alignment: return "the alignment is zero";
    case defect::alignment_not_power_of_two: return "the alignment is not a power of two";
    case defect::dies_before_birth: return "the lifetime of the buffer ends before it begins";
    case defect::dies_at_birth: return "the lifetime of the buffer is empty";
    case defect::duplicate_id: return "another buffer has the same id";
    case defect::sum_too_large: return "the sizes and alignments together exceed 2^62 bytes";
    case defect::too_many_buffers: return "there are more than 2^31 buffers";
    case defect::no_such_buffer: return "a constraint names a buffer that does not exist";
    case defect::gap_outside_life: return "the gap is not inside the lifetime of its buffer";
    case defect::gap_window: return "the window of the gap is not inside its buffer";
    case defect::gaps_overlap: return "two gaps of the buffer overlap";
    case defect::pinned_twice: return "the buffer is pinned to two offsets";
    case defect::pin_misaligned: return "the pinned offset does not have the alignment of the buffer";
    case defect::alias_conflict: return "the buffer must both share the offset of another buffer and be apart from it";
    case defect::too_many_pools: return "there are more than 64 pools";
    case defect::no_allowed_pool: return "the buffer is allowed in no pool";
  }
  return "defect";
}

/// The first defect found, and its buffer.
struct problem_error {
  defect what = defect::zero_size;
  position buffer = 0;
};

/// Limit of the sum of sizes, alignments and pins, in bytes: every sum of the planner then fits 64 bits.
inline constexpr std::uint64_t max_total_bytes = std::uint64_t{1} << 62;

}  // namespace ashlar::ASHLAR_ABI::plan

namespace ashlar::ASHLAR_ABI {

namespace detail::planner {

using plan::buffer;
using plan::defect;
using plan::gap;
using plan::max_total_bytes;
using plan::pair;
using plan::pin;
using plan::pool;
using plan::pool_mask;
using plan::position;
using plan::problem;
using plan::problem_error;

/// Disjoint sets with path halving. The lowest member represents its set.
class disjoint_sets {
public:
  explicit disjoint_sets(std::size_t count) : parent_(count) {
    for (position i = 0; i < count; ++i) parent_[i] = i;
  }

  [[nodiscard]] position find(position i) noexcept {
    while (parent_[i] != i) i = parent_[i] = parent_[parent_[i]];
    return i;
  }

  void unite(position a, position b) noexcept {
    a = find(a);
    b = find(b);
    if (a > b) std::swap(a, b);
    parent_[b] = a;
  }

private:
  std::vector<position> parent_;
};

/// Returns: for each buffer the first buffer of its group; itself if it is alone. Expects: the pairs name existing
/// buffers.
[[nodiscard]] inline std::vector<position> group_aliases(const problem& p) {
  disjoint_sets sets(p.buffers.size());
  for (const pair& q : p.aliases) sets.unite(q.first, q.second);
  std::vector<position> group(p.buffers.size());
  for (position i = 0; i < group.size(); ++i) group[i] = sets.find(i);
  return group;
}

using maybe_error = std::optional<problem_error>;

[[nodiscard]] constexpr std::optional<defect> defect_of(const buffer& b) noexcept {
  if (b.size == 0) return defect::zero_size;
  if (b.alignment == 0) return defect::zero_alignment;
  if ((b.alignment & (b.alignment - 1)) != 0) return defect::alignment_not_power_of_two;
  if (b.death < b.birth) return defect::dies_before_birth;
  if (b.death == b.birth) return defect::dies_at_birth;
  return std::nullopt;
}

/// Adds `amount` to `total` unless the sum exceeds the limit. Returns: whether it did.
constexpr bool add_within_limit(std::uint64_t& total, std::uint64_t amount) noexcept {
  if (amount > max_total_bytes - total) return false;
  total += amount;
  return true;
}

inline maybe_error check_buffers(const std::vector<buffer>& buffers, std::uint64_t& total) {
  if (buffers.size() > (std::size_t{1} << 31) - 1) return problem_error{defect::too_many_buffers, 0};
  for (position i = 0; i < buffers.size(); ++i) {
    if (const auto d = defect_of(buffers[i])) return problem_error{*d, i};
    if (!add_within_limit(total, buffers[i].size)) return problem_error{defect::sum_too_large, i};
    if (!add_within_limit(total, buffers[i].alignment - 1)) return problem_error{defect::sum_too_large, i};
  }
  return std::nullopt;
}

inline maybe_error check_ids(const std::vector<buffer>& buffers) {
  std::vector<position> order(buffers.size());
  for (position i = 0; i < order.size(); ++i) order[i] = i;
  const auto id_then_position = [&](position a, position b) {
    return buffers[a].id != buffers[b].id ? buffers[a].id < buffers[b].id : a < b;
  };
  if (!std::is_sorted(order.begin(), order.end(), id_then_position))
    std::sort(order.begin(), order.end(), id_then_position);
  for (std::size_t k = 1; k < order.size(); ++k)
    if (buffers[order[k]].id == buffers[order[k - 1]].id) return problem_error{defect::duplicate_id, order[k]};
  return std::nullopt;
}

inline maybe_error check_gap(const problem& p, const gap& g) noexcept {
  if (g.buffer >= p.buffers.size()) return problem_error{defect::no_such_buffer, g.buffer};
  const buffer& b = p.buffers[g.buffer];
  if (g.begin >= g.end || g.begin < b.birth || g.end > b.death)
    return problem_error{defect::gap_outside_life, g.buffer};
  if (g.low > g.high || g.high > b.size) return problem_error{defect::gap_window, g.buffer};
  return std::nullopt;
}

/// Returns: the gaps by buffer and time.
[[nodiscard]] inline std::vector<gap> sorted_gaps(const problem& p) {
  std::vector<gap> sorted = p.gaps;
  std::sort(sorted.begin(), sorted.end(),
            [](const gap& a, const gap& b) { return a.buffer != b.buffer ? a.buffer < b.buffer : a.begin < b.begin; });
  return sorted;
}

inline maybe_error check_gaps(const problem& p) {
  for (const gap& g : p.gaps)
    if (const auto e = check_gap(p, g)) return e;
  const std::vector<gap> sorted = sorted_gaps(p);
  for (std::size_t k = 1; k < sorted.size(); ++k)
    if (sorted[k].buffer == sorted[k - 1].buffer && sorted[k].begin < sorted[k - 1].end)
      return problem_error{defect::gaps_overlap, sorted[k].buffer};
  return std::nullopt;
}

inline maybe_error check_pins(const problem& p) {
  std::vector<bool> pinned(p.buffers.size());
  for (const pin& q : p.pins) {
    if (q.buffer >= p.buffers.size()) return problem_error{defect::no_such_buffer, q.buffer};
    if (pinned[q.buffer]) return problem_error{defect::pinned_twice, q.buffer};
    pinned[q.buffer] = true;
    if (q.offset % p.buffers[q.buffer].alignment != 0) return problem_error{defect::pin_misaligned, q.buffer};
    if (q.offset > max_total_bytes) return problem_error{defect::sum_too_large, q.buffer};
  }
  return std::nullopt;
}

inline maybe_error check_group_pins(const problem& p, const std::vector<position>& group) {
  constexpr std::uint64_t free = ~std::uint64_t{0};
  std::vector<std::uint64_t> offset(p.buffers.size(), free);
  for (const pin& q : p.pins) {
    std::uint64_t& agreed = offset[group[q.buffer]];
    if (agreed != free && agreed != q.offset) return problem_error{defect::pinned_twice, q.buffer};
    agreed = q.offset;
  }
  return std::nullopt;
}

inline maybe_error check_pairs(const problem& p) {
  for (const auto* list : {&p.aliases, &p.apart})
    for (const pair& q : *list)
      if (std::max(q.first, q.second) >= p.buffers.size())
        return problem_error{defect::no_such_buffer, std::max(q.first, q.second)};
  if (p.apart.empty() && (p.aliases.empty() || p.pins.empty())) return std::nullopt;
  const std::vector<position> group = group_aliases(p);
  for (const pair& q : p.apart)
    if (group[q.first] == group[q.second]) return problem_error{defect::alias_conflict, q.second};
  return check_group_pins(p, group);
}

inline maybe_error check_pools(const problem& p) {
  if (p.pools.size() > 64) return problem_error{defect::too_many_pools, 0};
  const std::size_t count = std::max<std::size_t>(p.pools.size(), 1);
  const std::uint64_t all = count == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << count) - 1;
  for (const pool_mask& m : p.pool_masks)
    if (m.buffer >= p.buffers.size()) return problem_error{defect::no_such_buffer, m.buffer};
  if (p.pool_masks.empty()) return std::nullopt;
  const std::vector<position> group = group_aliases(p);
  std::vector<std::uint64_t> left(p.buffers.size(), all);  // of each group
  for (const pool_mask& m : p.pool_masks)
    if ((left[group[m.buffer]] &= m.pools) == 0) return problem_error{defect::no_allowed_pool, m.buffer};
  return std::nullopt;
}

}  // namespace detail::planner

namespace plan {

/// Returns: the first defect, in the order sizes, ids, gaps, pins, pairs, pools; nothing if the problem is sound.
/// Complexity: O(n log n).
[[nodiscard]] inline std::optional<problem_error> check(const problem& p) {
  std::uint64_t total = 0;
  if (const auto e = detail::planner::check_buffers(p.buffers, total)) return e;
  if (const auto e = detail::planner::check_ids(p.buffers)) return e;
  if (const auto e = detail::planner::check_gaps(p)) return e;
  if (const auto e = detail::planner::check_pins(p)) return e;
  if (const auto e = detail::planner::check_pairs(p)) return e;
  return detail::planner::check_pools(p);
}

}  // namespace plan

}  // namespace ashlar::ASHLAR_ABI

namespace ashlar::ASHLAR_ABI::plan {

/// One birth or death as one number, so that a table of steps is small.
struct step {
  std::uint32_t code = 0;

  [[nodiscard]] static constexpr step birth(position i) noexcept { return {i << 1}; }
  [[nodiscard]] static constexpr step death(position i) noexcept { return {i << 1 | 1}; }
  [[nodiscard]] constexpr position buffer() const noexcept { return code >> 1; }
  [[nodiscard]] constexpr bool dies() const noexcept { return (code & 1) != 0; }
  friend constexpr bool operator==(const step&, const step&) = default;
};

/// Returns: the births and deaths of all buffers in the order of time; at one moment deaths first, then by position.
/// Expects: at most 2^31 buffers. Complexity: O(n log n).
[[nodiscard]] inline std::vector<step> steps_of(const std::vector<buffer>& buffers) {
  using key = std::tuple<std::uint64_t, bool, position>;  // moment, birth, buffer
  std::vector<key> keys;
  keys.reserve(2 * buffers.size());
  for (position i = 0; i < buffers.size(); ++i) {
    keys.emplace_back(buffers[i].birth, true, i);
    keys.emplace_back(buffers[i].death, false, i);
  }
  std::sort(keys.begin(), keys.end());
  std::vector<step> steps(keys.size());
  for (std::size_t k = 0; k < keys.size(); ++k) {
    const auto& [moment, born, i] = keys[k];
    steps[k] = born ? step::birth(i) : step::death(i);
  }
  return steps;
}

}  // namespace ashlar::ASHLAR_ABI::plan
