// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The table of blocks reported to a heap profiler, which lets a pool report the end of all its blocks at once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include <ashlar/base/config.hpp>
#include <ashlar/base/lock.hpp>
#include <ashlar/detail/support/bits.hpp>
#include <ashlar/fwd.hpp>
#include <ashlar/os/pages.hpp>

namespace ashlar::ASHLAR_ABI::detail {

/// A hash table of addresses with open addressing, at most half full, in separate pages that a profiler does not see.
/// When the system has no pages left, new blocks are not recorded, without another effect.
/// Invariant: every slot between an entry and its home is taken.
/// Thread safety: any thread. Complexity: O(1) expected; `end` is O(capacity).
class profiled_blocks {
public:
  profiled_blocks() = default;
  profiled_blocks(const profiled_blocks&) = delete;
  profiled_blocks& operator=(const profiled_blocks&) = delete;
  ~profiled_blocks() { give_back(); }

  /// Effects: records `pool` as the only owner of the block. Returns: whether the address was already recorded, which
  /// means that the end of the earlier block was not reported.
  bool note(const void* block, const void* pool) noexcept {
    const check_scope<spin_lock> held(lock_);
    if ((size_ + 1) * 2 > capacity_ && !grow()) return false;
    entry& place = slots_[find(block)];
    const bool was_noted = std::exchange(place, {block, pool}).block != nullptr;
    if (!was_noted) ++size_;
    return was_noted;
  }

  /// Effects: removes a block, if it is recorded.
  void forget(const void* block) noexcept {
    const check_scope<spin_lock> held(lock_);
    if (size_ == 0) return;
    if (const std::size_t at = find(block); slots_[at].block != nullptr) erase(at);
  }

  /// Effects: calls `f(block)` for each block of the pool and removes it. Expects: `f` does not use this table.
  template <class F>
  void end(const void* pool, F f) noexcept {
    const check_scope<spin_lock> held(lock_);
    for (std::size_t at = 0; at < capacity_;) {
      if (slots_[at].block == nullptr || slots_[at].pool != pool) {
        ++at;
        continue;
      }
      f(slots_[at].block);
      erase(at);  // another entry may have moved here
    }
  }

  [[nodiscard]] std::size_t size() const noexcept {
    const check_scope<spin_lock> held(lock_);
    return size_;
  }

  /// Effects: holds the lock, so that a fork finds it free.
  void before_fork() noexcept { lock_.lock(); }
  void after_fork() noexcept { lock_.unlock(); }

  /// Complexity: O(entries).
  [[nodiscard]] bool invariant() const noexcept {
    const check_scope<spin_lock> held(lock_);
    std::size_t seen = 0;
    for (std::size_t at = 0; at != capacity_; ++at) {
      if (slots_[at].block == nullptr) continue;
      if (find(slots_[at].block) != at) return false;
      ++seen;
    }
    return seen == size_;
  }

private:
  struct entry {
    const void* block = nullptr;
    const void* pool = nullptr;
  };

  [[nodiscard]] std::size_t home(const void* block) const noexcept {
    const std::uint64_t mixed = std::uint64_t{address_of(block)} * 0x9E3779B97F4A7C15;
    return static_cast<std::size_t>(mixed ^ (mixed >> 32)) & (capacity_ - 1);
  }

  // Returns: the index of the block's slot, or of the empty slot for it.
  [[nodiscard]] std::size_t find(const void* block) const noexcept {
    std::size_t at = home(block);
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
      } while (((at - home(slots_[at].block)) & (capacity_ - 1)) < ((at - hole) & (capacity_ - 1)));
      slots_[hole] = slots_[at];
      hole = at;
    }
  }

  [[nodiscard]] bool grow() noexcept {
    const std::size_t wanted = capacity_ != 0 ? 2 * capacity_ : 4096;
    void* const fresh = os::pages::map(os::pages::round_up(wanted * sizeof(entry)), os::pages::page_bytes());
    if (fresh == nullptr) return false;
    const entry* const old = std::exchange(slots_, static_cast<entry*>(fresh));  // zeros are empty entries
    const std::size_t count = std::exchange(capacity_, wanted);
    for (std::size_t at = 0; at != count; ++at)
      if (old[at].block != nullptr) slots_[find(old[at].block)] = old[at];
    if (old != nullptr) os::pages::release(const_cast<entry*>(old), os::pages::round_up(count * sizeof(entry)));
    return true;
  }

  void give_back() noexcept {
    if (slots_ != nullptr) os::pages::release(slots_, os::pages::round_up(capacity_ * sizeof(entry)));
  }

  mutable spin_lock lock_;
  entry* slots_ = nullptr;
  std::size_t capacity_ = 0;  // a power of two
  std::size_t size_ = 0;
};

}  // namespace ashlar::ASHLAR_ABI::detail
