// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Knows which markers are still good: what tells a stale marker from a live one without memory for each.
#pragma once

#include <cstddef>
#include <cstdint>

#include <ashlar/base/config.hpp>

namespace ashlar {
inline namespace ASHLAR_ABI {
namespace detail {

/// One marker's entry: how many were open when it was made, and a number that no other has.
struct mark_ticket {
  std::size_t depth = 0;
  std::uint64_t number = 0;
};

/// A marker is good from `open` until an older one is gone back to. The book remembers the last `remembered` depths;
/// what lies deeper is taken for good. Markers that are never gone back to cost nothing.
class marker_registry {
public:
  static constexpr std::size_t remembered = 32;

  constexpr marker_registry() = default;

  [[nodiscard]] mark_ticket open() noexcept {
    const mark_ticket opened{++depth_, ++last_number_};
    latest_[depth_ % remembered] = opened;
    return opened;
  }

  [[nodiscard]] bool is_good(const mark_ticket& ticket) const noexcept {
    const mark_ticket& known = latest_[ticket.depth % remembered];
    if (ticket.depth == 0 || ticket.depth > depth_) return false;
    return known.depth != ticket.depth || known.number == ticket.number;
  }

  /// Effects: markers later than this one are good no longer. Expects: `is_good(ticket)`.
  void close_after(const mark_ticket& ticket) noexcept { depth_ = ticket.depth; }
  void close_all() noexcept { depth_ = 0; }

private:
  std::size_t depth_ = 0;
  std::uint64_t last_number_ = 0;
  mark_ticket latest_[remembered] = {};
};

/// The book where nobody looks: at level `fast`.
class no_marker_registry {
public:
  struct ticket {};

  [[nodiscard]] ticket open() noexcept { return {}; }
  [[nodiscard]] bool is_good(ticket) const noexcept { return true; }
  void close_after(ticket) noexcept {}
  void close_all() noexcept {}
};

}  // namespace detail
}  // namespace ASHLAR_ABI
}  // namespace ashlar
