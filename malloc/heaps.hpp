// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Heaps as objects: the list of all, the default heap of a thread, and the heap of an address.
#pragma once

#include <cstddef>
#include <cstdint>

#include <ashlar/base/atomics.hpp>
#include <ashlar/base/bits.hpp>
#include <ashlar/base/config.hpp>
#include <ashlar/base/lock.hpp>
#include <ashlar/base/options.hpp>
#include <ashlar/base/resource.hpp>
#include <ashlar/detail/heap/engine.hpp>
#include <ashlar/detail/heap/heap_api.hpp>
#include <ashlar/detail/heap/heap_parts.hpp>
#include <ashlar/detail/heap/segment_table.hpp>
#include <ashlar/detail/heap_threads/shared_extent_map.hpp>
#include <ashlar/detail/support/intrusive.hpp>
#include <ashlar/detail/thread/fork.hpp>
#include <ashlar/heap/process_heap.hpp>

namespace ashlar::drop_in {

/// All threads use the engine in turn, so that a heap needs no part for a thread, and no code but the code of the
/// process heap's engines. Its map names it in their segments (`reported_heap`). Forks wait for its locks. Thread
/// safety: any thread, unless stated otherwise.
class locked_heap : public detail::heap_api<locked_heap> {
  using source = detail::extent_resource<detail::process_pages>;
  using engine = detail::owner_engine<source>;
  using scope = ashlar::report_scope<spin_lock>;  // a double free of a cell is found at every level

public:
  explicit locked_heap(const heap_options& limits) noexcept
      : space_(limits.max_bytes, {}, limits.retain_bytes, this), engine_(of_engine(limits), source(space_)) {
    detail::fork_participants::enter(at_fork_);
  }
  locked_heap(const locked_heap&) = delete;
  locked_heap& operator=(const locked_heap&) = delete;
  /// Expects: no thread uses it.
  ~locked_heap() { detail::fork_participants::leave(at_fork_); }

  /// @{ The primitives of `heap_api`. Before `take` returns null, it purges all free memory.
  template <ashlar::failure Failure>
  [[nodiscard]] void* take(std::size_t bytes, std::size_t alignment) noexcept(Failure == ashlar::or_null) {
    void* const p = take_unzeroed(bytes, alignment).data;
    return ASHLAR_LIKELY(p != nullptr) ? p : ashlar::failed<Failure>(bytes, alignment);
  }
  [[nodiscard]] detail::fresh_block take_unzeroed(std::size_t bytes, std::size_t alignment) noexcept {
    const scope held(lock_);
    const detail::fresh_block got = engine_.take_unzeroed(bytes, alignment);
    if (ASHLAR_LIKELY(got.data != nullptr)) return got;
    static_cast<void>(trim_all());
    return engine_.take_unzeroed(bytes, alignment);
  }
  void put(void* p) noexcept {
    const scope held(lock_);
    if (p != nullptr) engine_.put(p);
  }
  void put(void* p, std::size_t bytes, std::size_t alignment) noexcept {
    const scope held(lock_);
    engine_.put(p, bytes, alignment);
  }
  [[nodiscard]] bool expand(void* p, std::size_t bytes, std::size_t new_bytes, std::size_t alignment) noexcept {
    const scope held(lock_);
    return engine_.expand(p, bytes, new_bytes, alignment);
  }
  [[nodiscard]] bool resize(void* p, std::size_t bytes, std::size_t new_bytes, std::size_t alignment) noexcept {
    const scope held(lock_);
    return engine_.resize(p, bytes, new_bytes, alignment);
  }
  [[nodiscard]] void* move_pages(void* p, std::size_t new_bytes, std::size_t alignment) noexcept {
    const scope held(lock_);
    return engine_.move_pages(p, new_bytes, alignment);
  }
  [[nodiscard]] ASHLAR_COLD std::size_t size_of(const void* p) const noexcept {
    const scope held(lock_);
    return engine_.size_of(p);
  }
  [[nodiscard]] locked_heap& primitives() noexcept { return *this; }
  [[nodiscard]] const locked_heap& primitives() const noexcept { return *this; }
  /// @}

  /// Returns: whether the address lies in memory of this heap for blocks, live or free. `p` is not read.
  [[nodiscard]] bool owns(const void* p) const noexcept {
    const scope held(lock_);
    return space_.has(p) && engine_.owns(p);
  }

  /// Effects: takes all blocks back. Expects: no other thread uses the heap.
  void release() noexcept {
    const scope held(lock_);
    engine_.release();
    space_.trim();
  }

  /// Effects: gives all free memory to the system. Returns: bytes given back.
  std::size_t trim() noexcept {
    const scope held(lock_);
    return trim_all();
  }

  /// @{ As in `basic_heap`.
  template <class F>
  void for_each_live(F f) {
    const scope held(lock_);
    engine_.for_each_live(f);
  }
  template <class F>
  ASHLAR_INLINE_FOR_SIZE void inspect(F f) const {
    const scope held(lock_);
    engine_.inspect(f);
    space_.for_each_cached(
        [&](const std::byte* start, std::size_t bytes) { f(ashlar::heap_region::huge_block(start, bytes, false)); });
  }
  [[nodiscard]] std::size_t table_bytes() const noexcept { return space_.table_bytes(); }
  [[nodiscard]] std::uint64_t reused_bytes() const noexcept { return engine_.reused_bytes(); }
  /// @}

private:
  // The limit is the map's.
  [[nodiscard]] static heap_options of_engine(heap_options limits) noexcept {
    limits.max_bytes = ashlar::max_size;
    return limits;
  }

  std::size_t trim_all() noexcept {
    const std::size_t given = engine_.trim();
    return given + space_.trim();
  }

  void before_fork(detail::fork_step step) noexcept {
    if (step == detail::fork_step::outer_locks) lock_.lock();
    else if (step == detail::fork_step::inner_locks) engine_.sharing().before_fork();
    else if (step == detail::fork_step::shared_locks) space_.before_fork();
  }
  void after_fork() noexcept {
    space_.after_fork();
    engine_.sharing().after_fork();
    lock_.unlock();
  }

  mutable spin_lock lock_;
  detail::shared_extent_map<detail::process_pages> space_;
  engine engine_;
  detail::fork_participant at_fork_{
      .before = [](void* of, detail::fork_step step) noexcept { static_cast<locked_heap*>(of)->before_fork(step); },
      .in_parent = [](void* of) noexcept { static_cast<locked_heap*>(of)->after_fork(); },
      .in_child = [](void* of) noexcept { static_cast<locked_heap*>(of)->after_fork(); },
      .self = this};
};

}  // namespace ashlar::drop_in

/// A heap of `ashlar_malloc.h`. It lies in a block of the process heap.
struct ashlar_heap : ashlar::drop_in::locked_heap, ashlar::detail::list_node<ashlar_heap> {
  using ashlar::drop_in::locked_heap::locked_heap;
};

namespace ashlar::drop_in {

/// Returns: a new heap, or null.
[[nodiscard]] ashlar_heap* make_heap(const heap_options& limits) noexcept;
/// Effects: ends a heap. Expects: no thread uses it.
void end_heap(ashlar_heap* heap) noexcept;

/// Returns: whether the pointer names a heap that has not ended. It is not read. Complexity: O(heaps), a lock.
[[nodiscard]] bool is_heap(const ashlar_heap* heap) noexcept;

/// Returns: the heap with the address in its memory; null for addresses of the process heap, and of none. `p` is not
/// read. Complexity: O(heaps and their threads), a lock for each.
[[nodiscard]] ashlar_heap* heap_with(const void* p) noexcept;
/// As `heap_with`, of the heap that a block at `p` would have. Complexity: at level `fast` O(1) without a lock, but for
/// huge blocks and for addresses outside of the range of the process.
[[nodiscard]] ashlar_heap* heap_of_block(const void* p) noexcept;

/// Returns: the default heap of the calling thread; null: the process heap.
[[nodiscard]] ashlar_heap* default_of_thread() noexcept;
/// Effects: makes `heap` the default of the calling thread. Returns: the former one. Null: the process heap.
ashlar_heap* set_default_of_thread(ashlar_heap* heap) noexcept;

/// Returns: whether there is a heap. / whether a thread has ever had a default.
extern constinit ASHLAR_OF_THIS_LIBRARY detail::atomic<std::size_t> heap_count;
[[nodiscard]] inline bool has_heaps() noexcept { return heap_count.load(detail::memory_order_relaxed) != 0; }
[[nodiscard]] bool has_default_heaps() noexcept;

}  // namespace ashlar::drop_in
