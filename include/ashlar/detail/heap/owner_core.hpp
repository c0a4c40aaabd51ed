// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The core of a heap with remote frees: a lock around the heap core, and parcels of freed cells.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

#include <ashlar/base/config.hpp>
#include <ashlar/base/lock.hpp>
#include <ashlar/base/resource.hpp>
#include <ashlar/detail/heap/cell_store.hpp>
#include <ashlar/detail/heap/extent_map.hpp>
#include <ashlar/detail/heap/heap_core.hpp>
#include <ashlar/detail/heap/page_map.hpp>
#include <ashlar/detail/heap/segment.hpp>
#include <ashlar/detail/heap/transit_limit.hpp>
#include <ashlar/detail/remote_free/parcel.hpp>
#include <ashlar/detail/remote_free/parcel_queue.hpp>
#include <ashlar/detail/support/algorithm.hpp>
#include <ashlar/detail/support/bits.hpp>
#include <ashlar/detail/support/hints.hpp>
#include <ashlar/heap/heap_options.hpp>

namespace ashlar {
inline namespace ASHLAR_ABI {
namespace detail {

/// Whether frees of other threads' blocks travel to the owner. From level `checked` on the freeing call reports misuse.
inline constexpr bool frees_travel = checking_level < checking::checked;

/// A `Core`, such as a `heap_core`, behind a lock: each call takes it, about one in 64 requests of the owner. The
/// thread cache belongs to the owner alone; calls of other threads leave it untouched:
///
///     owner ---- thread cache ---- [ lock: batches, bitmaps, slices, segments, huge blocks ] <--- urgent remote calls
///                     ^                 ^ settled by other threads' calls
///                     | unpacked        |
///     freers --- parcels --> [ inbox ] -+
///
/// An owner with an empty free list unpacks parcels onto its free lists, before it looks at anything else. The calls of
/// other threads settle them, into the bitmaps: so the memory of a sleeping thread's heap can be purged. The count of
/// cached cells belongs to the owner: `count_taken` takes no lock. From level `checked` on `owner_heap` holds the lock
/// around whole calls, thread cache included, and sends nothing: the freeing call reports misuse. Thread safety: the
/// owner for calls with free lists among the arguments; any thread for the others.
template <class Core>
class owner_core {
public:
  using upstream_type = typename Core::upstream_type;
  static constexpr bool sends = frees_travel;
  using call_lock_type = std::conditional_t<sends, null_lock, spin_lock>;

  owner_core(const heap_options& options, upstream_type upstream, const void* heap)
      : core_(options, std::move(upstream), heap), in_transit_(options.retain_bytes) {}
  ~owner_core() {
    const scope held(inner_lock_);  // afterwards no thread is inside
    in_transit_.fall(core_.upstream());
  }

  /// Returns: whether parcels wait. Thread safety: any thread.
  [[nodiscard]] bool has_arrivals() const noexcept { return !arrivals_.is_empty(); }
  /// Returns: the lock that each call of the API holds from level `checked` on.
  [[nodiscard]] ASHLAR_INLINE call_lock_type& call_lock() const noexcept { return call_lock_; }

  /// Effects: registers `f(self)`, called by the owner at each 4th of its slow calls, without a lock. No effect at
  /// levels without parcels.
  void on_slow_calls(void* self, void (*f)(void* self) noexcept) noexcept {
    slow_self_ = self;
    on_slow_ = f;
  }

  /// Takes no lock for a cell of a batch: the batches of small cells belong to the owner, as the free lists do.
  [[nodiscard]] ASHLAR_NOINLINE void* take_cell_excluding_cache(std::size_t size_class, free_lists& lists) noexcept {
    if (ASHLAR_UNLIKELY(!arrivals_.is_empty()) && lists.is_empty(size_class))
      if (void* const cell = take_arrived(size_class, lists)) return cell;
    return core_.take_cell_excluding_cache(size_class, lists);
  }

  [[nodiscard]] void* take_cell(std::size_t size_class, free_lists& lists) noexcept {
    if constexpr (sends)
      if (void* const cell = take_cell_excluding_cache(size_class, lists)) return cell;
    count_slow();
    const scope held(inner_lock_);
    void* const cell = core_.take_cell(size_class, lists);
    if constexpr (sends) core_.fetch_ahead(size_class);
    return cell;
  }

  void give_cell(void* cell) noexcept {
    const scope held(inner_lock_);
    core_.give_cell(cell);
  }

  void give_sampled(void* cell, std::size_t size_class, free_lists& lists) noexcept {
    const scope held(inner_lock_);
    core_.give_sampled(cell, size_class, lists);
  }

  void count_freed(std::size_t size_class, free_lists& lists) noexcept {
    count_slow();
    const scope held(inner_lock_);
    core_.count_freed(size_class, lists);
  }

  [[nodiscard]] slice_run take_large(std::size_t bytes, std::size_t alignment, free_lists& lists) noexcept {
    count_slow();
    unpack_some(lists);
    const scope held(inner_lock_);
    return core_.take_large(bytes, alignment, lists);
  }

  void give_run(void* p, free_lists& lists) noexcept {
    const scope held(inner_lock_);
    core_.give_run(p, lists);
  }

  void give_huge(void* p) noexcept {
    const scope held(inner_lock_);
    core_.give_huge(p);
  }

  [[nodiscard]] bool resize(void* p, std::size_t size_class, std::size_t wanted, std::size_t new_bytes) noexcept {
    if (sends && size_class != size_classes::none) return size_class == wanted;
    const scope held(inner_lock_);
    return core_.resize(p, size_class, wanted, new_bytes);
  }

  [[nodiscard]] void* move_huge(void* p, std::size_t new_bytes, std::size_t alignment) noexcept {
    const scope held(inner_lock_);
    return core_.move_huge(p, new_bytes, alignment);
  }

  [[nodiscard]] std::size_t usable_size(const void* p) const noexcept {
    if (sends && !is_aligned(p, window_bytes)) return core_.usable_size(p);  // constant while `p` lives: no lock
    const scope held(inner_lock_);
    return core_.usable_size(p);
  }

  [[nodiscard]] bool owns(const void* p) const noexcept {
    const scope held(inner_lock_);
    return core_.owns(p);
  }

  void flush_caches(free_lists& lists) noexcept {
    const scope held(inner_lock_);
    drain_inbox();
    core_.flush_caches(lists);
  }

  [[nodiscard]] slice_run take_large_retry(std::size_t bytes, std::size_t alignment, free_lists& lists) noexcept {
    const scope held(inner_lock_);
    drain_inbox();
    return core_.take_large_retry(bytes, alignment, lists);
  }

  template <class F>
  void for_each_live(F f) {
    const scope held(inner_lock_);
    drain_inbox();
    core_.for_each_live(std::move(f));
  }

  /// Effects: as `for_each_live`, from any thread: cached cells count as live.
  template <class F>
  void for_each_live_behind(F f) {
    const scope held(inner_lock_);
    drain_inbox();
    core_.for_each_live_behind(std::move(f));
  }

  /// Effects: as `inspect`, from any thread: cached cells count as live.
  template <class F>
  void inspect_excluding_cache(F f) const {
    const scope held(inner_lock_);
    core_.inspect_excluding_cache(std::move(f));
  }

  template <class F>
  void inspect(F f, const free_lists& lists) const {
    const scope held(inner_lock_);
    core_.inspect(std::move(f), lists);
  }

  void release() noexcept {
    const scope held(inner_lock_);
    drain_inbox();
    core_.release();
  }

  std::size_t trim(std::size_t retain_bytes, free_lists& lists) noexcept {
    const scope held(inner_lock_);
    drain_inbox();
    return core_.trim(retain_bytes, lists);
  }

  /// Effects: as `trim`, from any thread: the thread cache stays.
  std::size_t trim_excluding_cache(std::size_t retain_bytes) noexcept {
    const scope held(inner_lock_);
    drain_inbox();
    return core_.trim_excluding_cache(retain_bytes);
  }

  /// As above, unless a lock is held already.
  std::size_t try_trim_excluding_cache() noexcept {
    std::size_t given = 0;
    try_inside([&] { given = core_.trim_excluding_cache(0); });
    return given;
  }

  /// Effects: gives one empty segment back, with its pages, unless a lock is held already. Returns: whether it did.
  bool try_give_segment() noexcept {
    bool is_given = false;
    try_inside([&] { is_given = core_.give_segment_excluding_cache(); });
    return is_given;
  }

  /// Effects: settles what has arrived. Thread safety: any thread.
  void take_in_now() noexcept {
    if (arrivals_.is_empty()) return;
    const scope held(inner_lock_);
    drain_inbox();
  }

  /// Effects: adds a parcel of `bytes` bytes to the inbox, or settles it at once if too much waits there already: more
  /// than a heap may retain, for all heaps over a common budget together but for the first MiB of each.
  /// Thread safety: any thread.
  void receive(parcel_carrier<>* top, std::size_t bytes) noexcept {
    if (in_transit_.admits(bytes, arrivals_.bytes(), core_.upstream())) return arrivals_.push(top, bytes);
    const scope held(inner_lock_);
    give_parcel(top);
  }

  /// Effects: takes a block back at once. Thread safety: any thread.
  void give_now(void* p) noexcept {
    const scope held(inner_lock_);
    if (is_aligned(p, window_bytes)) return core_.give_huge(p);
    count_arrived(core_.give_block(p));
  }

  /// Effects: holds the locks over a fork.
  void before_fork() noexcept {
    call_lock_.lock();
    inner_lock_.lock();
  }
  void after_fork() noexcept {
    inner_lock_.unlock();
    call_lock_.unlock();
  }

  /// @{ Without the lock: constant, or of the owner alone, or atomic.
  [[nodiscard]] void* take_cell_of_batch(std::size_t size_class, free_lists& lists) noexcept {
    return core_.take_cell_of_batch(size_class, lists);
  }
  void count_taken(std::size_t size_class) noexcept { core_.count_taken(size_class); }
  [[nodiscard]] std::size_t cached_bytes() const noexcept { return core_.cached_bytes(); }
  [[nodiscard]] const upstream_type& upstream() const noexcept { return core_.upstream(); }
  [[nodiscard]] const void* name() const noexcept { return core_.name(); }
  [[nodiscard]] auto checks(const block_use& use = freeing_block) const noexcept { return core_.checks(use); }
  [[nodiscard]] auto sizes() noexcept { return core_.sizes(); }
  void set_number(std::uint32_t number) noexcept { core_.set_number(number); }
  void report_twice(const void* cell) const noexcept { core_.report_twice(cell); }
  /// @}

  [[nodiscard]] std::size_t held_bytes() const noexcept {
    const scope held(inner_lock_);
    return core_.held_bytes();
  }

  [[nodiscard]] std::size_t table_bytes() const noexcept {
    const scope held(inner_lock_);
    return core_.table_bytes();
  }

  [[nodiscard]] std::uint64_t reused_bytes() const noexcept {
    const scope held(inner_lock_);
    return core_.reused_bytes();
  }

  [[nodiscard]] bool invariant(const free_lists& lists) const noexcept {
    const scope held(inner_lock_);
    return core_.invariant(lists);
  }

private:
  static constexpr unsigned slow_calls = 4;
  static constexpr unsigned most_parcels = 32;  // unpacked in one call

  using inner_lock = std::conditional_t<sends, spin_lock, null_lock>;
  // A double free of a cell is found at every level, and reported without the lock.
  using scope = std::conditional_t<sends, report_scope<inner_lock>, lock_scope<inner_lock>>;

  ASHLAR_INLINE void count_slow() noexcept {
    if constexpr (sends)
      if (ASHLAR_UNLIKELY(--until_slow_ == 0)) tell_slow();
  }

  ASHLAR_COLD void tell_slow() noexcept {
    until_slow_ = slow_calls;
    if (on_slow_ != nullptr) on_slow_(slow_self_);
  }

  // Calls `f` under both locks, unless another thread has one.
  template <class F>
  void try_inside(F f) noexcept {
    if (!call_lock_.try_lock()) return;
    const check_scope<call_lock_type> whole(call_lock_, already_held{});
    try_inside_inner(f);
  }

  template <class F>
  void try_inside_inner(F f) noexcept {
    if (!inner_lock_.try_lock()) return;
    const scope held(inner_lock_, already_held{});
    drain_inbox();
    f();
  }

  // Under the lock.
  [[nodiscard]] parcel_carrier<>* next_parcel() noexcept {
    parcel_carrier<>* const top = arrivals_.take([this](const void* cell) { core_.report_twice(cell); });
    if (ASHLAR_UNLIKELY(in_transit_.has_risen()) && arrivals_.bytes() == 0) in_transit_.fall(core_.upstream());
    return top;
  }

  // Under the lock. Effects: settles all parcels.
  ASHLAR_INLINE void drain_inbox() noexcept {
    if (ASHLAR_UNLIKELY(!arrivals_.is_empty())) settle_all();
  }
  ASHLAR_COLD void settle_all() noexcept {
    while (parcel_carrier<>* const top = next_parcel()) give_parcel(top);
  }

  // Under the lock. Effects: moves the cells of a parcel to their bitmaps.
  ASHLAR_COLD void give_parcel(parcel_carrier<>* top) noexcept {
    std::size_t bytes = 0;
    for_each_of_parcel(top, [&](void* cell) { bytes += core_.give_block(cell); });
    count_arrived(bytes);
  }

  // Without the lock, which guards the parcels but not the free lists.
  [[nodiscard]] parcel_carrier<>* take_parcel() noexcept {
    const scope held(inner_lock_);
    return next_parcel();
  }

  // Effects: pushes the cells of a parcel onto the free lists, as frees of the owner. Without the lock.
  void unpack(parcel_carrier<>* top, free_lists& lists) noexcept {
    for_each_of_parcel(top, [&](void* cell) {
      const std::size_t size_class = segment::owner_of(cell);
      lists.push(size_class, cell);
      if (ASHLAR_UNLIKELY(is_sampled(cell))) count_freed(size_class, lists);
    });
  }

  // Effects: unpacks parcels until a cell of a class has come. Returns: the cell, or null.
  [[nodiscard]] ASHLAR_NOINLINE void* take_arrived(std::size_t size_class, free_lists& lists) noexcept {
    count_slow();
    for (unsigned left = most_parcels; left != 0 && lists.is_empty(size_class); --left) {
      parcel_carrier<>* const top = take_parcel();
      if (top == nullptr) return nullptr;
      unpack(top, lists);
    }
    void* const cell = lists.pop(size_class);
    if (cell != nullptr && is_sampled(cell)) core_.count_taken(size_class);
    return cell;
  }

  // Effects: unpacks some parcels, so that their memory serves the next requests.
  void unpack_some(free_lists& lists) noexcept {
    if constexpr (!sends) return;
    if (ASHLAR_LIKELY(arrivals_.is_empty())) return;
    for (unsigned left = most_parcels; left != 0; --left)
      if (parcel_carrier<>* const top = take_parcel()) unpack(top, lists);
      else return;
  }

  // Remote frees bypass the thread cache: as a rule they leave free slices, which may exceed the limit now. The frees
  // of the owner drive the rest of the purge.
  void count_arrived(std::size_t bytes) noexcept {
    arrived_bytes_ += bytes;
    if (ASHLAR_LIKELY(arrived_bytes_ < segment_bytes)) return;
    arrived_bytes_ = 0;
    core_.discard_free_slices(detail::max(core_.retention_left(), segment_bytes));
  }

  Core core_;
  ASHLAR_NO_UNIQUE_ADDRESS mutable inner_lock inner_lock_;
  ASHLAR_NO_UNIQUE_ADDRESS mutable call_lock_type call_lock_;
  std::size_t arrived_bytes_ = 0;  // since the last check of free slices
  unsigned until_slow_ = slow_calls;
  void* slow_self_ = nullptr;
  void (*on_slow_)(void* self) noexcept = nullptr;
  transit_limit<upstream_type> in_transit_;
  parcel_queue<> arrivals_;
};

}  // namespace detail
}  // namespace ASHLAR_ABI
}  // namespace ashlar
