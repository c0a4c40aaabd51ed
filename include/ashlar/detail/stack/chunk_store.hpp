// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The chunks of an arena, each with its header at the end, so that its start keeps the alignment of the allocation: the
// growth of their sizes, the limit of their bytes, the spare ones; and what a rewind needs: the pending destructors,
// most recent first, and the registry of valid markers.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>

#include <ashlar/base/atomics.hpp>
#include <ashlar/base/bits.hpp>
#include <ashlar/base/config.hpp>
#include <ashlar/base/error.hpp>
#include <ashlar/base/resource.hpp>
#include <ashlar/detail/checks/poison.hpp>
#include <ashlar/detail/support/poison.hpp>

namespace ashlar::ASHLAR_ABI::detail {

/// One marker's entry: the number of open markers at its creation, and a unique number.
struct mark_ticket {
  std::size_t depth = 0;
  std::uint64_t number = 0;
};

/// A marker is valid from `open` until a rewind to an older one. The registry keeps the last `remembered` depths;
/// deeper markers are mistaken for valid ones. Markers that are never rewound to cost nothing.
class marker_registry {
public:
  static constexpr std::size_t remembered = 32;

  constexpr marker_registry() = default;

  [[nodiscard]] mark_ticket open() noexcept {
    const mark_ticket opened{++depth_, ++last_number_};
    latest_[depth_ % remembered] = opened;
    return opened;
  }

  [[nodiscard]] bool is_good(const mark_ticket& ticket) const noexcept {
    const mark_ticket& known = latest_[ticket.depth % remembered];
    if (ticket.depth == 0 || ticket.depth > depth_) return false;
    return known.depth != ticket.depth || known.number == ticket.number;
  }

  /// Effects: invalidates the markers later than this one. Expects: `is_good(ticket)`.
  void close_after(const mark_ticket& ticket) noexcept { depth_ = ticket.depth; }
  void close_all() noexcept { depth_ = 0; }

private:
  std::size_t depth_ = 0;
  std::uint64_t last_number_ = 0;
  mark_ticket latest_[remembered] = {};
};

/// The registry of this level of checking: nothing at `fast`.
struct marker_book : if_checked<marker_registry> {
  using ticket = if_checked<mark_ticket>;
};

/// The destructor of one object. It lies in front of the object, in the same block, after foreign blocks. So from
/// level `checked` on it is sealed, and verified before its call.
struct finalizer {
  finalizer* next = nullptr;
  void (*end)(finalizer*) noexcept = nullptr;
  ASHLAR_NO_UNIQUE_ADDRESS seal_word<0> seal{};

  void put_on(finalizer* other) noexcept {
    next = other;
    seal.set(right_seal());
  }

  [[nodiscard]] bool is_sound() const noexcept { return seal.is(right_seal()); }

private:
  [[nodiscard]] std::uintptr_t right_seal() const noexcept {
    return seal_of(this, next, reinterpret_cast<std::uintptr_t>(end));
  }
};

/// An object and its finalizer, in one block.
template <class T>
struct finalized {
  finalizer entry;
  union {
    T object;
  };

  template <class... Args>
  explicit finalized(Args&&... args) : entry{.end = end_one}, object(std::forward<Args>(args)...) {}
  finalized(const finalized&) = delete;
  finalized& operator=(const finalized&) = delete;
  ~finalized() {}  // the entry ends the object

private:
  static void end_one(finalizer* entry) noexcept {
    std::destroy_at(std::addressof(static_cast<finalized*>(static_cast<void*>(entry))->object));
  }
};

/// An array and its finalizer. The elements lie after it, at the first address of their alignment.
template <class T>
struct finalized_array {
  finalizer entry{.end = end_all};
  std::size_t count = 0;
  ASHLAR_NO_UNIQUE_ADDRESS seal_word<1> counted{};

  /// The offset of the elements from the entry.
  static constexpr std::size_t offset() noexcept { return align_up(sizeof(finalized_array), alignof(T)); }

  [[nodiscard]] T* elements() noexcept {
    return static_cast<T*>(static_cast<void*>(reinterpret_cast<std::byte*>(this) + offset()));
  }

  /// Effects: makes `n` elements by `T()`. Throws: the exception of `T()`, after the elements made so far are destroyed
  /// in reverse order.
  void build(std::size_t n) {
    struct unfinished {
      finalized_array* array;
      ~unfinished() {
        if (array != nullptr) array->destroy();
      }
    } until_built{this};
    for (; count != n; ++count) ::new (static_cast<void*>(elements() + count)) T();
    until_built.array = nullptr;
    counted.set(seal_of(&count, count));
  }

  void destroy() noexcept {
    for (; count != 0; --count) std::destroy_at(elements() + count - 1);
  }

private:
  static void end_all(finalizer* entry) noexcept {
    auto* const array = static_cast<finalized_array*>(static_cast<void*>(entry));
    if (ASHLAR_UNLIKELY(!array->counted.is(seal_of(&array->count, array->count))))
      report({.kind = fault::underflow,
              .what = "bytes before the first element of an array were written to",
              .pointer = array->elements()});
    array->destroy();
  }
};

/// A stack of finalizers. Invariant: each entry was pushed later than its successors.
class finalizers {
public:
  using entry_type = finalizer;
  template <class T>
  using object = finalized<T>;
  template <class T>
  using array = finalized_array<T>;

  constexpr finalizers() = default;

  void push(finalizer& entry) noexcept {
    entry.put_on(first_);
    first_ = &entry;
  }

  /// Effects: runs the entries pushed after `last`, most recent first, including entries that destructors push
  /// meanwhile. Each entry leaves the stack before it runs. Reports an entry that was overwritten, in the name of
  /// `arena`.
  void run_down_to(const finalizer* last, const void* arena) noexcept {
    while (first_ != last) {
      finalizer* const leaving = first_;
      if (ASHLAR_UNLIKELY(!leaving->is_sound())) report_damage(leaving, arena);
      first_ = leaving->next;
      leaving->end(leaving);
    }
  }

  [[nodiscard]] finalizer* first() const noexcept { return first_; }

private:
  [[noreturn]] ASHLAR_COLD static void report_damage(const finalizer* entry, const void* arena) noexcept {
    report(fault::overflow, "bytes past the end of a block were written to, over the finalizer of the next object",
           entry, arena);
  }

  finalizer* first_ = nullptr;
};

///       |         usable          | chunk |
///       begin                     end()     begin + bytes
///
/// Chunks form a stack, linked by `below`. Blocks of this chunk lie in front of this header, and foreign memory lies
/// after it. So from level `checked` on the header is sealed. Code that changes it seals it again; code that follows
/// its link or frees its memory verifies it first.
struct chunk {
  ASHLAR_NO_UNIQUE_ADDRESS seal_word<0> front;  ///< one at each end, to tell the side of a write
  chunk* below = nullptr;
  std::byte* below_top = nullptr;  ///< top of the chunk below when this one was put on it
  std::byte* begin = nullptr;
  std::size_t bytes = 0;  ///< header included
  std::size_t alignment = 0;
  ASHLAR_NO_UNIQUE_ADDRESS seal_word<1> back;

  /// Returns: the size of a chunk that can hold a block of `size`, if it is aligned for the block.
  [[nodiscard]] static constexpr std::size_t bytes_for(std::size_t size) noexcept {
    return align_up(size != 0 ? size : 1, alignof(chunk)) + sizeof(chunk);
  }

  /// Effects: makes a chunk of the memory at `p`; its usable bytes are free. Expects: `p` is aligned for a chunk,
  /// `bytes` a multiple of that and larger than a chunk.
  [[nodiscard]] static chunk* build(void* p, std::size_t bytes, std::size_t alignment) noexcept {
    auto* const begin = static_cast<std::byte*>(p);
    auto* const made = new (begin + bytes - sizeof(chunk)) chunk;
    made->begin = begin;
    made->bytes = bytes;
    made->alignment = alignment;
    made->set_seal();
    made->clear();
    return made;
  }

  /// Effects: puts it on another chunk, which is filled up to `top`.
  void put_on(chunk* other, std::byte* top) noexcept {
    below = other;
    below_top = top;
    set_seal();
  }

  [[nodiscard]] std::byte* end() const noexcept { return begin + usable(); }
  [[nodiscard]] std::size_t usable() const noexcept { return bytes - sizeof(chunk); }  ///< bytes

  /// Expects: `at_alignment` is a power of two.
  [[nodiscard]] bool can_hold(std::size_t size, std::size_t at_alignment) const noexcept {
    const std::size_t padding = (0 - address_of(begin)) & (at_alignment - 1);
    return padding < usable() && size <= usable() - padding;
  }

  void clear() const noexcept { mark_free(begin, usable()); }

  /// Returns: whether the header still has its seal; always true at level `fast`.
  [[nodiscard]] bool is_sound() const noexcept { return front.is(right_front()) && back.is(right_back()); }

  /// Effects: reports a header that was overwritten. `arena` is the owner of the chunk.
  void expect_sound(const void* arena) const noexcept {
    if (ASHLAR_UNLIKELY(!is_sound())) report_damage(arena);
  }

private:
  void set_seal() noexcept {
    front.set(right_front());
    back.set(right_back());
  }

  [[nodiscard]] std::uintptr_t right_front() const noexcept { return seal_of(this); }
  [[nodiscard]] std::uintptr_t right_back() const noexcept {
    return seal_of(this, below, below_top, begin, bytes, alignment);
  }

  [[noreturn]] ASHLAR_COLD void report_damage(const void* arena) const noexcept {
    const bool is_from_behind = front.is(right_front());
    report(is_from_behind ? fault::underflow : fault::overflow,
           is_from_behind ? "bytes before the first block of a chunk were written to, over the chunk's header"
                          : "bytes past the end of the last block of a chunk were written to, over the chunk's header",
           this, arena);
  }
};

static_assert(sizeof(chunk) == (5 + 2 * if_checked<chunk>::is_there) * sizeof(void*));

/// Allocates the memory between `top` and `end`, upwards. The owner keeps the start address.
///
///       | block | pad | block |      free      |
///                             top              end
///
/// Invariant: `top() <= end()`. Complexity: O(1).
class bump {
public:
  constexpr bump() = default;
  constexpr bump(std::byte* top, std::byte* end) noexcept : top_(top), end_(end) {}

  /// The address of a block, and whether it is free. An address, because a place that is not free need not be in the
  /// memory.
  struct place {
    std::uintptr_t begin;
    std::uintptr_t end;
    bool is_free;
  };

  /// Returns: the place for a block, free unless the rest is too small or `alignment` is not a power of two. A block of
  /// 0 bytes takes one byte, so that its address is unique.
  [[nodiscard]] ASHLAR_INLINE place place_for(std::size_t bytes, std::size_t alignment) const noexcept {
    const std::uintptr_t top = address_of(top_);
    const std::size_t taken = occupied(bytes);
    if (is_small(bytes) && is_small(alignment) && is_power_of_two(alignment)) {
      const std::uintptr_t begin = align_up(top, alignment);  // the fewest instructions from one top to the next
      return {begin, begin + taken, begin + taken <= address_of(end_)};
    }
    const std::size_t padding = (0 - top) & (alignment - 1);
    return {top + padding, top + padding + taken, taken <= room_behind(padding, has_one_bit(alignment))};
  }

  /// Returns: the block. Expects: `at` is free and nothing was taken since `place_for`.
  [[nodiscard]] ASHLAR_INLINE void* take(const place& at, std::size_t bytes) noexcept {
    top_ = reinterpret_cast<std::byte*>(at.end);
    auto* const begin = reinterpret_cast<void*>(at.begin);
    mark_live(begin, bytes);
    return begin;
  }

  /// Returns: whether `p`, of `bytes`, is the top block.
  [[nodiscard]] ASHLAR_INLINE bool is_last(const void* p, std::size_t bytes) const noexcept {
    return address_of(p) + occupied(bytes) == address_of(top_);
  }

  /// Effects: takes the top block back; its padding stays. Expects: `p` is the top block.
  ASHLAR_INLINE void take_back(void* p, std::size_t bytes) noexcept {
    mark_free(p, bytes);
    top_ = static_cast<std::byte*>(p);
  }

  /// Returns: whether the top block was resized to `new_bytes`. Expects: `is_last(p, bytes)`.
  [[nodiscard]] bool resize_last(void* p, std::size_t bytes, std::size_t new_bytes) noexcept {
    auto* const first = static_cast<std::byte*>(p);
    if (occupied(new_bytes) > static_cast<std::size_t>(end_ - first)) return false;
    top_ = first + occupied(new_bytes);
    if (new_bytes < bytes) mark_free(first + new_bytes, bytes - new_bytes);
    else mark_live(first + bytes, new_bytes - bytes);
    return true;
  }

  /// Effects: takes back all blocks above `top`. Expects: `top` lies in the same memory, and not above `top()`.
  void rewind(std::byte* top) noexcept {
    mark_free(top, static_cast<std::size_t>(top_ - top));
    top_ = top;
  }

  [[nodiscard]] std::byte* top() const noexcept { return top_; }
  [[nodiscard]] std::byte* end() const noexcept { return end_; }
  [[nodiscard]] ASHLAR_INLINE std::size_t rest() const noexcept { return static_cast<std::size_t>(end_ - top_); }
  [[nodiscard]] bool invariant() const noexcept { return top_ <= end_; }

private:
  // No memory lies in the last page of the address space: sums with constants up to this limit cannot wrap.
  [[nodiscard]] static ASHLAR_INLINE bool is_small(std::size_t n) noexcept {
    return ASHLAR_IS_CONSTANT(n) && n <= 1024;
  }

  // Returns: the bytes after the padding; 0 if the padding does not fit or the alignment is invalid. No sum can wrap,
  // at any size. A mask instead of a branch: the caller's comparison is then the only branch.
  [[nodiscard]] ASHLAR_INLINE std::size_t room_behind(std::size_t padding, bool has_any) const noexcept {
    const auto fits = static_cast<std::size_t>(padding <= rest());
    return (rest() - padding) & (0 - (fits & static_cast<std::size_t>(has_any)));
  }

  [[nodiscard]] static ASHLAR_INLINE std::size_t occupied(std::size_t bytes) noexcept { return bytes + (bytes == 0); }
  // 0 passes: its padding is larger than any rest.
  [[nodiscard]] static ASHLAR_INLINE bool has_one_bit(std::size_t n) noexcept { return (n & (n - 1)) == 0; }

  std::byte* top_ = nullptr;
  std::byte* end_ = nullptr;
};

/// The sizes of chunks, in bytes, and the limit of their sum.
struct chunk_limits {
  std::size_t initial_bytes;
  std::size_t max_growth_bytes = max_size;  ///< each chunk is twice the one before up to 64 KiB, then 1.5 times
  std::size_t max_bytes = max_size;         ///< of all chunks together
};

/// A chunk goes back to the upstream with the size and the alignment of its allocation.
/// Invariant: the bytes of the spare chunks `<= held() <= max_bytes`.
template <resource Upstream>
class chunk_store {
public:
  using chunk_type = chunk;
  using bump_type = bump;
  using limits_type = chunk_limits;

  /// `arena` is the name in reports.
  constexpr chunk_store(const chunk_limits& limits, Upstream upstream, const void* arena = nullptr)
      : limits_(limits), step_(limits.initial_bytes), arena_(arena), upstream_(std::move(upstream)) {}

  /// Returns: a chunk that can hold the block; null without memory, if `Failure` is `or_null`. Throws otherwise:
  /// `std::bad_alloc` beyond the limit; the exceptions of the upstream.
  template <failure Failure>
  [[nodiscard]] chunk* take(std::size_t bytes, std::size_t alignment) noexcept(Failure == or_null) {
    if (chunk* const got = take_gladly(bytes, alignment)) return got;
    if (!has_room_for(bytes, alignment)) return static_cast<chunk*>(failed<Failure>(bytes, alignment));
    const std::size_t needed = chunk::bytes_for(bytes);
    return adopt(allocate_from<Failure>(upstream_, needed, alignment_for(alignment)), needed, alignment);
  }

  /// Returns: a spare chunk, or null.
  [[nodiscard]] chunk* take_spare() noexcept {
    chunk* const taken = spares_;
    if (taken != nullptr) spares_ = expect_sound(*taken).below;
    return taken;
  }

  /// Effects: retains a chunk that is no longer in use.
  void keep(chunk* spare) noexcept {
    expect_sound(*spare).clear();
    spare->put_on(std::exchange(spares_, spare), nullptr);
  }

  /// Effects: replaces several spare chunks by one of their total size: frees them and allocates that. If the upstream
  /// refuses, the next request tries again. Expects: no chunk is in use.
  void consolidate() noexcept {
    if (spares_ == nullptr || expect_sound(*spares_).below == nullptr) return;
    const std::size_t total = held();
    std::size_t alignment = spares_->alignment;
    for (const chunk* each = spares_; each != nullptr; each = each->below)
      alignment = std::max(alignment, expect_sound(*each).alignment);
    if (!is_valid_request(total, alignment)) return;
    give_back_spares();
    step_ = std::max(step_, total);
    if (chunk* const all = adopt(try_allocate_from(upstream_, total, alignment), total, alignment)) keep(all);
  }

  /// Effects: returns a chunk that is no longer in use to the upstream.
  void give_back(chunk* leaving) noexcept {
    const chunk was = expect_sound(*leaving);
    held_.store(held() - was.bytes);
    --count_;
    mark_live(was.begin, was.bytes);
    upstream_.deallocate(was.begin, was.bytes, was.alignment);
  }

  void give_back_spares() noexcept {
    while (chunk* const spare = take_spare()) give_back(spare);
  }

  /// Effects: frees all chunks; the next one has the initial size. Expects: no chunk is in use.
  void release() noexcept {
    give_back_spares();
    step_ = limits_.initial_bytes;
  }

  [[nodiscard]] const chunk* spares() const noexcept { return spares_; }
  [[nodiscard]] std::size_t held() const noexcept { return held_.load(); }                       ///< bytes; any thread
  [[nodiscard]] std::size_t usable() const noexcept { return held() - count_ * sizeof(chunk); }  ///< bytes
  [[nodiscard]] std::size_t count() const noexcept { return count_; }                            ///< chunks
  [[nodiscard]] const chunk_limits& limits() const noexcept { return limits_; }
  [[nodiscard]] Upstream& upstream_resource() noexcept { return upstream_; }
  [[nodiscard]] const Upstream& upstream_resource() const noexcept { return upstream_; }

private:
  [[nodiscard]] const chunk& expect_sound(const chunk& seen) const noexcept {
    return seen.expect_sound(arena_ ? *arena_ : nullptr), seen;
  }

  [[nodiscard]] static constexpr std::size_t alignment_for(std::size_t alignment) noexcept {
    return std::max(alignment, alignof(std::max_align_t));
  }

  [[nodiscard]] bool fits(std::size_t bytes) const noexcept { return bytes <= limits_.max_bytes - held(); }

  // Returns: the first spare chunk that can hold the block, or null.
  [[nodiscard]] chunk* take_spare_for(std::size_t bytes, std::size_t alignment) noexcept {
    chunk* before = nullptr;
    for (chunk* each = spares_; each != nullptr; before = each, each = each->below) {
      if (!expect_sound(*each).can_hold(bytes, alignment)) continue;
      before != nullptr ? before->put_on(each->below, nullptr) : static_cast<void>(spares_ = each->below);
      return each;
    }
    return nullptr;
  }

  /// Returns: a spare chunk, or a new one with room for more than this block; null if the upstream refuses. Each
  /// attempt requests half as much. Without a spare chunk, the caller makes the last attempt.
  [[nodiscard]] chunk* take_gladly(std::size_t bytes, std::size_t alignment) noexcept {
    if (chunk* const spare = take_spare_for(bytes, alignment)) return spare;
    if (!is_valid_request(bytes, alignment)) return nullptr;
    const std::size_t needed = chunk::bytes_for(bytes);
    std::size_t wanted = align_down(std::min(step_, limits_.max_bytes - held()), alignof(chunk));
    for (; wanted > needed; wanted = align_down(wanted / 2, alignof(chunk)))
      if (is_valid_request(wanted, alignment_for(alignment)))
        if (void* const p = try_allocate_from(upstream_, wanted, alignment_for(alignment)))
          return adopt(p, wanted, alignment);
    if (spares_ == nullptr || !fits(needed) || !is_valid_request(needed, alignment_for(alignment))) return nullptr;
    return adopt(try_allocate_from(upstream_, needed, alignment_for(alignment)), needed, alignment);
  }

  /// Returns: whether a chunk for this block alone is within the limit. Effects: frees spare chunks, which are all too
  /// small for it, to make room.
  [[nodiscard]] bool has_room_for(std::size_t bytes, std::size_t alignment) noexcept {
    if (!is_valid_request(bytes, alignment)) return false;
    const std::size_t needed = chunk::bytes_for(bytes);
    if (!is_valid_request(needed, alignment_for(alignment))) return false;
    give_back_spares();
    return fits(needed);
  }

  /// Returns: a chunk of the memory at `p`, or null if `p` is null.
  [[nodiscard]] chunk* adopt(void* p, std::size_t bytes, std::size_t alignment) noexcept {
    if (p == nullptr) return nullptr;
    held_.store(held() + bytes);
    ++count_;
    const std::size_t grown = step_ < largest_page ? step_ : step_ / 2;
    step_ = std::min(step_ + std::min(grown, max_size - step_), limits_.max_growth_bytes);
    return chunk::build(p, bytes, alignment_for(alignment));
  }

  chunk_limits limits_;
  std::size_t step_;
  relaxed_atomic<std::size_t> held_ = 0;
  std::size_t count_ = 0;
  chunk* spares_ = nullptr;
  ASHLAR_NO_UNIQUE_ADDRESS if_checked<const void*> arena_;  // the one to report
  ASHLAR_NO_UNIQUE_ADDRESS Upstream upstream_;
};

}  // namespace ashlar::ASHLAR_ABI::detail
