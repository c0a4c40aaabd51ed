// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The contents of a heap: its thread cache, the slabs, spans of slices and huge blocks behind it, and their purge.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include <ashlar/base/bits.hpp>
#include <ashlar/base/config.hpp>
#include <ashlar/base/options.hpp>
#include <ashlar/base/resource.hpp>
#include <ashlar/detail/heap/block_canary.hpp>
#include <ashlar/detail/heap/exact_sizes.hpp>
#include <ashlar/detail/heap/heap_api.hpp>
#include <ashlar/detail/heap/heap_checks.hpp>
#include <ashlar/detail/heap/heap_parts.hpp>
#include <ashlar/detail/heap/huge_store.hpp>
#include <ashlar/detail/heap/page_discard.hpp>
#include <ashlar/detail/heap/page_map.hpp>
#include <ashlar/detail/heap/purge.hpp>
#include <ashlar/detail/heap/segment.hpp>
#include <ashlar/detail/heap/small_store.hpp>
#include <ashlar/detail/heap/span_store.hpp>
#include <ashlar/detail/heap/thread_cache.hpp>
#include <ashlar/detail/slab/size_classes.hpp>
#include <ashlar/detail/support/intrusive.hpp>
#include <ashlar/detail/support/poison.hpp>

namespace ashlar::ASHLAR_ABI::detail {

/// Up to `size_classes::largest` bytes a block is a cell, up to the slices of a segment a span, above that huge. The
/// owner byte of a 64 KiB slice gives its size class. Huge blocks are recognised by their 4 MiB alignment.
/// `give_block`, `give_huge`, `resize`, `move_huge` and calls with `cached::excluded` leave the thread cache alone,
/// which its owner may be using without a lock. Thread safety: none. Nothing is allocated before the first block.
template <resource Upstream>
class heap_stores {
public:
  using upstream_type = Upstream;
  using segment = detail::segment;

  /// `owner`: named in segments, and in reports unless the upstream names a heap of which this is a part.
  ASHLAR_INLINE_FOR_SIZE constexpr heap_stores(const heap_options& options, Upstream upstream, segment_owner* owner)
      : cache_(options.max_cached_cells), space_(options.max_bytes, std::move(upstream)), spans_(space_, owner),
        huge_(space_, options.retain_bytes, options.decay_ms, named(owner)), small_(spans_, named(owner)),
        purge_(spans_, small_, huge_, options.retain_bytes, options.decay_ms), heap_(named(owner)) {
    heap_ == owner ? space_.enter_registry(owner) : space_.name(heap_);
  }

  heap_stores(const heap_stores&) = delete;
  heap_stores& operator=(const heap_stores&) = delete;
  ~heap_stores() {
    expect_live_intact();
    if constexpr (keeps_canaries) small_.clear();  // verifies the poison of free cells, before the segments go
  }

  /// Returns: the free lists, of the owner alone.
  [[nodiscard]] ASHLAR_INLINE thread_cache& cache() noexcept { return cache_; }

  /// Effects: numbers the heap among those whose blocks a thread may free, in place of the next lane in turn.
  /// Expects: it has no block yet.
  void set_number(std::uint32_t number) noexcept { spans_.set_number(number); }
  void set_waits_to_grow(bool waits) noexcept { spans_.set_waits_to_grow(waits); }
  [[nodiscard]] bool waits_to_grow() const noexcept { return spans_.waits_to_grow(); }

  /// Effects: changes what is retained; the limit of a common upstream is changed there.
  void set_retention(std::size_t retain_bytes, std::uint32_t decay_ms) noexcept {
    huge_.set_retention(retain_bytes, decay_ms);
    purge_.set_decay(decay_ms);
  }

  /// Returns: a cell of a class with an empty free list, or null.
  [[nodiscard]] void* take_cell(std::size_t size_class) noexcept {
    purge_.on_slow_call(cache_);
    return small_.take(size_class, cache_);
  }

  /// Returns: a cell of the batch, handed out for `bytes` bytes; null if the batch is empty, or a call is needed to
  /// take one without a lock. Expects: level hardened.
  [[nodiscard]] ASHLAR_INLINE void* hand_out_of_batch(std::size_t size_class, std::size_t bytes) noexcept {
    if constexpr (dead_cells_are_zero<Upstream> && finds_owners<Upstream>) {
      if (ASHLAR_UNLIKELY(size_class > most_class_by_words) || !small_.has_any(size_class, bytes)) return nullptr;
      const sized_cell cell = small_.take_any(size_class);
      sizes()->hand_out_small(cell, bytes);
      ASHLAR_ASSUME(cell.data != nullptr);
      return cell.data;
    } else {
      void* const cell = small_.take_from_batch(size_class, cache_);
      if (ASHLAR_LIKELY(cell != nullptr)) sizes()->hand_out_cell(cell, bytes);
      return cell;
    }
  }

  /// The first class whose batch other threads may use under the lock.
  static constexpr std::size_t first_common_batch = small_store<Upstream>::first_common_batch;

  /// As `take_cell`, of the cell batch alone, behind an empty free list; null if the batch is empty or open to other
  /// threads.
  [[nodiscard]] ASHLAR_INLINE void* take_cell_unlocked(std::size_t size_class) noexcept {
    if (!cache_.is_empty(size_class) || size_class >= small_.first_common_batch) return nullptr;
    void* const cell = small_.take_from_batch(size_class, cache_);
    fetch_ahead(size_class);
    return cell;
  }

  /// Effects: prefetches the next cells of a batch that belongs to the owner.
  ASHLAR_INLINE void fetch_ahead(std::size_t size_class) const noexcept {
    if (size_class < small_.first_common_batch) small_.fetch_ahead(size_class);
  }

  /// Effects: returns a cell that is in no free list to its bitmap.
  void give_cell(void* cell) noexcept { small_.give(cell); }
  /// @{ As in `small_store`.
  [[nodiscard]] ASHLAR_INLINE auto& freed() noexcept { return small_.freed(); }
  void give_freed(std::size_t size_class) noexcept { small_.give_freed(size_class); }
  void end_quarantine() noexcept { small_.end_quarantine(); }
  /// @}

  /// As `give_cell`, for a sampled address of class `size_class`. Expects: level hardened, where free lists stay empty.
  void give_sampled(void* cell, std::size_t size_class) noexcept {
    small_.give(cell);
    purge_.on_freed(sampled_bytes_of[size_class], cache_);
  }

  /// Effects: counts a sampled address that came onto a free list.
  void count_freed(std::size_t size_class) noexcept { purge_.on_freed(small_.count_freed(size_class, cache_), cache_); }

  /// Returns: a span or a huge block, or null.
  [[nodiscard]] fresh_block take_large(std::size_t bytes, std::size_t alignment) noexcept {
    const std::size_t with = with_guard<Upstream>(bytes);
    if (ASHLAR_UNLIKELY(!is_plain_span(with, alignment))) return take_aligned_or_large(bytes, alignment);
    const std::size_t length = (with + slice_bytes - 1) / slice_bytes;
    if (std::byte* const binned = spans_.take_free_span(length)) return {binned, false};
    const fresh_block span = spans_.take_block(length);
    return span.data != nullptr ? span : take_after_growth(length, 1);
  }

  /// Returns: a freed span, or null: of the thread cache, without a lock on its owner's thread; of the bins.
  [[nodiscard]] ASHLAR_INLINE std::byte* take_cached_span(std::size_t bytes, std::size_t alignment) noexcept {
    return is_plain_span(bytes, alignment) ? cache_.pop_span((bytes + slice_bytes - 1) / slice_bytes) : nullptr;
  }
  [[nodiscard]] ASHLAR_INLINE std::byte* take_binned_span(std::size_t bytes, std::size_t alignment) noexcept {
    const std::size_t with = with_guard<Upstream>(bytes);
    return is_plain_span(with, alignment) ? spans_.take_free_span((with + slice_bytes - 1) / slice_bytes) : nullptr;
  }
  /// Returns: whether a span has come there; otherwise `give_span` is due.
  [[nodiscard]] ASHLAR_INLINE bool cache_span(void* p) noexcept {
    span_header& span = segment::of(p)->record(segment::slice_of(p));
    if (ASHLAR_UNLIKELY(segment::is_given(p) || !cache_.has_room_for(span.length))) return false;
    return purge_.try_count_freed(span.length * slice_bytes) && (cache_.push_span(span), true);
  }
  [[nodiscard]] ASHLAR_INLINE bool bin_span(void* p) noexcept {
    const std::size_t bytes = segment::of(p)->record(segment::slice_of(p)).length * slice_bytes;
    return !segment::is_given(p) && purge_.try_count_freed(bytes) && (spans_.give_block(p), true);
  }

  /// Effects: takes a span back. A full thread cache of spans is emptied, for those that are freed next.
  ASHLAR_INLINE_FOR_SIZE void give_span(void* p) noexcept {
    const std::size_t bytes = take_back_span(p);
    if (ASHLAR_UNLIKELY(!cache_.has_room_for(bytes / slice_bytes))) small_.sweep_spans(cache_);
    purge_.on_freed(bytes, cache_);
  }

  /// Effects: takes a huge block back.
  void give_huge(void* p) noexcept { huge_.give(p); }

  /// Returns: whether the block at `p`, of class `size_class`, has `new_bytes` bytes now, in place. A sized free must
  /// find it by its new size and alignment, whose class is `wanted`.
  [[nodiscard]] bool resize(void* p, std::size_t size_class, std::size_t wanted, std::size_t new_bytes) noexcept {
    auto exact = sizes();
    const std::size_t were = exact ? exact->of(p) : 0;
    if (!resize_in_place(p, size_class, wanted, with_canary(new_bytes))) return false;
    if (exact) exact->resize(p, were, new_bytes);
    return true;
  }

  /// Returns: the new address of a huge block of `new_bytes` bytes, moved by its pages without a copy; or null, and it
  /// is unchanged. Expects: `resize` returned false.
  [[nodiscard]] void* move_huge(void* p, std::size_t new_bytes, std::size_t alignment) noexcept {
    if (!is_aligned(p, window_bytes)) return nullptr;
    auto exact = sizes();
    const std::size_t were = exact ? exact->of(p) : 0;
    void* const moved = huge_.reallocate(p, with_canary(new_bytes), alignment);
    if (exact && moved != nullptr) exact->resize(moved, were, new_bytes);
    return moved;
  }

  [[nodiscard]] std::size_t usable_size(const void* p) const noexcept {
    void* const at = const_cast<void*>(p);
    if constexpr (segment::requested_sizes::is_there) return exact_sizes<Upstream>::of(space_, at);
    if (is_aligned(p, window_bytes)) return space_.find(p)->bytes();
    const std::size_t size_class = segment::size_class_of(at);
    if (size_class != size_classes::none) return size_classes::bytes_of(size_class);
    return segment::of(at)->record(segment::slice_of(p)).length * slice_bytes;
  }

  [[nodiscard]] bool owns(const void* p) const noexcept {
    const window* const found = space_.find(p);
    return found != nullptr && (!found->is_segment() || spans_.is_taken(p));
  }

  /// Effects: takes a cell or a span back without the thread cache, which another thread may be using.
  /// Returns: its bytes.
  std::size_t give_block(void* p) noexcept {
    if (segment::size_class_of(p) == size_classes::none) return take_back_span(p);
    const std::size_t bytes = size_classes::bytes_of(segment::size_class_of(p));
    mark_free(p, bytes);
    small_.give(p);
    return bytes;
  }

  /// Effects: counts `bytes` that other threads freed by `give_block`.
  void count_arrived(std::size_t bytes, cached which) noexcept { purge_.on_arrived(bytes, cache_, which); }

  /// Effects: gives one empty segment back, with its pages. Returns: whether there was one.
  bool give_segment(cached which) noexcept {
    flush_caches(which);
    return purge_.give_segment(cache_);
  }
  /// Effects: gives all empty segments and kept huge blocks back.
  void give_unused(cached which) noexcept { flush_caches(which), purge_.give_unused(cache_); }

  /// Effects: moves all free cells to their slabs, and joins free slices.
  void flush_caches(cached which = cached::included) noexcept {
    which == cached::included ? small_.flush_caches(cache_) : small_.flush_batches(small_.first_common_batch);
    spans_.join_spare();
    spans_.end_quarantine();
    purge_.recount(cache_);
  }

  /// Effects: joins the free slices of spans, for other lengths.
  void join_spare() noexcept { spans_.join_spare(); }

  /// As `take_large`, after a refusal: first with all free memory joined, then with empty segments given back.
  [[nodiscard]] ASHLAR_COLD_FOR_SPEED fresh_block take_large_retry(std::size_t bytes, std::size_t alignment) noexcept {
    if (!is_valid_request(bytes, alignment)) return {};
    flush_caches();
    const fresh_block got = take_large(bytes, alignment);
    if (got.data != nullptr || !purge_.give_segments(cache_)) return got;
    return take_large(bytes, alignment);
  }

  /// Effects: calls `f(p, bytes)` for each live block. Expects: the caches are flushed.
  ASHLAR_INLINE_FOR_SIZE void for_each_live(function_ref<void*, std::size_t> f) {
    spans_.for_each_span([&](segment& home, std::size_t first, std::size_t length) {
      span_header& span = home.record(first);
      if (span.size_class == size_classes::none)
        return f(static_cast<void*>(home.slice(first)), bytes_in(home.slice(first), length * slice_bytes));
      slab_view(span).for_each_taken([&](std::byte* cell) {
        if (segment::live_cells::is_there && !segment::is_live(cell)) return;  // in the cache of a thread
        const std::size_t bytes = bytes_in(cell, std::size_t{span.cell_bytes});
        if (bytes <= span.cell_bytes) f(static_cast<void*>(cell), bytes);  // else its owner is freeing it now
      });
    });
    huge_.for_each([&](std::byte* p, std::size_t bytes) { f(static_cast<void*>(p), bytes_in(p, bytes)); });
  }

  /// Effects: calls `f(heap_region)` for each region held.
  ASHLAR_INLINE_FOR_SIZE void inspect(function_ref<const heap_region&> f, cached which = cached::included) const {
    if (which == cached::included) small_.count_waiting(cache_);
    else small_.count_waiting(thread_cache{}, small_.first_common_batch);
    spans_.for_each_segment(
        [&](segment& home, slice_mask free, slice_mask fresh) { for_each_region(home, free, fresh, f); });
    space_.for_each([&](const window& each) {
      if (!each.is_segment()) f(heap_region::huge_block(each.start, each.bytes(), !space_.is_spare(each.start)));
    });
  }

  /// Effects: takes all blocks back and gives all memory to the upstream, or the last segment to its store.
  void release() noexcept {
    expect_live_intact();
    cache_.clear();
    small_.clear();
    spans_.clear();
    huge_.clear();
    space_.release();
    purge_.clear();
  }

  /// Effects: purges free memory down to `retain_bytes`, with `pause()` between segments: another thread may use the
  /// heap meanwhile. `splits`: huge pages too, if all is to go. Returns: bytes given back.
  std::size_t trim(
      std::size_t retain_bytes, cached which = cached::included, bool splits = true,
      function_ref<> pause = [] {}) noexcept {
    flush_caches(which);
    return purge_.trim(retain_bytes, cache_, splits, pause);
  }

  /// Returns: bytes that are free and may be resident, without the thread cache.
  [[nodiscard]] std::size_t free_bytes() const noexcept {
    return small_.free_bytes() + spans_.dirty_bytes() + spans_.spare_bytes();
  }
  [[nodiscard]] constexpr unlocked_calls& unlocked() noexcept { return space_.unlocked(); }
  [[nodiscard]] std::size_t held_bytes() const noexcept { return space_.held_bytes(); }
  [[nodiscard]] std::size_t segments() const noexcept { return spans_.segments(); }
  [[nodiscard]] std::size_t table_bytes() const noexcept { return space_.table_bytes() + spans_.table_bytes(); }
  [[nodiscard]] std::uint64_t reused_bytes() const noexcept {
    return spans_.reused_bytes() +
           (page_discard<Upstream>::gives_zeroes ? huge_.reused_bytes() + cache_.reused_span_bytes() : 0);
  }
  /// Returns: bytes of cached cells, by their sampled addresses, and spans. Thread safety: any thread.
  [[nodiscard]] std::size_t cached_bytes() const noexcept { return cache_.bytes(); }
  [[nodiscard]] const Upstream& upstream() const noexcept { return space_.upstream(); }
  [[nodiscard]] Upstream& upstream() noexcept { return space_.upstream(); }
  /// Effects: as `detail::expect_link`.
  ASHLAR_INLINE void expect_link(const void* cell, std::size_t size_class) const noexcept {
    detail::expect_link(cell, size_class, heap_);
  }
  /// Effects: reports a double free of a cell.
  ASHLAR_COLD void report_twice(const void* cell) const noexcept { detail::report_twice(cell, heap_); }
  [[nodiscard]] ASHLAR_INLINE auto checks(const block_use& use = freeing_block) const noexcept {
    return if_checked<block_check<Upstream>>(spans_, heap_, use, true);
  }
  /// As `checks`, without a look at the cells beside a block.
  [[nodiscard]] auto checks_of_block(const block_use& use = freeing_block) const noexcept {
    return if_checked<block_check<Upstream>>(spans_, heap_, use, false);
  }
  [[nodiscard]] if_hardened<exact_sizes<Upstream>> sizes() noexcept { return {space_, heap_}; }

  /// Complexity: O(slabs and free cells).
  [[nodiscard]] bool invariant() const noexcept {
    bool right = space_.invariant() && spans_.invariant() && huge_.invariant() && small_.invariant();
    for (std::size_t size_class = 1; size_class <= size_classes::count; ++size_class)
      cache_.for_each(size_class, [&](void* cell) {
        right = right && owns(cell) && segment::size_class_of(cell) == size_class &&
                segment::slab_of(cell).is_cell(cell) && small_.is_cached(cell);
      });
    return right;
  }

private:
  // Reports writes beside live blocks before they are forgotten. No effect below level `hardened`.
  void expect_live_intact() const noexcept {
    if constexpr (!keeps_canaries) return;
    const auto look = [this](void* p, auto held) { exact_sizes<Upstream>::expect_intact(space_, p, held, heap_); };
    spans_.for_each_span([&](segment& home, std::size_t first, std::size_t length) {
      span_header& span = home.record(first);
      if (span.size_class != size_classes::none)
        return slab_view(span).for_each_live([&](void* p) { look(p, span.cell_bytes); });
      if (!span.is_available) look(home.slice(first), usable_bytes<Upstream>(length));
    });
    huge_.for_each(look);
  }

  [[nodiscard]] constexpr const void* named(const void* heap) const noexcept {
    if constexpr (requires { space_.upstream().get().reported_heap(heap); })
      return space_.upstream().get().reported_heap(heap);
    else return heap;
  }

  // Every level detects a double free here, since the span header is written anyway.
  std::size_t take_back_span(void* p) noexcept {
    if (ASHLAR_UNLIKELY(segment::is_given(p))) report_twice(p);
    return spans_.give_block(p) * slice_bytes;
  }

  // Huge, empty, or aligned above a slice.
  [[nodiscard]] ASHLAR_COLD_FOR_SPEED fresh_block take_aligned_or_large(std::size_t bytes,
                                                                        std::size_t alignment) noexcept {
    if (!is_valid_request(bytes, alignment)) return {};
    const std::size_t length = slices_of(with_guard<Upstream>(bytes)),
                      step = detail::max<std::size_t>(1, alignment / slice_bytes);
    if (first_slice_at(step) + length > slices_per_segment) return huge_.take(bytes, alignment);
    const fresh_block span = spans_.made_block(spans_.take(length, step), length);
    return span.data != nullptr ? span : take_after_growth(length, step);
  }

  [[nodiscard]] ASHLAR_COLD fresh_block take_after_growth(std::size_t length, std::size_t step) noexcept {
    small_.sweep(cache_);
    fresh_block span = spans_.take(length, step);
    if (span.data == nullptr && spans_.grow(length, step)) span = spans_.take(length, step);
    return spans_.made_block(span, length);
  }

  [[nodiscard]] bool resize_in_place(void* p, std::size_t size_class, std::size_t wanted,
                                     std::size_t new_bytes) noexcept {
    if (is_aligned(p, window_bytes)) return wanted == size_classes::none && huge_.resize(p, new_bytes);
    if (size_class != size_classes::none || wanted != size_classes::none) return size_class == wanted;
    return new_bytes <= segment_bytes && resize_span(p, slices_of(with_guard<Upstream>(new_bytes)));
  }

  // Returns: the usable bytes of a live block of `held` bytes.
  [[nodiscard]] std::size_t bytes_in(const void* p, std::size_t held) const noexcept {
    return segment::requested_sizes::is_there ? usable_size(p) : held;
  }

  [[nodiscard]] ASHLAR_INLINE_FOR_SIZE bool resize_span(void* p, std::size_t wanted) noexcept {
    segment& home = *segment::of(p);
    const std::size_t first = segment::slice_of(p), length = home.record(first).length;
    if (wanted > length && (wanted > most_slices || !spans_.extend(p, length, wanted))) return false;
    home.set_block(first, wanted);
    if (wanted < length) spans_.give_tail(p, length, wanted);
    return true;
  }

  alignas(64) thread_cache cache_;  // first: the fast paths find it at the address of the heap
  extent_map<Upstream> space_;
  span_store<Upstream> spans_;
  huge_store<Upstream> huge_;
  small_store<Upstream> small_;
  purge<Upstream> purge_;
  const void* heap_;
};

}  // namespace ashlar::ASHLAR_ABI::detail
