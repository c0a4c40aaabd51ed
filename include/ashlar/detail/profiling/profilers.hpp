// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Reports of blocks that do not come from malloc to heap profilers and memory checkers: heaptrack and Valgrind.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include <ashlar/base/bits.hpp>
#include <ashlar/base/config.hpp>
#include <ashlar/base/lock.hpp>
#include <ashlar/detail/support/poison.hpp>
#include <ashlar/detail/thread/fork.hpp>
#include <ashlar/os/pages.hpp>

namespace ashlar::ASHLAR_ABI::detail {

/// A hash table by address in pages of its own, for what a profiler may not see allocated. Open addressing, at most
/// half full. An `Entry` has its address in `block`, null for none, and is that if its bytes are zero. It doubles when
/// it is half full; without memory it stays, and an `add` fails.
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

#if defined(ASHLAR_VALGRIND)
#include <valgrind/valgrind.h>
#endif

#if defined(__ELF__)
// As in heaptrack_api.h: weak, so null in a process without heaptrack. Nothing is linked.
extern "C" {
__attribute__((weak)) void heaptrack_malloc(void* p, std::size_t bytes);
__attribute__((weak)) void heaptrack_realloc(void* p, std::size_t bytes, void* moved_to);
__attribute__((weak)) void heaptrack_free(void* p);
}
#endif

namespace ashlar::ASHLAR_ABI::detail {

// Never destroyed, since pools may outlive every static object.
union lasting_blocks {
  profiled_blocks blocks;

  constexpr lasting_blocks() noexcept : blocks() {}
  ~lasting_blocks() {}
};

/// heaptrack records each block with the backtrace of its allocation. Without heaptrack the cost is one load and one
/// predicted branch for each call.
class heaptrack {
public:
#if defined(__ELF__)
  [[nodiscard]] static ASHLAR_INLINE bool is_there() noexcept { return &heaptrack_malloc != nullptr; }

  ASHLAR_COLD static void allocated(const void* pool, void* p, std::size_t bytes) noexcept {
    fork_participants::enter(at_fork_);
    if (reported_.blocks.note(p, pool)) tell_freed(p);  // its end was not reported, as after a rewind
    heaptrack_malloc(p, bytes);
  }
  ASHLAR_COLD static void resized(void* p, std::size_t bytes) noexcept {
    if (&heaptrack_realloc != nullptr) heaptrack_realloc(p, bytes, p);
  }
  ASHLAR_COLD static void freed(void* p) noexcept {
    reported_.blocks.forget(p);
    tell_freed(p);
  }
  /// Effects: reports the end of all blocks of the pool.
  ASHLAR_COLD static void all_freed(const void* pool) noexcept {
    reported_.blocks.end(pool, [](const void* p) { tell_freed(const_cast<void*>(p)); });
  }

private:
  static void tell_freed(void* p) noexcept {
    if (&heaptrack_free != nullptr) heaptrack_free(p);
  }

  static void before_fork(void*, fork_step step) noexcept {
    if (step == fork_step::last_locks) reported_.blocks.before_fork();
  }
  static void after_fork(void*) noexcept { reported_.blocks.after_fork(); }

  static inline constinit lasting_blocks reported_;
  static inline constinit fork_participant at_fork_ = {
      .before = before_fork, .in_parent = after_fork, .in_child = after_fork};
#else
  [[nodiscard]] static bool is_there() noexcept { return false; }
  static void allocated(const void*, void*, std::size_t) noexcept {}
  static void resized(void*, std::size_t) noexcept {}
  static void freed(void*) noexcept {}
  static void all_freed(const void*) noexcept {}
#endif
};

/// Valgrind's mempools: memcheck then describes an address by its block and the backtraces of allocation and free. A
/// request is a few instructions without effect outside of Valgrind; a build without `ASHLAR_VALGRIND` has none.
struct mempool {
#if defined(ASHLAR_VALGRIND)
  static ASHLAR_INLINE void begin(const void* pool) noexcept { VALGRIND_CREATE_MEMPOOL(pool, 0, 0); }
  static ASHLAR_INLINE void end(const void* pool) noexcept { VALGRIND_DESTROY_MEMPOOL(pool); }
  static ASHLAR_INLINE void allocated(const void* pool, const void* p, std::size_t bytes) noexcept {
    VALGRIND_MEMPOOL_ALLOC(pool, p, bytes);
  }
  /// Effects: changes the size of the block. The marks of its bytes stay unchanged.
  static ASHLAR_INLINE void resized(const void* pool, const void* p, std::size_t bytes) noexcept {
    VALGRIND_MEMPOOL_CHANGE(pool, p, p, bytes);
  }
  /// Effects: frees the block; any access to its memory is an error.
  static ASHLAR_INLINE void freed(const void* pool, const void* p) noexcept { VALGRIND_MEMPOOL_FREE(pool, p); }
  /// Effects: frees all blocks of the pool.
  static ASHLAR_INLINE void all_freed(const void* pool) noexcept {
    VALGRIND_MEMPOOL_TRIM(pool, pool, 0);  // keeps only blocks in an empty range
  }
#else
  static void begin(const void*) noexcept {}
  static void end(const void*) noexcept {}
  static void allocated(const void*, const void*, std::size_t) noexcept {}
  static void resized(const void*, const void*, std::size_t) noexcept {}
  static void freed(const void*, const void*) noexcept {}
  static void all_freed(const void*) noexcept {}
#endif
};

/// Both tools at once.
struct profilers {
  static ASHLAR_INLINE void begin(const void* pool) noexcept { mempool::begin(pool); }
  static ASHLAR_INLINE void end(const void* pool) noexcept { mempool::end(pool); }
  static ASHLAR_INLINE void allocated(const void* pool, void* p, std::size_t bytes) noexcept {
    if (ASHLAR_UNLIKELY(heaptrack::is_there())) heaptrack::allocated(pool, p, bytes);
    mempool::allocated(pool, p, bytes);
  }
  static void resized(const void* pool, void* p, std::size_t bytes) noexcept {
    if (ASHLAR_UNLIKELY(heaptrack::is_there())) heaptrack::resized(p, bytes);
    mempool::resized(pool, p, bytes);
  }
  /// Expects: the free is still to come: a free block may belong to another thread at once.
  static ASHLAR_INLINE void freed(const void* pool, void* p) noexcept {
    if (ASHLAR_UNLIKELY(heaptrack::is_there())) heaptrack::freed(p);
    mempool::freed(pool, p);
  }
  static void all_freed(const void* pool) noexcept {
    if (ASHLAR_UNLIKELY(heaptrack::is_there())) heaptrack::all_freed(pool);
    mempool::all_freed(pool);
  }
};

}  // namespace ashlar::ASHLAR_ABI::detail
