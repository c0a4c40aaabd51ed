// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Slabs that any thread takes cells from and gives cells back to.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <new>
#include <type_traits>
#include <utility>

#include <ashlar/base/atomics.hpp>
#include <ashlar/base/bitmap.hpp>
#include <ashlar/base/bits.hpp>
#include <ashlar/base/config.hpp>
#include <ashlar/base/error.hpp>
#include <ashlar/base/lock.hpp>
#include <ashlar/base/options.hpp>
#include <ashlar/base/platform.hpp>
#include <ashlar/base/resource.hpp>
#include <ashlar/detail/remote_free/batcher.hpp>
#include <ashlar/detail/slab/free_check.hpp>
#include <ashlar/detail/slab/slab.hpp>
#include <ashlar/detail/slab/slab_set.hpp>
#include <ashlar/detail/slab/slab_store.hpp>
#include <ashlar/detail/support/poison.hpp>

namespace ashlar::ASHLAR_ABI {
namespace detail {

/// As `spin_lock`, but a second lock by the holding thread ends the process with a message. One word is both the lock
/// and the record of its holder, so a signal handler sees both or neither. A short critical section without reports
/// needs no `report_scope`.
class owner_lock {
public:
  ASHLAR_INLINE void lock() noexcept {
    if (ASHLAR_UNLIKELY(!try_lock())) wait();
  }

  [[nodiscard]] ASHLAR_INLINE bool try_lock() noexcept { return word_.try_lock(this_thread()); }

  ASHLAR_INLINE void unlock() noexcept { word_.unlock(this_thread()); }

private:
  ASHLAR_COLD void wait() noexcept {
    if (word_.holder() == this_thread()) held_locks::end_for_reentry();
    word_.wait(this_thread());
  }

  [[nodiscard]] static ASHLAR_INLINE std::uintptr_t this_thread() noexcept { return address_of(&this_thread_); }

  static inline constinit ASHLAR_THREAD_LOCAL const short this_thread_ = 0;  // its address identifies the thread

  lock_word word_;
};

static_assert(basic_lockable<owner_lock>);

}  // namespace detail

template <>
inline constexpr bool never_recursive<detail::owner_lock> = true;

}  // namespace ashlar::ASHLAR_ABI

namespace ashlar::ASHLAR_ABI::detail {

/// An upstream adaptor that defers deallocations until the owner's lock is free. Memory given back while a lock is held
/// forms a list through the memory itself; the thread that releases the lock hands the list on. Thread safety:
/// `allocate`, `try_allocate` and `prefault` as the upstream; `deallocate` and `take_returned` under one lock;
/// `hand_on` any thread.
template <resource Upstream>
class deferring_upstream {
public:
  /// A block on its way back.
  struct returned {
    returned* next;
    std::size_t bytes;
    std::size_t alignment;
  };

  static constexpr std::size_t least_part_bytes = least_part<Upstream>;

  constexpr explicit deferring_upstream(Upstream upstream) : upstream_(std::move(upstream)) {}

  [[nodiscard]] ASHLAR_INLINE void* allocate(std::size_t bytes, std::size_t alignment) {
    return upstream_.allocate(bytes, alignment);
  }

  [[nodiscard]] ASHLAR_INLINE void* try_allocate(std::size_t bytes, std::size_t alignment) noexcept {
    return try_allocate_from(upstream_, bytes, alignment);
  }

  void prefault(void* p, std::size_t bytes) noexcept
    requires prefaulting_resource<Upstream>
  {
    upstream_.prefault(p, bytes);
  }

  /// Expects: the block has room for a `returned`.
  void deallocate(void* p, std::size_t bytes, std::size_t alignment) noexcept {
    waiting_ = ::new (p) returned{waiting_, bytes, alignment};
  }

  /// Returns: the deferred blocks; the caller must hand them on.
  [[nodiscard]] returned* take_returned() noexcept { return std::exchange(waiting_, nullptr); }

  /// Effects: gives the blocks to the upstream. Consecutive neighbours go as one block if the upstream is
  /// divisible.
  void hand_on(returned* blocks) noexcept {
    while (blocks != nullptr) {
      returned* const first = blocks;
      std::byte* low = reinterpret_cast<std::byte*>(first);
      std::byte* high = low + first->bytes;
      const std::size_t alignment = first->alignment;
      blocks = first->next;
      if constexpr (divisible_resource<Upstream>)  // whole blocks that are no parts go back one by one
        for (; blocks != nullptr && is_part(*first) && is_part(*blocks) && blocks->alignment == alignment;
             blocks = blocks->next)
          if (!join(low, high, *blocks)) break;
      upstream_.deallocate(low, static_cast<std::size_t>(high - low), alignment);
    }
  }

  [[nodiscard]] Upstream& get() noexcept { return upstream_; }

  [[nodiscard]] friend bool operator==(const deferring_upstream& a, const deferring_upstream& b) noexcept {
    return a.upstream_ == b.upstream_;
  }

private:
  [[nodiscard]] static bool is_part(const returned& block) noexcept { return takes_parts_of<Upstream>(block.bytes); }

  [[nodiscard]] static bool join(std::byte*& low, std::byte*& high, returned& block) noexcept {
    auto* const start = reinterpret_cast<std::byte*>(&block);
    if (start != high && start + block.bytes != low) return false;
    (start == high ? high : low) = start == high ? high + block.bytes : start;
    return true;
  }

  returned* waiting_ = nullptr;
  ASHLAR_NO_UNIQUE_ADDRESS Upstream upstream_;
};

/// Cell batches that one thread took at once, and the thread's lane (see `slab_set`).
struct cell_batches {
  static constexpr std::size_t max_words = 16;
  static constexpr std::size_t max_cells = 64 * max_words;
  static constexpr std::size_t max_bytes = 64 * 1024;

  cell_batch words[max_words] = {};
  std::uint32_t count = 0;
  std::uint32_t lane_count = 0;  // lanes up to its own; 0 until the first batch is taken, for .tbss
};

/// A `slab_store` behind a lock, and an inbox for remote frees, which need no lock.
///
///   thread cache <---- cell batches ---- [ lock: slab_store ] <--- upstream, called without the lock
///        \-- packets of frees -> [ inbox ] --^  drained by the next holder of the lock
///
/// No thread owns a slab: a thread may exit with live cells. The lock is held for a few cell batches at a time, never
/// across an upstream call. Thread safety: any thread. Nothing is allocated before the first cell is taken.
template <class Geometry, thread_safe_resource Upstream, basic_lockable Lock>
class shared_slabs : private Geometry {
  using store = slab_store<deferring_upstream<Upstream>>;

public:
  /// The lock of short sections, which are not recorded; hence the lock itself must know whether this thread holds it.
  using lock_type =
      std::conditional_t<checking_level >= checking::checked && std::same_as<Lock, spin_lock>, owner_lock, Lock>;
  using batcher_type = batcher<>;
  using inbox_type = batcher_type::inbox_type;

  constexpr shared_slabs(const Geometry& geometry, retain_policy policy, Upstream upstream)
      : Geometry(geometry), store_(policy, deferring_upstream<Upstream>(std::move(upstream))) {}

  shared_slabs(const shared_slabs&) = delete;
  shared_slabs& operator=(const shared_slabs&) = delete;

  /// Expects: no thread uses it any more.
  ~shared_slabs() { close(); }

  [[nodiscard]] ASHLAR_INLINE constexpr const slab_geometry& geometry() const noexcept { return Geometry::get(); }
  [[nodiscard]] std::size_t cell_bytes() const noexcept { return geometry().cell_bytes(); }
  [[nodiscard]] ASHLAR_INLINE std::size_t cell_stride() const noexcept { return geometry().cell_stride(); }

  /// Effects: fills an empty stock with free cells, at least one and at most `most`; drains the inbox and the frees
  /// noted in `own`. Returns: false, or throws as the upstream, if that has no memory left.
  template <failure Failure>
  [[nodiscard]] bool take(cell_batches& stock, std::size_t most, batcher_type* own) noexcept(Failure == or_null) {
    bool has_grown = true;
    while (!take_batches(stock, most, own) && has_grown) has_grown = grow<Failure>();  // else a free may have arrived
    return stock.count != 0;
  }

  /// Returns: one cell, or null if `allocate` is needed. Holds the lock for a few instructions.
  [[nodiscard]] ASHLAR_INLINE void* allocate_at_once() noexcept {
    if (slabs_held_.load(memory_order_relaxed) == 0) return nullptr;  // perhaps the first use: no fork expects the lock
    if constexpr (!always_marked) return handed_out(take_at_once());
    const lock_scope<lock_type> held(lock_);
    return handed_out(take_next());
  }

  /// Effects: takes a live cell back. Returns: false if `deallocate` must take it.
  [[nodiscard]] ASHLAR_INLINE bool deallocate_at_once(void* p, std::size_t bytes = unsized) noexcept {
    const lock_scope<lock_type> held(lock_);
    return retire_at_once(site(), store_, p, bytes);
  }

  /// Returns: one cell, taken under the lock; null, or throws as the upstream, if that has no memory left.
  template <failure Failure>
  [[nodiscard]] void* allocate() noexcept(Failure == or_null) {
    while (true) {
      if (void* const cell = take_one(); cell != nullptr) return cell;
      if (!grow<Failure>()) return take_one();  // a free may have arrived in the meantime
    }
  }

  /// Effects: drains the inbox and the frees noted in `own`.
  void flush_caches(batcher_type& own) noexcept {
    under_lock([&] { take_back(&own); });
  }

  /// Effects: takes one cell back under the lock, freed without a size or with one that fits a cell.
  void deallocate(void* cell, [[maybe_unused]] std::size_t bytes = unsized) noexcept {
    if constexpr (checking_level >= checking::checked) {
      bool is_held = true;
      under_lock([&] { expect_open(cell), is_held = retire_checked(site(), store_, cell, bytes); });
      if (ASHLAR_UNLIKELY(!is_held)) report_unheld(site(), upstream(), cell, bytes);  // may call the upstream
    } else {
      under_lock([&] { expect_open(cell), retire(cell); });
    }
  }

  /// Effects: gives a block that no cell can hold back to the upstream. A cell is reported, at every level.
  ASHLAR_COLD void deallocate_larger(void* p, const freed_extent& given) noexcept {
    ASHLAR_EXPECTS(is_power_of_two(given.alignment), "alignment is not a power of two");
    with_store([&](const store&) { check_larger_free(site(), p, given); });
    upstream().deallocate(p, given.bytes, given.alignment);
  }

  /// Returns: the inbox for frees outside the lock.
  [[nodiscard]] ASHLAR_INLINE inbox_type& inbox() noexcept { return inbox_; }

  /// Returns: the note of a free of `cell`.
  [[nodiscard]] ASHLAR_INLINE freed_word place_of(void* cell) const noexcept {
    if (ASHLAR_UNLIKELY(store_.slabs().is_in_short(geometry(), cell))) {
      const slab_set& slabs = store_.slabs();
      return {address_of(slabs.short_slab()), bit_of(slabs.index_in_short(geometry(), cell))};
    }
    std::byte* const start = geometry().slab_of(cell);
    auto* const home = reinterpret_cast<slab*>(geometry().header_of(start));
    const std::uint32_t index = slab_set::index_in(geometry(), home, cell);
    return {address_of(start) + index / 64, bit_of(index)};
  }

  /// Effects: calls `f(store)` under the lock, with the inbox drained.
  template <class F>
  void with_store(F f) {
    under_lock([&] {
      drain_inbox();
      f(store_);
    });
  }

  /// Effects: holds slabs for `cells` cells, until `trim`. Throws: as the upstream, but keeps its gains.
  void reserve(std::size_t cells) {
    while (keep_for(cells) < cells) static_cast<void>(grow<or_throw>());
  }

  /// Effects: retains empty slabs by `policy` from now on; surplus ones go back at once.
  void retain(retain_policy policy) noexcept {
    with_store([&](store& held) { held.retain(geometry(), policy); });
  }

  /// Effects: gives empty slabs back but `retain_bytes` of them, and sorts the others. Returns: bytes given back.
  std::size_t trim(std::size_t retain_bytes = 0) noexcept {
    std::size_t bytes = 0;
    under_lock([&] {
      bytes = store_.held_bytes(geometry());
      store_.unreserve();
      drain_inbox();
      store_.shrink(geometry(), retain_bytes / geometry().slab_bytes());
      bytes -= store_.held_bytes(geometry());
    });
    return bytes;
  }

  /// Returns: bytes of all slabs.
  [[nodiscard]] std::size_t held_bytes() noexcept {
    return count([this](const slab_set&) { return store_.held_bytes(geometry()); });
  }

  /// Returns: `f(slab_set)`, called under the lock with the inbox drained.
  template <class F>
  [[nodiscard]] std::size_t count(F f) noexcept {
    std::size_t counted = 0;
    with_store([&](const store& held) { counted = f(held.slabs()); });
    return counted;
  }

  /// Effects: gives all slabs back with all their cells. Expects: no thread uses the cells any more.
  void release() noexcept {
    under_lock([&] {
      drain_inbox();
      store_.release(geometry());
    });
  }

  /// Effects: gives all slabs back and refuses later frees. Expects: no thread takes cells any more.
  void close() noexcept {
    under_lock([&] {
      static_cast<void>(inbox_.close());
      store_.release(geometry());
    });
  }

  /// Effects: reports a free of a cell that is already free; does not return.
  [[noreturn]] ASHLAR_COLD void report_double_free(const void* cell) const noexcept {
    report_free(fault::double_free, "freed a cell that is free", cell, site());
  }

  [[nodiscard]] lock_type& lock() noexcept { return lock_; }
  [[nodiscard]] Upstream& upstream() noexcept { return store_.upstream().get(); }

private:
  template <class F>
  void under_lock(F f) noexcept(noexcept(f())) {
    run_under_lock([](void* section) noexcept(noexcept(f())) { (*static_cast<F*>(section))(); }, &f);
  }

  // One function for all sections: with the lock's wait and what follows, each would take 200 bytes of code.
  ASHLAR_NOINLINE void run_under_lock(void (*run)(void*), void* section) {
    typename deferring_upstream<Upstream>::returned* returned = nullptr;
    const void* twice_freed = nullptr;
    {
      const report_scope<lock_type> held(lock_);
      run(section);
      returned = store_.upstream().take_returned();
      twice_freed = std::exchange(twice_freed_, nullptr);
    }
    store_.upstream().hand_on(returned);
    if (ASHLAR_UNLIKELY(twice_freed != nullptr)) report_double_free(twice_freed);
  }

  // Effects: retains slabs for `cells` cells. Returns: the capacity.
  [[nodiscard]] std::size_t keep_for(std::size_t cells) noexcept {
    std::size_t capacity = 0;
    with_store([&](store& held) {
      capacity = held.slabs().capacity();
      held.keep_for(detail::min(cells, capacity));
    });
    return capacity;
  }

  // Under the lock. Drains the inbox and the frees noted in `own`, if there is one.
  ASHLAR_NOINLINE void take_back(batcher_type* own) noexcept {
    drain_inbox();
    if (own != nullptr) own->hand_over([this](const freed_word& word) { give_batch(word); });
  }

  // Under the lock.
  void drain_inbox() noexcept {
    if (inbox_.is_closed()) return;
    drain(inbox_, [this](const freed_word& word) { give_batch(word); });
  }

  // Under the lock.
  void expect_open(const void* cell) const noexcept {
    if (ASHLAR_UNLIKELY(inbox_.is_closed())) report_use_after_destroy(cell);
  }

  // Under the lock.
  void retire(void* cell) noexcept {
    mark_free(cell, cell_bytes());
    store_.retire(geometry(), cell);
  }

  // Under the lock. A bit that is already set comes from a double free, which must not corrupt the counts. It is
  // reported after the drain and outside the lock, since a handler may use the pool.
  ASHLAR_NOINLINE void give_batch(const freed_word& word) noexcept {
    const bool is_short = word.key == address_of(store_.slabs().short_slab());
    const std::uintptr_t number = is_short ? 0 : word.key % geometry().slab_bytes();
    auto* const start = reinterpret_cast<std::byte*>(word.key - number);
    auto* const home = reinterpret_cast<slab*>(is_short ? start : geometry().header_of(start));
    const std::uint64_t twice = home->bits()[number] & word.cells;
    if (ASHLAR_UNLIKELY(twice != 0)) twice_freed_ = home->cells + (number * 64 + first_bit(twice)) * cell_stride();
    if (const std::uint64_t cells = word.cells & ~twice; cells != 0)
      store_.give_batch(geometry(), home, static_cast<std::uint32_t>(number), cells);
  }

  [[noreturn]] ASHLAR_COLD void report_use_after_destroy(const void* cell) const noexcept {
    report_free(fault::use_after_destroy, "used a destroyed pool", cell, site());
  }

  [[nodiscard]] free_site site() const noexcept { return {geometry(), store_.slabs(), this}; }

  // Reports nothing, so the lock is not recorded.
  [[nodiscard]] ASHLAR_INLINE taken_cell take_at_once() noexcept {
    const lock_scope<lock_type> held(lock_);
    return take_next();
  }

  [[nodiscard]] ASHLAR_INLINE taken_cell take_next() noexcept {
    return ASHLAR_LIKELY(inbox_.is_empty()) ? store_.take_next_cell(geometry()) : taken_cell{};
  }

  [[nodiscard]] ASHLAR_INLINE void* handed_out(const taken_cell& got) const noexcept {
    return ASHLAR_LIKELY(got.cell.home != nullptr) ? store_.hand_out(geometry(), got) : nullptr;
  }

  // Returns: null if no cell is free.
  [[nodiscard]] void* take_one() noexcept {
    void* cell = nullptr;
    under_lock([&] {
      expect_open(nullptr);
      drain_inbox();
      slabs_held_.store(store_.slabs().slabs(), memory_order_relaxed);
      if (!store_.slabs().has_free()) return;
      const cell_batch one = store_.take_batch(geometry(), 1);
      cell = store_.hand_out(geometry(), one.base + first_bit(one.mask) * cell_stride());
      mark_live(cell, cell_bytes());
    });
    return cell;
  }

  [[nodiscard]] ASHLAR_INLINE bool take_batches(cell_batches& stock, std::size_t most, batcher_type* own) noexcept {
    under_lock([&] {
      take_back(own);
      fill(stock, most);
    });
    return stock.count != 0;
  }

  // Under the lock. The last batch is used first: cells go out in ascending addresses.
  ASHLAR_INLINE void fill(cell_batches& stock, std::size_t most) noexcept {
    expect_open(nullptr);
    if (ASHLAR_UNLIKELY(stock.lane_count == 0)) {
      store_.use_lanes(other_lanes_);
      stock.lane_count = lanes_used_++ % slab_set::lanes + 1;
    }
    const slab_set& slabs = store_.slabs();
    const std::size_t wanted =
        slabs.taken() + detail::clamp<std::size_t>(cell_batches::max_bytes / cell_bytes(), 1, most);
    while (slabs.taken() < wanted && stock.count != cell_batches::max_words && slabs.has_free())
      stock.words[stock.count++] = store_.take_batch(geometry(), wanted - slabs.taken(), stock.lane_count - 1);
    for (std::size_t i = 0, end = stock.count; i + 1 < end; ++i) std::swap(stock.words[i], stock.words[--end]);
    slabs_held_.store(store_.slabs().slabs(), memory_order_relaxed);
  }

  // Adds a slab. Returns: false if the upstream has no memory left. The upstream is called outside the lock.
  template <failure Failure>
  [[nodiscard]] bool grow() noexcept(Failure == or_null) {
    const std::size_t bytes = geometry().slab_bytes(), slabs = slabs_held_.load(memory_order_relaxed);
    if (slabs == 0 && geometry().short_bytes() != 0) return start_short<Failure>();
    void* memory = take_raw();
    if (memory == nullptr) {
      const block region = store_.source().template request<Failure>(bytes, slabs);
      if (!region) return false;
      under_lock([&] { memory = store_.source().keep(region, bytes); });
    }
    store_.prepare(geometry(), memory, slabs);
    under_lock([&] { store_.add_prepared(geometry(), this, memory); });
    return true;
  }

  // As `grow`, of the first slab: another thread may have added one meanwhile.
  template <failure Failure>
  [[nodiscard]] ASHLAR_COLD bool start_short() noexcept(Failure == or_null) {
    void* const memory = store_.template request_short<Failure>(geometry(), this);
    if (memory == nullptr) return false;
    under_lock([&] {
      store_.add_short(geometry(), this, memory);
      slabs_held_.store(store_.slabs().slabs(), memory_order_relaxed);
    });
    return true;
  }

  [[nodiscard]] ASHLAR_INLINE void* take_raw() noexcept {
    const check_scope<lock_type> held(lock_);
    return store_.source().take_raw(geometry().slab_bytes());
  }

  alignas(64) lock_type lock_ = {};
  store store_;
  const void* twice_freed_ = nullptr;  // a cell that was freed twice, to be reported
  std::uint32_t lanes_used_ = 0;
  slab_set::other_lanes other_lanes_;
  atomic<std::size_t> slabs_held_ = 0;  // a recent value, a mere hint, readable without the lock
  alignas(64) inbox_type inbox_ = {};
};

}  // namespace ashlar::ASHLAR_ABI::detail
