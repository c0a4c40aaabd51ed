// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A stack's record of its blocks: their padding alone, or from level `checked` on their order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <ashlar/base/bits.hpp>
#include <ashlar/base/config.hpp>
#include <ashlar/base/error.hpp>
#include <ashlar/detail/checks/poison.hpp>
#include <ashlar/detail/support/poison.hpp>

namespace ashlar::ASHLAR_ABI::detail {

/// Blocks of a stack start and end at multiples of two pointers: so no alignment up to that needs padding or a record.
inline constexpr std::size_t stack_grain = 2 * sizeof(void*);

/// Returns: the bytes that a block takes in the stack: at least one grain, with a byte of canary at least where slack
/// is watched. Expects: the sum does not overflow.
[[nodiscard]] ASHLAR_INLINE constexpr std::size_t stack_bytes(std::size_t bytes) noexcept {
  return align_up(bytes + (bytes == 0 || watches_slack ? 1 : 0), stack_grain);
}

/// Returns: whether a block and the gap before it fit into `room` bytes. Expects: `room` and `gap` are whole grains.
[[nodiscard]] ASHLAR_INLINE constexpr bool fits_stack(std::size_t room, std::size_t gap, std::size_t bytes) noexcept {
  if constexpr (watches_slack) return gap <= room && bytes < room - gap;
  else return gap <= room && bytes + (bytes == 0 ? 1 : 0) <= room - gap;
}

/// Effects: writes the canary after the first `bytes` bytes of a block.
inline void fill_stack_slack(std::byte* data, std::size_t bytes) noexcept {
  fill_watched_slack(data, bytes, stack_bytes(bytes));
}

/// Effects: reports a write after the first `bytes` bytes of a block.
inline void expect_stack_slack(const std::byte* data, std::size_t bytes, const void* resource) noexcept {
  const slack_state found = look_at_watched_slack(data, bytes, stack_bytes(bytes));
  if (ASHLAR_UNLIKELY(!found.is_intact)) report_write_behind(data, 0, bytes, found.written_to, resource);
}

/// The dead bytes at the top of a stack that are known to hold poison: one range that starts, or ends, at the top.
///
///       | live blocks | poison ...      | unknown: never used, or one free was larger than the poisoned part |
///                     ^ top
///
/// `Place` distinguishes two members of one object. Complexity: O(bytes poisoned or verified). Thread safety: none.
template <int Place = 0, bool IsKept = keeps_canaries>
class stack_poison {
public:
  static constexpr std::size_t most_at_once = std::size_t{64} * 1024;  ///< bytes

  /// Effects: turns dead bytes into a block, a label or padding. Reports those that were written to. Expects: they lie
  /// at the top, or are taken from the other end.
  void take(std::byte* from, std::byte* to, const void* resource) noexcept {
    if (!dead_) return;
    poison_range& known = dead_->known;
    const poison_range taken = known.within(from, to);
    taken.verify(known.bytes(), resource);
    if (!taken.is_empty())
      known = taken.begin == known.begin ? known.within(to, known.end) : known.within(known.begin, from);
  }

  /// Effects: poisons the bytes freed above `top`; of a large range, the part next to the top.
  void poison_above(std::byte* top, std::byte* end) noexcept {
    if (!dead_) return;
    const poison_range freed = {top, end}, known = dead_->known;
    if (freed.bytes() > most_at_once) return replace_by({top, top + most_at_once});
    replace_by(freed, {top, known.begin == end && !known.is_empty() ? known.end : end});
  }

  /// The same below `top`, for a stack that grows downwards.
  void poison_below(std::byte* begin, std::byte* top) noexcept {
    if (!dead_) return;
    const poison_range freed = {begin, top}, known = dead_->known;
    if (freed.bytes() > most_at_once) return replace_by({top - most_at_once, top});
    replace_by(freed, {known.end == begin && !known.is_empty() ? known.begin : begin, top});
  }

  /// Effects: reports dead bytes that were written to.
  void verify(const void* resource) const noexcept {
    if (dead_) dead_->known.verify(dead_->known.bytes(), resource);
  }

  /// As `verify`. The stack then moves to other memory, which has no known dead bytes.
  void leave(const void* resource) noexcept {
    verify(resource);
    if (dead_) *dead_ = {};
  }

private:
  void replace_by(const poison_range& freed) noexcept { replace_by(freed, freed); }
  void replace_by(const poison_range& freed, const poison_range& known) noexcept {
    freed.poison();
    dead_->known = known;
  }

  struct dead_bytes {
    poison_range known;
  };
  ASHLAR_NO_UNIQUE_ADDRESS part_if<IsKept, dead_bytes> dead_;
};

/// The memory of a stack consists of chunks. This header begins each of them, except for a buffer of the caller.
///
///       | stack_chunk | blocks ... |
///                     begin        end
struct alignas(stack_grain) stack_chunk {
  stack_chunk* below = nullptr;
  std::byte* begin = nullptr;
  std::byte* end = nullptr;
  std::byte* top = nullptr;    ///< the end of the blocks, while a higher chunk is in use
  std::size_t used_below = 0;  ///< bytes in lower chunks
  ASHLAR_NO_UNIQUE_ADDRESS seal_word<0> seal;

  [[nodiscard]] std::size_t room() const noexcept { return static_cast<std::size_t>(end - begin); }
  [[nodiscard]] std::size_t whole_bytes() const noexcept { return sizeof(stack_chunk) + room(); }

  /// Effects: seals the present content.
  void set_seal() noexcept { seal.set(right_seal()); }

  /// Returns: whether the header still has its seal; always true at level `fast`.
  [[nodiscard]] bool is_sound() const noexcept { return seal.is(right_seal()); }

  /// Effects: reports a header that was overwritten. `stack` is its owner.
  void expect_sound(const void* stack) const noexcept {
    if (ASHLAR_UNLIKELY(!is_sound())) report_damage(stack);
  }

private:
  [[nodiscard]] std::uintptr_t right_seal() const noexcept { return seal_of(this, below, begin, end, top, used_below); }

  [[noreturn]] ASHLAR_COLD void report_damage(const void* stack) const noexcept {
    report(fault::underflow, "bytes before the first block of a chunk were written to, over the chunk's header", this,
           stack);
  }
};

/// A block, as its owner describes it.
struct stack_block {
  std::byte* data = nullptr;
  std::size_t bytes = 0;
  std::size_t alignment = 1;
};

/// What a stack needs of its order, at every level.
template <class Order>
struct stack_units {
  using block = stack_block;
  using chunk = stack_chunk;
  static constexpr std::size_t grain = stack_grain;

  /// @{ As `stack_bytes` and `fits_stack`.
  [[nodiscard]] static ASHLAR_INLINE constexpr std::size_t bytes_of(std::size_t bytes) noexcept {
    return stack_bytes(bytes);
  }
  [[nodiscard]] static ASHLAR_INLINE constexpr bool fits(std::size_t room, std::size_t gap,
                                                         std::size_t bytes) noexcept {
    return fits_stack(room, gap, bytes);
  }
  /// @}

  /// Returns: the bytes between `top` and a block pushed above it. Expects: `top` is a multiple of a grain.
  [[nodiscard]] static ASHLAR_INLINE std::size_t gap_above(const std::byte* top, std::size_t alignment) noexcept {
    const std::size_t label = Order::label_bytes(alignment);
    return alignment > grain ? label + ((0 - (address_of(top) + label)) & (alignment - 1)) : label;
  }
};

/// Unchecked order. A block with an alignment that may need padding has the former top of the stack in front of it:
///
///       | below | padding | address of the end of `below` | over-aligned block |      other blocks: | block |
struct unchecked_order : stack_units<unchecked_order> {
  struct position {};

  [[nodiscard]] static constexpr std::size_t label_bytes(std::size_t alignment) noexcept {
    return alignment > stack_grain ? stack_grain : 0;
  }

  /// Effects: records `below`, the top of the stack before `pushed`.
  ASHLAR_INLINE void push(const stack_block& pushed, std::byte* below) noexcept {
    if (label_bytes(pushed.alignment) == 0) return;
    std::byte** const label = label_of(pushed);
    mark_readable(label, sizeof *label);
    *label = below;
    mark_free(label, sizeof *label);
  }

  /// Returns: the top of the stack before `popped`; that is `bare` if no padding was needed.
  [[nodiscard]] ASHLAR_INLINE std::byte* pop(const stack_block& popped, std::byte* bare) noexcept {
    if (label_bytes(popped.alignment) == 0) return bare;
    std::byte** const label = label_of(popped);
    mark_readable(label, sizeof *label);
    std::byte* const below = *label;
    mark_free(label, sizeof *label);
    return below;
  }

  /// Returns: the block that starts at `data`, as far as it is recorded.
  [[nodiscard]] static stack_block block_at(std::byte* data) noexcept { return {data}; }

  // Nothing is recorded, so no error is found.
  void resize(std::size_t /*bytes*/) noexcept {}
  void rewind(const position& /*to*/, const void* /*top*/, const void* /*resource*/) noexcept {}
  void clear() noexcept {}
  template <class Owns>
  void expect_top(const stack_block& /*given*/, const void* /*resource*/, const Owns& /*owns*/) const noexcept {}
  template <class Owns>
  void expect_live(const stack_block& /*given*/, const void* /*resource*/, const Owns& /*owns*/) const noexcept {}
  [[nodiscard]] position top() const noexcept { return {}; }
  [[nodiscard]] bool invariant() const noexcept { return true; }

private:
  [[nodiscard]] static std::byte** label_of(const stack_block& of) noexcept {
    return reinterpret_cast<std::byte**>(static_cast<void*>(of.data - stack_grain));
  }
};

/// Checked order: a label in front of every block links to the label of the block underneath.
///
///       | label | block |   | padding | label | over-aligned block |
///           ^---------------------------'  ^-- last_
///
/// Serial numbers grow from the bottom to the top and are never reused, so a position names one block of one stack. A
/// freed pointer is never dereferenced: it is searched among the labels. At `hardened` a canary follows each block, and
/// is checked on the free.
class checked_order : public stack_units<checked_order> {
public:
  struct position {
    const void* order = nullptr;
    std::uint64_t serial = 0;  // of the top block; 0 without one
    std::size_t bytes = 0;     // of the top block
  };

  checked_order() = default;
  checked_order(const checked_order&) = delete;
  checked_order& operator=(const checked_order&) = delete;

  [[nodiscard]] static constexpr std::size_t label_bytes(std::size_t /*alignment*/) noexcept { return sizeof(label); }

  void push(const stack_block& pushed, std::byte* below) noexcept {
    auto* const at = reinterpret_cast<label*>(static_cast<void*>(pushed.data - sizeof(label)));
    write(at, {below, last_, pushed.bytes, pushed.alignment, ++serial_, 0});
    last_ = at;
    if constexpr (watches_slack) fill_stack_slack(pushed.data, pushed.bytes);
  }

  /// Expects: `popped` is the top block, see `expect_top`.
  [[nodiscard]] std::byte* pop(const stack_block& /*popped*/, std::byte* /*bare*/) noexcept {
    const label leaving = read(last_);
    last_ = leaving.previous;
    return leaving.below;
  }

  /// Returns: the block that starts at `data`, as far as it is recorded. Complexity: O(blocks above).
  [[nodiscard]] stack_block block_at(std::byte* data) const noexcept {
    const label* at = last_;
    while (at != nullptr && data_of(at) != data) at = read(at).previous;
    if (at == nullptr) return {data};
    const label found = read(at);
    return {data, found.bytes, found.alignment};
  }

  /// Effects: sets the size of the top block.
  void resize(std::size_t bytes) noexcept {
    label changed = read(last_);
    changed.bytes = bytes;
    write(last_, changed);
    if constexpr (watches_slack) fill_stack_slack(reinterpret_cast<std::byte*>(last_ + 1), bytes);
  }

  void clear() noexcept { last_ = nullptr; }

  /// Effects: reports a block that is not on top, another size or alignment than the allocation's, or a broken
  /// canary; does not return then. `owns(p)` tells whether an address is inside the memory of the stack `resource`.
  template <class Owns>
  void expect_top(const stack_block& given, const void* resource, const Owns& owns) const noexcept {
    expect_live(given, resource, owns);
    if (!is_on_top(given.data))
      report(fault::out_of_order, "freed a block that is not on top of the stack", given.data, resource);
  }

  /// The same for a block anywhere in the stack. Complexity: O(blocks above).
  template <class Owns>
  void expect_live(const stack_block& given, const void* resource, const Owns& owns) const noexcept {
    const label* at = last_;
    while (at != nullptr && data_of(at) != given.data) at = read(at).previous;
    if (at == nullptr) report_unknown(given, resource, owns(given.data));
    const label was = read(at);
    if (was.bytes != given.bytes)
      report_mismatch("freed or resized a block with another size than it was allocated with", given, resource,
                      was.bytes, given.bytes);
    if (was.alignment != given.alignment)
      report_mismatch("freed or resized a block with another alignment than it was allocated with", given, resource,
                      was.alignment, given.alignment);
    expect_slack(at, resource);
  }

  [[nodiscard]] position top() const noexcept {
    if (last_ == nullptr) return {this, 0, 0};
    const label on_top = read(last_);
    return {this, on_top.serial, on_top.bytes};
  }

  /// Effects: removes the blocks above `to`. Reports a position of another stack, or one with a top block that was
  /// freed or resized; the report has `top` and `resource`. Complexity: O(blocks above).
  void rewind(const position& to, const void* top, const void* resource) noexcept {
    if (to.order != this) report(fault::bad_marker, "rewound to a marker of another stack", top, resource);
    while (last_ != nullptr && read(last_).serial > to.serial) forget_top(resource);
    const position found = this->top();
    if (found.serial != to.serial)
      report(fault::bad_marker, "rewound to a marker above the top of the stack", top, resource);
    if (found.bytes != to.bytes)
      report(fault::bad_marker, "rewound to a marker whose top block was expanded since", top, resource);
  }

  /// Returns: whether each block lies above the one before it. Complexity: O(blocks).
  [[nodiscard]] bool invariant() const noexcept {
    std::uint64_t above = serial_ + 1;
    for (const label* at = last_; at != nullptr; at = read(at).previous) {
      if (read(at).serial >= above) return false;
      above = read(at).serial;
    }
    return true;
  }

private:
  struct alignas(stack_grain) label {
    std::byte* below;  // the top of the stack before the block
    label* previous;
    std::size_t bytes;
    std::size_t alignment;
    std::uint64_t serial;
    std::uint64_t sum;  // last, and as wide as the alignment, so that it lies right before the block
  };

  void forget_top(const void* resource) noexcept {
    expect_slack(last_, resource);
    last_ = read(last_).previous;
  }

  static void expect_slack([[maybe_unused]] const label* at, [[maybe_unused]] const void* resource) noexcept {
    if constexpr (watches_slack) expect_stack_slack(data_of(at), read(at).bytes, resource);
  }

  [[nodiscard]] bool is_on_top(const void* p) const noexcept { return last_ != nullptr && data_of(last_) == p; }

  [[nodiscard]] static const std::byte* data_of(const label* at) noexcept {
    return reinterpret_cast<const std::byte*>(at + 1);
  }

  [[nodiscard]] static std::uint64_t sum_of(const label* at, const label& of) noexcept {
    std::uint64_t sum = address_of(at) ^ 0x5A17AB1Eu;
    for (const std::uint64_t each : {std::uint64_t{address_of(of.below)}, std::uint64_t{address_of(of.previous)},
                                     std::uint64_t{of.bytes}, std::uint64_t{of.alignment}, of.serial})
      sum = (sum ^ each) * 0x9E3779B97F4A7C15u + 1;
    return sum;
  }

  static void write(label* at, label value) noexcept {
    value.sum = sum_of(at, value);
    mark_readable(at, sizeof *at);
    *at = value;
    mark_free(at, sizeof *at);
  }

  [[nodiscard]] static label read(const label* at) noexcept {
    mark_readable(at, sizeof *at);
    const label value = *at;
    mark_free(at, sizeof *at);
    if (value.sum != sum_of(at, value)) report_write_before(data_of(at), 0, nullptr);
    return value;
  }

  [[noreturn]] ASHLAR_COLD static void report_mismatch(const char* what, const stack_block& given, const void* resource,
                                                       std::size_t expected, std::size_t got) noexcept {
    report({.kind = fault::size_mismatch,
            .what = what,
            .pointer = given.data,
            .resource = resource,
            .expected = expected,
            .got = got});
  }

  [[noreturn]] ASHLAR_COLD void report_unknown(const stack_block& given, const void* resource,
                                               bool is_owned) const noexcept {
    for (const label* at = last_; at != nullptr; at = read(at).previous)
      if (address_of(given.data) - address_of(data_of(at)) < read(at).bytes)
        report(fault::misaligned_free, "freed a pointer into the middle of a block", given.data, resource);
    if (is_owned) report(fault::double_free, "freed a block that is free", given.data, resource);
    report(fault::invalid_free, "freed a pointer that is not of this stack", given.data, resource);
  }

  label* last_ = nullptr;
  std::uint64_t serial_ = 0;
};

/// The order policy of this level of checking.
using stack_order = std::conditional_t<checking_level >= checking::checked, checked_order, unchecked_order>;

}  // namespace ashlar::ASHLAR_ABI::detail
