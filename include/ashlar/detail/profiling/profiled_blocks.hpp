// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The table of blocks reported to a heap profiler, which lets a pool report the end of all its blocks at once.
#pragma once

#include <cstddef>

#include <ashlar/base/config.hpp>
#include <ashlar/base/lock.hpp>
#include <ashlar/detail/profiling/address_table.hpp>

namespace ashlar::ASHLAR_ABI::detail {

/// An `address_table` under a lock, in pages that a profiler does not see. When the system has no pages left, new
/// blocks are not recorded, without another effect. Thread safety: any thread. Complexity: O(1) expected; `end` is
/// O(capacity).
class profiled_blocks {
public:
  /// Effects: records `pool` as the only owner of the block. Returns: whether the address was already recorded, which
  /// means that the end of the earlier block was not reported.
  bool note(const void* block, const void* pool) noexcept {
    const check_scope<spin_lock> held(lock_);
    return table_.make_room() && table_.put({block, pool}).block != nullptr;
  }

  /// Effects: removes a block, if it is recorded.
  void forget(const void* block) noexcept {
    const check_scope<spin_lock> held(lock_);
    table_.remove(block);
  }

  /// Effects: calls `f(block)` for each block of the pool and removes it. Expects: `f` does not use this table.
  template <class F>
  void end(const void* pool, F f) noexcept {
    const check_scope<spin_lock> held(lock_);
    table_.remove_if([&](const entry& each) {
      if (each.pool != pool) return false;
      f(each.block);
      return true;
    });
  }

  [[nodiscard]] std::size_t size() const noexcept {
    const check_scope<spin_lock> held(lock_);
    return table_.size();
  }

  /// Effects: holds the lock, so that a fork finds it free.
  void before_fork() noexcept { lock_.lock(); }
  void after_fork() noexcept { lock_.unlock(); }

  /// Complexity: O(entries).
  [[nodiscard]] bool invariant() const noexcept {
    const check_scope<spin_lock> held(lock_);
    return table_.invariant();
  }

private:
  struct entry {
    const void* block = nullptr;
    const void* pool = nullptr;
  };

  mutable spin_lock lock_;
  address_table<entry> table_;
};

}  // namespace ashlar::ASHLAR_ABI::detail
