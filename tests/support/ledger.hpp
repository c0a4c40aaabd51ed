// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The book of live blocks: every block enters once, leaves once as it entered, and overlaps no other.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <optional>
#include <ostream>
#include <utility>

#include <gtest/gtest.h>

namespace ashlar_test {

/// What is live: `r.balance() == nothing` says that all came back.
struct holdings {
  std::size_t blocks = 0;
  std::size_t bytes = 0;

  friend bool operator==(const holdings&, const holdings&) = default;
  friend std::ostream& operator<<(std::ostream& out, const holdings& held) {
    return out << held.blocks << " blocks, " << held.bytes << " bytes";
  }
};

inline constexpr holdings nothing{};

/// Each entry that cannot be right is a test failure. Moving leaves an empty book.
class ledger {
public:
  struct entry {
    std::size_t bytes = 0;
    std::size_t alignment = 0;
    friend bool operator==(const entry&, const entry&) = default;
  };

  ledger() = default;
  ledger(ledger&& other) noexcept
      : live_(std::move(other.live_)), held_(std::exchange(other.held_, {})), peak_(std::exchange(other.peak_, {})) {
    other.live_.clear();
  }
  ledger& operator=(ledger&&) = delete;

  void add(const void* p, std::size_t bytes, std::size_t alignment) {
    const auto at = reinterpret_cast<std::uintptr_t>(p);
    if (p == nullptr) ADD_FAILURE() << "a block of " << bytes << " bytes is null";
    if ((at & (alignment - 1)) != 0) ADD_FAILURE() << "block " << p << " is not aligned to " << alignment;
    if (overlaps(at, bytes)) ADD_FAILURE() << "block " << p << " of " << bytes << " bytes overlaps a live block";
    live_[at] = {bytes, alignment};
    held_ = {held_.blocks + 1, held_.bytes + bytes};
    peak_ = {std::max(peak_.blocks, held_.blocks), std::max(peak_.bytes, held_.bytes)};
  }

  /// Returns: the block as it was added, or nothing where it is not live.
  std::optional<entry> remove(const void* p, std::size_t bytes, std::size_t alignment) {
    const auto found = live_.find(reinterpret_cast<std::uintptr_t>(p));
    if (found == live_.end()) {
      ADD_FAILURE() << p << " is no live block";
      return std::nullopt;
    }
    const entry was = found->second;
    if (was != entry{bytes, alignment})
      ADD_FAILURE() << "block " << p << " of " << was.bytes << " bytes at alignment " << was.alignment
                    << " comes back as " << bytes << " bytes at alignment " << alignment;
    held_ = {held_.blocks - 1, held_.bytes - was.bytes};
    live_.erase(found);
    return was;
  }

  /// Returns: whether a block of `bytes` at `at` would share a byte, or its address, with a live one.
  [[nodiscard]] bool overlaps(std::uintptr_t at, std::size_t bytes) const {
    const auto above = live_.lower_bound(at);
    if (above != live_.end() && above->first - at < std::max(bytes, std::size_t{1})) return true;
    return above != live_.begin() && at - std::prev(above)->first < std::prev(above)->second.bytes;
  }

  [[nodiscard]] holdings live() const { return held_; }
  [[nodiscard]] holdings peak() const { return peak_; }
  [[nodiscard]] const std::map<std::uintptr_t, entry>& blocks() const { return live_; }

private:
  std::map<std::uintptr_t, entry> live_;
  holdings held_;
  holdings peak_;
};

}  // namespace ashlar_test
