// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Taken bytes over a range of sections, as segment trees: sorted byte ranges, or the skyline above them.
//
// Each node of the tree over the sections keeps two lists of disjoint, sorted byte ranges:
//     touching   the bytes taken in any section below the node,
//     covering   the bytes taken in all of them by one insertion.
// A range of sections splits into O(log n) whole nodes. The bytes taken in any of its sections are the union of the
// `touching` lists of those nodes and the `covering` lists of their ancestors.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <ashlar/base/config.hpp>

namespace ashlar::ASHLAR_ABI::detail::planner {

/// A range of bytes.
struct byte_range {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
};

/// Disjoint byte ranges in ascending order; ranges that meet are one.
class range_list {
public:
  [[nodiscard]] bool empty() const noexcept { return ranges_.empty(); }
  [[nodiscard]] const byte_range* begin() const noexcept { return ranges_.data(); }
  [[nodiscard]] const byte_range* end() const noexcept { return ranges_.data() + ranges_.size(); }

  /// Effects: unites the list with `r`. Complexity: O(log n + ranges moved).
  void insert(byte_range r) {
    if (ranges_.empty() || ranges_.back().end < r.begin) return ranges_.push_back(r);
    const auto first = std::lower_bound(ranges_.begin(), ranges_.end(), r.begin,
                                        [](const byte_range& x, std::uint64_t b) { return x.end < b; });
    auto last = first;
    for (; last != ranges_.end() && last->begin <= r.end; ++last) {
      r.begin = std::min(r.begin, last->begin);
      r.end = std::max(r.end, last->end);
    }
    if (first == last) {
      ranges_.insert(first, r);
    } else {
      *first = r;
      ranges_.erase(first + 1, last);
    }
  }

private:
  std::vector<byte_range> ranges_;
};

/// Walks one list upwards: `skip` moves an offset past the ranges in its way.
class range_cursor {
public:
  explicit range_cursor(const range_list& list) noexcept : at_(list.begin()), end_(list.end()) {}

  /// Returns: the least offset, `from` or the end of a range, at which `[offset, offset + size)` overlaps nothing of
  /// this list. Reads only the ranges in the way.
  [[nodiscard]] std::uint64_t skip(std::uint64_t from, std::uint64_t size) noexcept {
    gallop(from);
    for (; at_ != end_ && at_->begin < from + size; ++at_) from = at_->end;
    return from;
  }

private:
  /// Doubling steps: a long list costs the logarithm of the distance moved.
  void gallop(std::uint64_t from) noexcept {
    std::ptrdiff_t step = 1;
    while (end_ - at_ > step && at_[step].end <= from) {
      at_ += step;
      step *= 2;
    }
    for (; step != 0; step /= 2)
      while (end_ - at_ > step && at_[step].end <= from) at_ += step;
    if (at_ != end_ && at_->end <= from) ++at_;
  }

  const byte_range* at_;
  const byte_range* end_;
};

/// The taken bytes of every section. Memory: O(insertions * log(sections)) at worst.
class occupancy {
public:
  explicit occupancy(std::uint32_t sections)
      : leaves_(std::bit_ceil(std::max<std::uint32_t>(sections, 1))), nodes_(std::size_t{leaves_} * 2) {}

  /// Effects: takes the bytes `r` in the sections `[first, last)`.
  void insert(std::uint32_t first, std::uint32_t last, byte_range r) {
    std::uint32_t left = first + leaves_;
    std::uint32_t right = last + leaves_;
    for (; left < right; left /= 2, right /= 2) {
      if (left & 1) cover(left++, r);
      if (right & 1) cover(--right, r);
    }
    touch_ancestors(first + leaves_, last - 1 + leaves_, first, last, r);
  }

  /// Effects: appends lists; their union is the bytes taken in the sections `[first, last)`.
  void collect(std::uint32_t first, std::uint32_t last, std::vector<const range_list*>& lists) const {
    std::uint32_t left = first + leaves_;
    std::uint32_t right = last + leaves_;
    for (; left < right; left /= 2, right /= 2) {
      if (left & 1) add(nodes_[left++].touching, lists);
      if (right & 1) add(nodes_[--right].touching, lists);
    }
    collect_ancestors(first + leaves_, last - 1 + leaves_, first, last, lists);
  }

private:
  struct node {
    range_list touching;
    range_list covering;
  };

  static void add(const range_list& list, std::vector<const range_list*>& lists) {
    if (!list.empty()) lists.push_back(&list);
  }

  void cover(std::uint32_t n, byte_range r) {
    nodes_[n].touching.insert(r);
    nodes_[n].covering.insert(r);
  }

  /// Returns: whether a node of the given height lies wholly in `[first, last)`.
  [[nodiscard]] bool inside(std::uint32_t n, unsigned height, std::uint32_t first, std::uint32_t last) const noexcept {
    const std::uint64_t begin = (std::uint64_t{n} << height) - leaves_;
    return first <= begin && begin + (std::uint64_t{1} << height) <= last;
  }

  /// Visits the ancestors of the two outermost leaves that are not wholly inside, each once.
  template <class Visit>
  void for_each_partial(std::uint32_t left, std::uint32_t right, std::uint32_t first, std::uint32_t last,
                        Visit visit) const {
    unsigned height = 1;
    for (left /= 2, right /= 2; left != 0; left /= 2, right /= 2, ++height) {
      if (!inside(left, height, first, last)) visit(left);
      if (right != left && !inside(right, height, first, last)) visit(right);
    }
  }

  void touch_ancestors(std::uint32_t left, std::uint32_t right, std::uint32_t first, std::uint32_t last, byte_range r) {
    for_each_partial(left, right, first, last, [&](std::uint32_t n) { nodes_[n].touching.insert(r); });
  }

  void collect_ancestors(std::uint32_t left, std::uint32_t right, std::uint32_t first, std::uint32_t last,
                         std::vector<const range_list*>& lists) const {
    for_each_partial(left, right, first, last, [&](std::uint32_t n) { add(nodes_[n].covering, lists); });
  }

  std::uint32_t leaves_;
  std::vector<node> nodes_;
};

/// Returns: the least multiple of `alignment` not below `from` at which `size` bytes overlap none of the lists.
[[nodiscard]] inline std::uint64_t lowest_fit(const std::vector<const range_list*>& lists, std::uint64_t from,
                                              std::uint64_t size, std::uint64_t alignment,
                                              std::vector<range_cursor>& cursors) {
  cursors.clear();
  for (const range_list* list : lists) cursors.emplace_back(*list);
  std::uint64_t offset = from;
  std::size_t agreeing = 0;  // lists in a row without an overlap at the offset
  for (std::size_t k = 0; agreeing < cursors.size(); k = k + 1 == cursors.size() ? 0 : k + 1) {
    const std::uint64_t free = cursors[k].skip(offset, size);
    const std::uint64_t next = (free + alignment - 1) & ~(alignment - 1);
    // A list is free at the offset that it returns, but perhaps not at that offset rounded up.
    agreeing = next == offset ? agreeing + 1 : next == free ? 1 : 0;
    offset = next;
  }
  return offset;
}

/// The height reached in each section. Heights only rise, so nothing has to be passed down the tree.
class skyline {
public:
  explicit skyline(std::uint32_t sections)
      : leaves_(std::bit_ceil(std::max<std::uint32_t>(sections, 1))), highest_(std::size_t{leaves_} * 2),
        covering_(std::size_t{leaves_} * 2) {}

  /// Returns: the greatest height in the sections `[first, last)`. Complexity: O(log n).
  [[nodiscard]] std::uint64_t over(std::uint32_t first, std::uint32_t last) const noexcept {
    std::uint64_t most = 0;
    std::uint32_t left = first + leaves_, right = last + leaves_;
    for (; left < right; left /= 2, right /= 2) {
      if (left & 1) most = std::max(most, highest_[left++]);
      if (right & 1) most = std::max(most, highest_[--right]);
    }
    for (left = first + leaves_, right = last - 1 + leaves_; left != 0; left /= 2, right /= 2)
      most = std::max({most, covering_[left], covering_[right]});
    return most;
  }

  /// Effects: sets the height of the sections `[first, last)`. Expects: `height` is not lower than `over(first, last)`.
  void raise(std::uint32_t first, std::uint32_t last, std::uint64_t height) noexcept {
    std::uint32_t left = first + leaves_, right = last + leaves_;
    for (; left < right; left /= 2, right /= 2) {
      if (left & 1) cover(left++, height);
      if (right & 1) cover(--right, height);
    }
    for (left = first + leaves_, right = last - 1 + leaves_; left != 0; left /= 2, right /= 2)
      for (const std::uint32_t n : {left, right}) highest_[n] = std::max(highest_[n], height);
  }

private:
  void cover(std::uint32_t n, std::uint64_t height) noexcept { highest_[n] = covering_[n] = height; }

  std::uint32_t leaves_;
  std::vector<std::uint64_t> highest_;   // the maximum of the sections below the node
  std::vector<std::uint64_t> covering_;  // the height of the last raise that took the whole node
};

}  // namespace ashlar::ASHLAR_ABI::detail::planner
