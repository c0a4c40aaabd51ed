// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A resource whose blocks are freed in the reverse order of their allocation, down to the last byte of padding.
#pragma once

#include <algorithm>
#include <cstddef>
#include <new>
#include <span>
#include <utility>

#include <ashlar/base/bits.hpp>
#include <ashlar/base/config.hpp>
#include <ashlar/base/error.hpp>
#include <ashlar/base/growth.hpp>
#include <ashlar/base/resource.hpp>
#include <ashlar/detail/stack/stack_order.hpp>
#include <ashlar/detail/support/poison.hpp>
#include <ashlar/fwd.hpp>
#include <ashlar/resource/page_store.hpp>

namespace ashlar::ASHLAR_ABI {

/// Growth of a `stack_resource`: each chunk is as large as all before it, or as its first block.
struct stack_resource_options {
  std::size_t initial_bytes = 1024;                             ///< of the first chunk
  std::size_t max_growth_bytes = std::size_t{2} * 1024 * 1024;  ///< of the largest chunk; at least `initial_bytes`
};

/// Owns an `Upstream`. Blocks form a stack in chunks of it, or in a buffer and then in chunks.
///
///   buffer or nothing     chunk                 chunk                            spare
///   | b | b | b | pad |   |h| b | b | pad |     |h| b | label | b |   free   |   |h|  free  |
///   ^ bottom_                                   ^ base_           ^ top_     ^ end
///
/// Freeing the top block also takes its padding back: `used()` returns to its value before the block, at any
/// alignment. A block takes its bytes rounded up to `stack_grain`, and one grain more above that alignment. From level
/// `checked` on, it also takes a label of three grains, and the order of frees is checked. At `fast`, a block freed
/// out of order stays, as do the blocks below it when they are freed, until `rewind` or `release`.
///
/// The stack retains one spare chunk, the largest emptied so far, so repeated crossings make no upstream call.
///
/// Invariant: `begin <= top_ <= limit_ <= end` in the current chunk, `high_water() >= used()`; no chunk below the
/// current one is empty, except the buffer. Complexity: O(1) plus an occasional upstream call; `owns`, `capacity`:
/// O(chunks); `rewind`: O(chunks left), at `checked` O(blocks freed). Thread safety: none.
/// Instructions at `fast`, with constant size and alignment up to a grain: 7 for `allocate`, 4 for `deallocate`, one
/// branch each; a run-time size adds 5 to `allocate`.
template <resource Upstream>
class stack_resource {
  using order = detail::stack_order;
  using chunk = order::chunk;

public:
  static constexpr bool is_self_describing = false;  // `deallocate(p)` takes the block on top only

  /// A position, small and freely copied. It can be rewound to any number of times while the block that was on top at
  /// `mark()` is live.
  struct marker {
    order::chunk* chunk = nullptr;
    std::byte* top = nullptr;
    ASHLAR_NO_UNIQUE_ADDRESS order::position position{};
  };

  stack_resource() = default;
  explicit stack_resource(Upstream upstream) noexcept : upstream_(std::move(upstream)) {}
  explicit stack_resource(const stack_resource_options& options, Upstream upstream = {}) noexcept
      : growth_(growth_of(options)), upstream_(std::move(upstream)) {}

  /// Effects: starts in `buffer`; a `null_resource` keeps the stack there. Lifetime: the buffer outlives the stack.
  explicit stack_resource(std::span<std::byte> buffer, const stack_resource_options& options = {},
                          Upstream upstream = {}) noexcept
      : growth_(growth_of(options)), upstream_(std::move(upstream)) {
    const std::size_t skipped = (0 - address_of(buffer.data())) & (order::grain - 1);
    if (buffer.size() < skipped + order::grain) return;
    bottom_.begin = bottom_.top = buffer.data() + skipped;
    bottom_.end = bottom_.begin + align_down(buffer.size() - skipped, order::grain);
    detail::mark_free(bottom_.begin, bottom_.room());
    stand_in(&bottom_);
  }

  stack_resource(const stack_resource&) = delete;  // blocks belong to one instance
  stack_resource& operator=(const stack_resource&) = delete;
  ~stack_resource() {
    release();
    detail::mark_live(bottom_.begin, bottom_.room());
  }

  /// Throws: as the upstream. Expects: `alignment` is a power of two.
  [[nodiscard]] ASHLAR_INLINE void* allocate(std::size_t bytes, std::size_t alignment) {
    ASHLAR_REQUIRE(is_power_of_two(alignment), "alignment is not a power of two");
    const std::size_t gap = order::gap_above(top_, alignment);
    if (ASHLAR_LIKELY(order::fits(room_below(limit_), gap, bytes))) return push(gap, bytes, alignment);
    return allocate_slow<or_throw>(bytes, alignment);
  }

  /// Returns: a block, or null. Expects: `alignment` is a power of two.
  [[nodiscard]] ASHLAR_INLINE void* try_allocate(std::size_t bytes, std::size_t alignment) noexcept {
    ASHLAR_REQUIRE(is_power_of_two(alignment), "alignment is not a power of two");
    const std::size_t gap = order::gap_above(top_, alignment);
    if (ASHLAR_LIKELY(order::fits(room_below(limit_), gap, bytes))) return push(gap, bytes, alignment);
    return allocate_slow<or_null>(bytes, alignment);
  }

  /// Expects: the block is on top. From `checked` on, `out_of_order` and other kinds are reported.
  ASHLAR_INLINE void deallocate(void* p, std::size_t bytes, std::size_t alignment) noexcept {
    const order::block freed = {static_cast<std::byte*>(p), bytes, alignment};
    order_.expect_top(freed, this, has_memory());
    if (ASHLAR_UNLIKELY(freed.data + order::bytes_of(bytes) != top_)) return deallocate_slow(p, bytes, alignment);
    free_down_to(order_.pop(freed, freed.data));
  }

  /// As above, without the size. Expects: the block on top, of an alignment up to two pointers. Complexity: O(1); if
  /// the block is not on top, at `checked` O(blocks above).
  void deallocate(void* p) noexcept {
    const order::block freed = order_.block_at(static_cast<std::byte*>(p));
    order_.expect_top(freed, this, has_memory());
    if (stands_in_empty_chunk()) step_down();
    free_down_to(order_.pop(freed, freed.data));
  }

  /// Returns: whether the block now has `new_bytes`. Only the block on top can change, up to the end of its chunk.
  [[nodiscard]] bool try_expand(void* p, std::size_t bytes, std::size_t new_bytes, std::size_t alignment) noexcept {
    const order::block block = {static_cast<std::byte*>(p), bytes, alignment};
    order_.expect_live(block, this, has_memory());
    if (!reaches(block.data + order::bytes_of(bytes))) return false;
    if (!order::fits(static_cast<std::size_t>(current_->end - block.data), 0, new_bytes)) return false;
    resize_top(block, new_bytes);
    return true;
  }

  /// Returns: the current position of the stack.
  [[nodiscard]] marker mark() const noexcept {
    if (ASHLAR_UNLIKELY(stands_in_empty_chunk())) return {current_->below, current_->below->top, order_.top()};
    return {current_, top_, order_.top()};
  }

  /// Effects: takes back all blocks allocated since `to` was made. From `checked` on, a foreign or outdated marker is
  /// reported as `bad_marker`. Expects: the block that was on top at `mark()` has not been expanded since.
  void rewind(const marker& to) noexcept {
    order_.rewind(to.position, to.top, this);
    if (ASHLAR_UNLIKELY(current_ != to.chunk) && !leave_chunks_above(to)) return;
    free_down_to(to.top);
  }

  /// Effects: takes all blocks back and gives all chunks back; the stack returns to its initial state.
  void release() noexcept {
    while (current_ != &bottom_) step_down();
    give_spare_back();
    poison_.verify(this);
    free_down_to(base_);
    limit_ = base_, high_water_ = 0;
    order_.clear();
  }

  /// Effects: gives empty chunks back, except one of at most `retain_bytes`. Returns: bytes given back.
  std::size_t trim(std::size_t retain_bytes = 0) noexcept {
    poison_.verify(this);
    const std::size_t given = stands_in_empty_chunk() ? step_down() : 0;
    if (spare_ == nullptr || expect_sound(spare_)->whole_bytes() <= retain_bytes) return given;
    return given + give_spare_back();
  }

  /// Whether `p` points into bytes of blocks.
  [[nodiscard]] bool owns(const void* p) const noexcept {
    const std::byte* top = top_;
    for (const chunk* each = current_; each != nullptr; each = each->below) {
      if (block{each->begin, static_cast<std::size_t>(top - each->begin)}.contains(p)) return true;
      static_cast<void>(expect_sound(each));
      if (each->below != nullptr) top = each->below->top;
    }
    return false;
  }

  [[nodiscard]] Upstream& upstream_resource() noexcept { return upstream_; }
  [[nodiscard]] const Upstream& upstream_resource() const noexcept { return upstream_; }

  /// Bytes of blocks, with labels and padding.
  [[nodiscard]] std::size_t used() const noexcept {
    return current_->used_below + static_cast<std::size_t>(top_ - base_);
  }
  /// The largest `used()`, in bytes, since construction or the last `release`.
  [[nodiscard]] std::size_t high_water() const noexcept { return high_water_; }
  [[nodiscard]] std::size_t held_bytes() const noexcept { return held_bytes_; }  ///< from the upstream; O(1)
  /// Bytes of the buffer, the chunks and the spare chunk.
  [[nodiscard]] std::size_t capacity() const noexcept {
    std::size_t sum = spare_ != nullptr ? spare_->room() : 0;
    for (const chunk* each = current_; each != nullptr; each = each->below) sum += expect_sound(each)->room();
    return sum;
  }

  [[nodiscard]] bool invariant() const noexcept {
    if (base_ != current_->begin || top_ < base_ || limit_ < top_ || current_->end < limit_) return false;
    if (high_water_ < used() || !is_aligned(top_, order::grain)) return false;
    for (const chunk* each = current_; each->below != nullptr; each = each->below) {
      const chunk& below = *each->below;
      if (!each->is_sound()) return false;
      if (below.top < below.begin || below.end < below.top || (below.top == below.begin && &below != &bottom_))
        return false;
      if (each->used_below != below.used_below + static_cast<std::size_t>(below.top - below.begin)) return false;
    }
    return order_.invariant();
  }

  [[nodiscard]] friend bool operator==(const stack_resource& a, const stack_resource& b) noexcept { return &a == &b; }

private:
  [[nodiscard]] static constexpr proportional_growth growth_of(const stack_resource_options& options) noexcept {
    return {.smallest = options.initial_bytes,
            .largest = std::max(options.initial_bytes, options.max_growth_bytes),
            .divisor = 1};
  }

  // A chunk's header has blocks on both sides, so it is verified first; the buffer's header is a member of the stack.
  template <class Chunk>
  [[nodiscard]] ASHLAR_INLINE Chunk* expect_sound(Chunk* seen) const noexcept {
    if (seen != &bottom_) seen->expect_sound(this);
    return seen;
  }

  [[nodiscard]] ASHLAR_INLINE std::size_t room_below(const std::byte* end) const noexcept {
    return static_cast<std::size_t>(end - top_);
  }

  [[nodiscard]] ASHLAR_INLINE void* push(std::size_t gap, std::size_t bytes, std::size_t alignment) noexcept {
    std::byte* const data = top_ + gap;
    poison_.take(top_, data + order::bytes_of(bytes), this);
    order_.push({data, bytes, alignment}, top_);
    top_ = data + order::bytes_of(bytes);
    detail::mark_live(data, bytes);
    return data;
  }

  // Whether an address is inside the stack's memory, live or not.
  [[nodiscard]] auto has_memory() const noexcept {
    return [this](const void* p) { return has_memory_at(p); };
  }

  [[nodiscard]] bool has_memory_at(const void* p) const noexcept {
    for (const chunk* each = current_; each != nullptr; each = each->below)
      if (block{expect_sound(each)->begin, each->room()}.contains(p)) return true;
    return spare_ != nullptr && block{spare_->begin, spare_->room()}.contains(p);
  }

  [[nodiscard]] bool stands_in_empty_chunk() const noexcept { return top_ == base_ && current_ != &bottom_; }

  ASHLAR_INLINE void free_down_to(std::byte* to) noexcept {
    detail::mark_free(to, static_cast<std::size_t>(top_ - to));
    poison_.poison_above(to, top_);
    top_ = to;
  }

  ASHLAR_COLD void deallocate_slow(void* p, std::size_t bytes, std::size_t alignment) noexcept {
    const order::block freed = {static_cast<std::byte*>(p), bytes, alignment};
    if (reaches(freed.data + order::bytes_of(bytes))) free_down_to(order_.pop(freed, freed.data));
  }

  // Returns: whether the top block ends at `end`, after leaving an empty chunk.
  [[nodiscard]] bool reaches(const std::byte* end) noexcept {
    if (end != top_ && stands_in_empty_chunk()) step_down();
    return end == top_;
  }

  void resize_top(const order::block& block, std::size_t new_bytes) noexcept {
    std::byte* const was = std::exchange(top_, block.data + order::bytes_of(new_bytes));
    if (top_ < was) poison_.poison_above(top_, was);
    else poison_.take(was, top_, this);
    if (new_bytes > block.bytes) detail::mark_live(block.data + block.bytes, new_bytes - block.bytes);
    else detail::mark_free(block.data + new_bytes, order::bytes_of(block.bytes) - new_bytes);
    order_.resize(new_bytes);
    raise_high_water();
  }

  // The limit of the fast path is the highest top so far, so that the fast path need not track the high water.
  void raise_high_water() noexcept {
    if (top_ > limit_) limit_ = top_;
    high_water_ = std::max(high_water_, used());
  }

  [[nodiscard]] void* push_above_high_water(std::size_t bytes, std::size_t alignment) noexcept {
    const std::size_t gap = order::gap_above(top_, alignment);
    if (!order::fits(room_below(current_->end), gap, bytes)) return nullptr;
    void* const p = push(gap, bytes, alignment);
    raise_high_water();
    return p;
  }

  template <failure Failure>
  ASHLAR_COLD void* allocate_slow(std::size_t bytes, std::size_t alignment) noexcept(Failure == or_null) {
    if (void* const p = push_above_high_water(bytes, alignment)) return p;
    const std::size_t needed = room_for(bytes, alignment);
    if (needed == 0) return failed<Failure>(bytes, alignment);
    if (!spare_has(needed)) {
      const std::size_t whole = next_chunk_bytes(needed);
      void* const memory = allocate_from<Failure>(upstream_, whole, alignof(chunk));
      if (memory == nullptr) return nullptr;
      keep_new(memory, whole);
    }
    enter_spare();
    return push_above_high_water(bytes, alignment);
  }

  // Returns: the chunk size that fits the block at any start address, in bytes; 0 if none can.
  [[nodiscard]] static std::size_t room_for(std::size_t bytes, std::size_t alignment) noexcept {
    if (!is_valid_request(bytes, alignment)) return 0;
    const std::size_t gap = order::label_bytes(alignment) + (alignment > order::grain ? alignment : 0);
    const std::size_t needed = order::bytes_of(bytes) + gap;  // below twice PTRDIFF_MAX
    return needed <= max_block_bytes - sizeof(chunk) ? needed : 0;
  }

  // Returns: whether the spare chunk is large enough; a smaller one goes back before the stack asks for more.
  [[nodiscard]] bool spare_has(std::size_t needed) noexcept {
    if (stands_in_empty_chunk()) step_down();
    if (spare_ != nullptr && expect_sound(spare_)->room() >= needed) return true;
    give_spare_back();
    return false;
  }

  [[nodiscard]] std::size_t next_chunk_bytes(std::size_t needed) const noexcept {
    return std::max(align_down(growth_.next(capacity()), order::grain), needed + sizeof(chunk));
  }

  void keep_new(void* memory, std::size_t whole) noexcept {
    auto* const made = ::new (memory) chunk;
    made->begin = static_cast<std::byte*>(memory) + sizeof(chunk);
    made->end = static_cast<std::byte*>(memory) + whole;
    made->set_seal();
    detail::mark_free(made->begin, made->room());
    spare_ = made, held_bytes_ += whole;
  }

  void enter_spare() noexcept {
    chunk* const entered = std::exchange(spare_, nullptr);
    expect_sound(current_)->top = top_;
    current_->set_seal();
    expect_sound(entered)->below = current_;
    entered->used_below = used();
    entered->top = entered->begin;
    entered->set_seal();
    stand_in(entered);
  }

  void stand_in(chunk* in) noexcept {
    poison_.leave(this);
    current_ = expect_sound(in);
    base_ = in->begin;
    top_ = in->top;
    const std::size_t reached = high_water_ > in->used_below ? high_water_ - in->used_below : 0;
    limit_ = base_ + std::min(align_down(reached, order::grain), in->room());
  }

  // The emptied chunk becomes the spare one; it goes back if the present spare one is larger.
  std::size_t step_down() noexcept {
    chunk* emptied = current_;
    detail::mark_free(base_, static_cast<std::size_t>(top_ - base_));
    stand_in(expect_sound(emptied)->below);
    if (spare_ == nullptr || expect_sound(spare_)->room() < emptied->room()) std::swap(spare_, emptied);
    return emptied != nullptr ? give_back(emptied) : 0;
  }

  // Returns: whether the top is now in the marker's chunk. A marker in an empty chunk keeps that chunk.
  ASHLAR_COLD bool leave_chunks_above(const marker& to) noexcept {
    while (current_ != to.chunk && current_ != &bottom_) {
      if (current_->below == to.chunk && to.chunk->top == to.top) {
        free_down_to(base_);
        return false;
      }
      step_down();
    }
    return current_ == to.chunk;
  }

  std::size_t give_spare_back() noexcept { return spare_ != nullptr ? give_back(std::exchange(spare_, nullptr)) : 0; }

  std::size_t give_back(chunk* leaving) noexcept {
    const std::size_t bytes = expect_sound(leaving)->whole_bytes();
    detail::mark_live(leaving->begin, leaving->room());
    upstream_.deallocate(leaving, bytes, alignof(chunk));
    held_bytes_ -= bytes;
    return bytes;
  }

  std::byte* top_ = nullptr;
  std::byte* limit_ = nullptr;
  std::byte* base_ = nullptr;
  chunk* current_ = &bottom_;
  chunk* spare_ = nullptr;
  std::size_t high_water_ = 0;
  chunk bottom_{};  // the buffer, or nothing
  ASHLAR_NO_UNIQUE_ADDRESS order order_{};
  ASHLAR_NO_UNIQUE_ADDRESS detail::stack_poison<> poison_{};
  proportional_growth growth_ = growth_of({});
  std::size_t held_bytes_ = 0;
  ASHLAR_NO_UNIQUE_ADDRESS Upstream upstream_{};
};

static_assert(try_resource<stack_resource<>> && owning_resource<stack_resource<>>);
static_assert(releasable_resource<stack_resource<>> && expanding_resource<stack_resource<>>);

}  // namespace ashlar::ASHLAR_ABI
