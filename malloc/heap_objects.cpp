// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The heaps of ashlar_malloc.h: each call on the heap of the process, or on one of its own.
#include <cerrno>
#include <cstddef>

#include <ashlar/base/bits.hpp>
#include <ashlar/base/config.hpp>
#include <ashlar/base/error.hpp>
#include <ashlar/detail/heap/segment_table.hpp>
#include <ashlar/heap/heap_json.hpp>
#include <ashlar/heap/heap_statistics.hpp>
#include <ashlar/heap/process_heap.hpp>
#include <ashlar/resource/page_resource.hpp>

#include "malloc/ashlar_malloc.h"
#include "malloc/blocks.hpp"
#include "malloc/error_stream.hpp"
#include "malloc/export.hpp"
#include "malloc/guard_pool.hpp"
#include "malloc/heaps.hpp"
#include "malloc/settings.hpp"

namespace ashlar::drop_in {

namespace {

// Its address stands for the heap of the process; it is never read as a heap.
constinit char process_handle;

[[nodiscard]] ashlar_heap* handle_of_process() noexcept { return reinterpret_cast<ashlar_heap*>(&process_handle); }
[[nodiscard]] bool is_process(const ashlar_heap* heap) noexcept { return heap == handle_of_process(); }
[[nodiscard]] ashlar_heap* or_process(ashlar_heap* heap) noexcept {
  return heap != nullptr ? heap : handle_of_process();
}

// Effects: calls `f(heap)`.
template <class F>
ASHLAR_INLINE auto on(ashlar_heap* heap, F f) {
  return is_process(heap) ? f(process_heap()) : f(*heap);
}

// Returns: a block of the heap, zeroed if `zeroes` is `zeroed`; null with errno. By the fast path of the heap of the
// process, where that clears no blocks.
[[nodiscard]] ASHLAR_COLD void* take_in(ashlar_heap* heap, std::size_t bytes, std::size_t alignment,
                                        std::size_t zeroes = 0) noexcept {
  if (!ashlar::is_power_of_two(alignment)) return refuse(EINVAL);
  if (bytes > most_bytes) return refuse(ENOMEM);
  const request wanted = {bytes, detail::max(alignment, granule) | zeroes};
  void* const p = !is_process(heap)                   ? take(heap, wanted)
                  : (zeroes | settings().zeroes) != 0 ? take(nullptr, wanted)
                                                      : process_heap().try_allocate(bytes, wanted.alignment);
  return p != nullptr ? p : refuse(ENOMEM);
}

[[nodiscard]] heap_options limits_of(const ashlar_heap_options& wished) noexcept {
  heap_options limits;
  if (wished.max_bytes != 0) limits.max_bytes = wished.max_bytes;
  if (wished.retain_bytes != 0) limits.retain_bytes = wished.retain_bytes;
  if (wished.decay_ms != 0) limits.decay_ms = wished.decay_ms;
  return limits;
}

[[nodiscard]] ashlar_statistics figures_of(const heap_statistics& now) noexcept {
  return {.struct_bytes = sizeof(ashlar_statistics),
          .live_blocks = now.all.live_blocks,
          .live_bytes = now.all.live_bytes,
          .spare_blocks = now.all.spare_blocks,
          .spare_bytes = now.all.spare_bytes,
          .waste_bytes = now.all.waste_bytes,
          .huge_blocks = now.huge.live_blocks,
          .huge_bytes = now.huge.live_bytes,
          .held_bytes = now.held_bytes,
          .free_bytes = now.free_bytes,
          .fresh_bytes = now.fresh_bytes,
          .head_bytes = now.head_bytes,
          .table_bytes = now.table_bytes,
          .cached_bytes = now.cached_bytes,
          .segments = now.segments,
          .page_faults_avoided = now.page_faults_avoided};
}

// Whether the level detects misuse of the handles.
constexpr bool checks_heaps = checking_level >= checking::checked;

[[maybe_unused]] ASHLAR_COLD void expect_heap(const ashlar_heap* heap) noexcept {
  if (is_heap(heap)) return;
  ashlar::report({.kind = fault::invalid_free, .what = "deleted or released what is not a heap now", .pointer = heap});
}

[[maybe_unused]] ASHLAR_COLD void expect_of_process(const void* p) noexcept {
  const ashlar_heap* const other = has_heaps() && p != nullptr ? heap_of_block(p) : nullptr;
  if (other == nullptr) return;
  ashlar::report({.kind = fault::wrong_pool,
                  .what = "freed to the heap of the process a block of another heap",
                  .pointer = p,
                  .owner = other});
}

// The live blocks of a heap, in pages of their own: who visits them holds no lock, and so may use the heap.
class live_blocks {
public:
  struct block {
    void* p;
    std::size_t bytes;
  };

  live_blocks() noexcept = default;
  live_blocks(const live_blocks&) = delete;
  live_blocks& operator=(const live_blocks&) = delete;
  ~live_blocks() { blocks_.give_back(pages_); }

  /// Returns: false without memory.
  [[nodiscard]] bool collect(ashlar_heap* heap) noexcept {
    const auto each = [this](void* p, std::size_t bytes) { add({p, bytes}); };
    on(heap, [=](auto& in) { in.for_each_live(each); });
    if (is_process(heap)) guard_pool::for_each_live(each);
    return is_whole_;
  }
  [[nodiscard]] const block* begin() noexcept { return blocks_.data(); }
  [[nodiscard]] const block* end() noexcept { return blocks_.data() + count_; }

private:
  void add(const block& found) noexcept {
    if (is_whole_ && count_ == blocks_.capacity()) is_whole_ = blocks_.grow(pages_);
    if (is_whole_) blocks_[count_++] = found;
  }

  page_resource pages_;
  detail::grown_array<block, 64> blocks_;
  std::size_t count_ = 0;
  bool is_whole_ = true;
};

[[nodiscard]] heap_statistics contents_of(ashlar_heap* heap) noexcept {
  return on(heap, [](auto& in) { return statistics_of(in); });
}

}  // namespace

}  // namespace ashlar::drop_in

namespace drop_in = ashlar::drop_in;

extern "C" {

ASHLAR_EXPORT ashlar_heap* ashlar_heap_of_process() { return drop_in::handle_of_process(); }

ASHLAR_EXPORT ashlar_heap* ashlar_heap_new(const ashlar_heap_options* options) {
  if (options == nullptr) return drop_in::make_heap({});
  if (options->struct_bytes == sizeof(ashlar_heap_options)) return drop_in::make_heap(drop_in::limits_of(*options));
  errno = EINVAL;
  return nullptr;
}

ASHLAR_EXPORT void ashlar_heap_release(ashlar_heap* heap) {
  ASHLAR_REQUIRE(!drop_in::is_process(heap), "released the heap of the process");
  if constexpr (drop_in::checks_heaps) drop_in::expect_heap(heap);
  heap->release();
}

ASHLAR_EXPORT std::size_t ashlar_heap_trim(ashlar_heap* heap) {
  return drop_in::on(heap, [](auto& in) { return in.trim(); });
}

ASHLAR_EXPORT void ashlar_heap_delete(ashlar_heap* heap) {
  ASHLAR_REQUIRE(!drop_in::is_process(heap), "deleted the heap of the process");
  if (heap == nullptr) return;
  if constexpr (drop_in::checks_heaps) drop_in::expect_heap(heap);
  heap->release();  // what is live ends on purpose
  drop_in::end_heap(heap);
}

ASHLAR_EXPORT void* ashlar_heap_aligned_malloc(ashlar_heap* heap, std::size_t bytes, std::size_t alignment) {
  return drop_in::take_in(heap, bytes, alignment);
}

ASHLAR_EXPORT void* ashlar_heap_aligned_zalloc(ashlar_heap* heap, std::size_t bytes, std::size_t alignment) {
  return drop_in::take_in(heap, bytes, alignment, drop_in::zeroed);
}

ASHLAR_EXPORT void* ashlar_heap_aligned_realloc(ashlar_heap* heap, void* p, std::size_t bytes, std::size_t alignment) {
  if (p == nullptr || !ashlar::is_power_of_two(alignment)) return drop_in::take_in(heap, bytes, alignment);
  if (drop_in::is_process(heap))
    return drop_in::resize_block(p, bytes, ashlar::detail::max(alignment, drop_in::granule));
  if (bytes > drop_in::most_bytes) return drop_in::refuse(ENOMEM);
  void* const moved = drop_in::resize(heap, p, drop_in::aligned(bytes, alignment));
  return moved != nullptr ? moved : drop_in::refuse(ENOMEM);
}

ASHLAR_EXPORT void* ashlar_heap_malloc(ashlar_heap* heap, std::size_t bytes) {
  return ashlar_heap_aligned_malloc(heap, bytes, drop_in::granule);
}

ASHLAR_EXPORT void* ashlar_heap_zalloc(ashlar_heap* heap, std::size_t bytes) {
  return ashlar_heap_aligned_zalloc(heap, bytes, drop_in::granule);
}

ASHLAR_EXPORT void* ashlar_heap_realloc(ashlar_heap* heap, void* p, std::size_t bytes) {
  return ashlar_heap_aligned_realloc(heap, p, bytes, drop_in::granule);
}

ASHLAR_EXPORT void ashlar_heap_free(ashlar_heap* heap, void* p) {
  if (!drop_in::is_process(heap)) return heap->deallocate(p);
  if constexpr (drop_in::checks_heaps) drop_in::expect_of_process(p);
  drop_in::deallocate_by_free(p);
}

ASHLAR_EXPORT ashlar_heap* ashlar_heap_of(const void* p) {
  if (ashlar_heap* const found = drop_in::heap_with(p)) return found;
  const bool is_process = drop_in::guard_pool::has(p) || ashlar::process_heap().owns(p);
  return is_process ? drop_in::handle_of_process() : nullptr;
}

ASHLAR_EXPORT void ashlar_heap_visit(ashlar_heap* heap, void (*visit)(void*, std::size_t, void*), void* argument) {
  drop_in::live_blocks found;
  if (!found.collect(heap)) return static_cast<void>(errno = ENOMEM);
  for (const auto& each : found) visit(each.p, each.bytes, argument);
}

ASHLAR_EXPORT ashlar_heap* ashlar_heap_set_default_for_thread(ashlar_heap* heap) {
  return drop_in::or_process(drop_in::set_default_of_thread(drop_in::is_process(heap) ? nullptr : heap));
}

ASHLAR_EXPORT int ashlar_heap_statistics(ashlar_heap* heap, ashlar_statistics* statistics) {
  if (statistics->struct_bytes != sizeof(ashlar_statistics)) return EINVAL;
  *statistics = drop_in::figures_of(drop_in::contents_of(heap));
  return 0;
}

ASHLAR_EXPORT void ashlar_heap_statistics_json(ashlar_heap* heap, void (*write)(const char*, std::size_t, void*),
                                               void* argument) {
  ashlar::write_json(drop_in::contents_of(heap), drop_in::text_output{write, argument});
}

}  // extern "C"
