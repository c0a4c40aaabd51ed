// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A hash table by address in pages of its own, for what a profiler may not see allocated.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include <ashlar/base/config.hpp>
#include <ashlar/detail/support/bits.hpp>
#include <ashlar/os/pages.hpp>

namespace ashlar::ASHLAR_ABI::detail {

/// Open addressing, at most half full. An `Entry` has its address in `block`, null for none, and is that if its bytes
/// are zero. It doubles when it is half full; without memory it stays, and an `add` fails.
/// Invariant: every slot between an entry and its home is taken. Constant-initialised. Thread safety: none. Complexity:
/// O(1) expected, unless stated otherwise.
template <class Entry>
class address_table {
public:
  constexpr address_table() noexcept = default;
  address_table(const address_table&) = delete;
  address_table& operator=(const address_table&) = delete;
  ~address_table() { give_back(slots_, capacity_); }

  /// Returns: false without memory for another entry. Complexity: O(capacity) when it grows.
  [[nodiscard]] bool make_room() noexcept { return (size_ + 1) * 2 <= capacity_ || grow(); }
  /// Effects: adds an entry, in place of one with the address. Returns: that one, or none. Expects: `make_room`.
  Entry put(const Entry& entry) noexcept {
    const Entry former = std::exchange(slots_[slot_of(entry.block)], entry);
    size_ += former.block == nullptr ? 1 : 0;
    return former;
  }

  /// Returns: the entry of the address, or none.
  [[nodiscard]] Entry find(const void* block) const noexcept { return size_ != 0 ? slots_[slot_of(block)] : Entry{}; }

  /// Effects: removes the entry of the address. Returns: it, or none.
  Entry remove(const void* block) noexcept {
    if (size_ == 0) return {};
    const std::size_t at = slot_of(block);
    const Entry gone = slots_[at];
    if (gone.block != nullptr) erase(at);
    return gone;
  }

  /// Effects: removes each entry for which `f(entry)` is true. Complexity: O(capacity).
  template <class F>
  void remove_if(F f) noexcept {
    for (std::size_t at = 0; at < capacity_;)
      if (slots_[at].block != nullptr && f(std::as_const(slots_[at]))) erase(at);  // another one may have moved here
      else ++at;
  }

  [[nodiscard]] std::size_t size() const noexcept { return size_; }

  /// Complexity: O(capacity).
  [[nodiscard]] bool invariant() const noexcept {
    std::size_t seen = 0;
    for (std::size_t at = 0; at != capacity_; ++at) {
      if (slots_[at].block == nullptr) continue;
      if (slot_of(slots_[at].block) != at) return false;
      ++seen;
    }
    return seen == size_;
  }

private:
  static constexpr std::size_t first_capacity = 4096;

  [[nodiscard]] static std::size_t bytes_of(std::size_t capacity) noexcept {
    return os::pages::round_up(capacity * sizeof(Entry));
  }
  static void give_back(Entry* first, std::size_t capacity) noexcept {
    if (first != nullptr) os::pages::release(first, bytes_of(capacity));
  }

  [[nodiscard]] std::size_t home_of(const void* block) const noexcept {
    const std::uint64_t mixed = std::uint64_t{address_of(block)} * 0x9E3779B97F4A7C15;
    return static_cast<std::size_t>(mixed ^ (mixed >> 32)) & (capacity_ - 1);
  }

  // Returns: the index of the block's slot, or of the empty slot for it. Expects: there are slots.
  [[nodiscard]] std::size_t slot_of(const void* block) const noexcept {
    std::size_t at = home_of(block);
    while (slots_[at].block != nullptr && slots_[at].block != block) at = (at + 1) & (capacity_ - 1);
    return at;
  }

  // Deletion by backward shift: displaced entries after the hole move into it.
  void erase(std::size_t hole) noexcept {
    --size_;
    for (std::size_t at = hole;;) {
      slots_[hole] = {};
      do {
        at = (at + 1) & (capacity_ - 1);
        if (slots_[at].block == nullptr) return;
      } while (((at - home_of(slots_[at].block)) & (capacity_ - 1)) < ((at - hole) & (capacity_ - 1)));
      slots_[hole] = slots_[at];
      hole = at;
    }
  }

  [[nodiscard]] bool grow() noexcept {
    const std::size_t wanted = capacity_ != 0 ? 2 * capacity_ : first_capacity;
    void* const fresh = os::pages::map(bytes_of(wanted), os::pages::page_bytes());
    if (fresh == nullptr) return false;
    Entry* const old = std::exchange(slots_, static_cast<Entry*>(fresh));  // zeros are empty entries
    const std::size_t count = std::exchange(capacity_, wanted);
    for (std::size_t at = 0; at != count; ++at)
      if (old[at].block != nullptr) slots_[slot_of(old[at].block)] = old[at];
    give_back(old, count);
    return true;
  }

  Entry* slots_ = nullptr;
  std::size_t capacity_ = 0;  // a power of two
  std::size_t size_ = 0;
};

}  // namespace ashlar::ASHLAR_ABI::detail
