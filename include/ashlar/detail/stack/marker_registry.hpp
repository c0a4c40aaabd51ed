// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The registry of valid markers: it tells a stale marker from a live one without memory for each.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <ashlar/base/config.hpp>

namespace ashlar::ASHLAR_ABI::detail {

/// One marker's entry: the number of open markers at its creation, and a unique number.
struct mark_ticket {
  std::size_t depth = 0;
  std::uint64_t number = 0;
};

/// A marker is valid from `open` until a rewind to an older one. The registry keeps the last `remembered` depths;
/// deeper markers are mistaken for valid ones. Markers that are never rewound to cost nothing.
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

  /// Effects: invalidates the markers later than this one. Expects: `is_good(ticket)`.
  void close_after(const mark_ticket& ticket) noexcept { depth_ = ticket.depth; }
  void close_all() noexcept { depth_ = 0; }

private:
  std::size_t depth_ = 0;
  std::uint64_t last_number_ = 0;
  mark_ticket latest_[remembered] = {};
};

/// The registry of this level of checking: nothing at `fast`.
struct marker_book : if_checked<marker_registry> {
  using ticket = if_checked<mark_ticket>;
};

}  // namespace ashlar::ASHLAR_ABI::detail
