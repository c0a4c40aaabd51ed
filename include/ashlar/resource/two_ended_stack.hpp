// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Two stacks in one buffer that grow towards each other: long-lived blocks at one end, temporary ones at the other.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>

#include <ashlar/base/bits.hpp>
#include <ashlar/base/config.hpp>
#include <ashlar/base/error.hpp>
#include <ashlar/base/resource.hpp>
#include <ashlar/detail/stack/stack_order.hpp>
#include <ashlar/detail/support/poison.hpp>

namespace ashlar::ASHLAR_ABI {

/// Lives in a buffer that the caller owns. Loaded data that stays goes to one end, data needed during loading only to
/// the other. Neither end leaves holes in the other, and only their sum must fit. There is no upstream.
/// Invariant: `begin <= low <= high <= end`. Complexity: O(1); at `checked`, `rewind` is O(blocks freed).
/// Thread safety: none, for one end as for both.
class two_ended_stack {
  using order = detail::stack_order;

  /// The buffer and the top of each stack.
  ///
  ///   | f | f | f |    free    | b | b |
  ///   begin       low          high    end
  struct both_ends {
    std::byte* begin = nullptr;
    std::byte* low = nullptr;
    std::byte* high = nullptr;
    std::byte* end = nullptr;
    std::size_t high_water = 0;  // bytes of both
    ASHLAR_NO_UNIQUE_ADDRESS detail::stack_poison<0> above_low{};
    ASHLAR_NO_UNIQUE_ADDRESS detail::stack_poison<1> below_high{};

    [[nodiscard]] std::size_t available() const noexcept { return static_cast<std::size_t>(high - low); }
    [[nodiscard]] std::size_t capacity() const noexcept { return static_cast<std::size_t>(end - begin); }

    // Effects: reports writes to dead bytes: to those that an end takes, or to all.
    void take_poison(std::byte* from, std::byte* to, const void* resource) noexcept {
      above_low.take(from, to, resource);
      below_high.take(from, to, resource);
    }
    void verify_poison(const void* resource) const noexcept {
      above_low.verify(resource);
      below_high.verify(resource);
    }
  };

public:
  /// One end: a resource whose blocks are freed in the reverse order of their allocation, padding included, as in
  /// `stack_resource`. It is independent of the other end. `two_ended_stack` makes it.
  template <bool IsFront>
  class end_resource {
    friend two_ended_stack;
    static constexpr bool is_front = IsFront;

  public:
    /// A position of this end, small and freely copied.
    struct marker {
      std::byte* top = nullptr;
      ASHLAR_NO_UNIQUE_ADDRESS order::position position{};
    };

    end_resource(const end_resource&) = delete;
    end_resource& operator=(const end_resource&) = delete;

    /// Throws: `std::bad_alloc` if the ends would meet. Expects: `alignment` is a power of two.
    [[nodiscard]] void* allocate(std::size_t bytes, std::size_t alignment) {
      return ashlar::allocate_or_throw(*this, bytes, alignment);
    }

    /// Returns: a block, or null if the ends would meet. Expects: `alignment` is a power of two.
    [[nodiscard]] void* try_allocate(std::size_t bytes, std::size_t alignment) noexcept {
      ASHLAR_REQUIRE(is_power_of_two(alignment), "alignment is not a power of two");
      const std::size_t gap = gap_for(bytes, alignment);
      if (!order::fits(both_->available(), gap, bytes)) return nullptr;
      const std::size_t label = order::label_bytes(alignment);
      std::byte* const before = top();
      std::byte* const data = is_front ? before + gap : before - (gap - label) - order::bytes_of(bytes);
      if constexpr (is_front) both_->take_poison(before, data + order::bytes_of(bytes), this);
      else both_->take_poison(data - label, before, this);
      order_.push({data, bytes, alignment}, before);
      top() = is_front ? data + order::bytes_of(bytes) : data - label;
      both_->high_water = std::max(both_->high_water, both_->capacity() - both_->available());
      detail::mark_live(data, bytes);
      return data;
    }

    /// Expects: the block is on top. From `checked` on, `out_of_order` and other kinds are reported; at `fast` such a
    /// block stays until `rewind` or `release`.
    void deallocate(void* p, std::size_t bytes, std::size_t alignment) noexcept {
      const order::block freed = {static_cast<std::byte*>(p), bytes, alignment};
      order_.expect_top(freed, this, [this](const void* at) { return reachable().contains(at); });
      std::byte* const above = freed.data + order::bytes_of(bytes);
      if ((is_front ? above : freed.data - order::label_bytes(alignment)) != top()) return;
      free_down_to(order_.pop(freed, is_front ? freed.data : above));
    }

    /// Returns: the current position of this end.
    [[nodiscard]] marker mark() const noexcept { return {is_front ? both_->low : both_->high, order_.top()}; }

    /// Effects: takes back all blocks of this end allocated since `to` was made. From `checked` on, a marker of another
    /// stack, or one above the present top, is reported as `bad_marker`.
    void rewind(const marker& to) noexcept {
      order_.rewind(to.position, to.top, this);
      free_down_to(to.top);
    }

    /// Effects: takes all blocks of this end back.
    void release() noexcept {
      order_.clear();
      both_->verify_poison(this);
      free_down_to(is_front ? both_->begin : both_->end);
    }

    /// Whether `p` points into bytes of blocks of this end.
    [[nodiscard]] bool owns(const void* p) const noexcept { return taken().contains(p); }

    /// Bytes of blocks of this end, with labels and padding.
    [[nodiscard]] std::size_t used() const noexcept { return taken().size; }

    [[nodiscard]] bool invariant() const noexcept { return order_.invariant(); }

    [[nodiscard]] friend bool operator==(const end_resource& a, const end_resource& b) noexcept { return &a == &b; }

  private:
    explicit end_resource(both_ends& both) noexcept : both_(&both) {}

    [[nodiscard]] std::byte*& top() noexcept { return is_front ? both_->low : both_->high; }

    // At the back, padding is above a block and the label below it, so that both are freed with the block.
    [[nodiscard]] std::size_t gap_for(std::size_t bytes, std::size_t alignment) const noexcept {
      if constexpr (is_front) {
        return order::gap_above(both_->low, alignment);
      } else {
        const std::size_t padding = (address_of(both_->high) - order::bytes_of(bytes)) & (alignment - 1);
        return order::label_bytes(alignment) + (alignment > order::grain ? padding : 0);
      }
    }

    [[nodiscard]] block taken() const noexcept {
      if constexpr (is_front) return {both_->begin, static_cast<std::size_t>(both_->low - both_->begin)};
      else return {both_->high, static_cast<std::size_t>(both_->end - both_->high)};
    }

    // The bytes of this end and the free bytes.
    [[nodiscard]] block reachable() const noexcept {
      if constexpr (is_front) return {both_->begin, static_cast<std::size_t>(both_->high - both_->begin)};
      else return {both_->low, static_cast<std::size_t>(both_->end - both_->low)};
    }

    void free_down_to(std::byte* to) noexcept {
      if constexpr (is_front) {
        detail::mark_free(to, static_cast<std::size_t>(both_->low - to));
        both_->above_low.poison_above(to, both_->low);
      } else {
        detail::mark_free(both_->high, static_cast<std::size_t>(to - both_->high));
        both_->below_high.poison_below(both_->high, to);
      }
      top() = to;
    }

    both_ends* both_;
    ASHLAR_NO_UNIQUE_ADDRESS order order_{};
  };

  using front_resource = end_resource<true>;
  using back_resource = end_resource<false>;

  /// Lifetime: the buffer outlives the stack and every block.
  explicit two_ended_stack(std::span<std::byte> buffer) noexcept {
    const std::size_t skipped = (0 - address_of(buffer.data())) & (order::grain - 1);
    if (buffer.size() < skipped + order::grain) return;
    both_.begin = both_.low = buffer.data() + skipped;
    both_.end = both_.high = both_.begin + align_down(buffer.size() - skipped, order::grain);
    detail::mark_free(both_.begin, both_.capacity());
  }

  two_ended_stack(const two_ended_stack&) = delete;  // blocks and ends belong to one instance
  two_ended_stack& operator=(const two_ended_stack&) = delete;
  ~two_ended_stack() {
    both_.verify_poison(this);
    detail::mark_live(both_.begin, both_.capacity());
  }

  [[nodiscard]] front_resource& front() noexcept { return front_; }
  [[nodiscard]] const front_resource& front() const noexcept { return front_; }
  [[nodiscard]] back_resource& back() noexcept { return back_; }
  [[nodiscard]] const back_resource& back() const noexcept { return back_; }

  /// Effects: takes all blocks of both ends back and returns to the initial state.
  void release() noexcept {
    front_.release();
    back_.release();
    both_.high_water = 0;
  }

  [[nodiscard]] std::size_t capacity() const noexcept { return both_.capacity(); }                  ///< bytes
  [[nodiscard]] std::size_t used() const noexcept { return both_.capacity() - both_.available(); }  ///< bytes of both
  [[nodiscard]] std::size_t available() const noexcept { return both_.available(); }  ///< free bytes between the ends
  [[nodiscard]] std::size_t high_water() const noexcept { return both_.high_water; }  ///< largest number of bytes used

  [[nodiscard]] bool invariant() const noexcept {
    return both_.begin <= both_.low && both_.low <= both_.high && both_.high <= both_.end &&
           both_.high_water >= used() && front_.invariant() && back_.invariant();
  }

private:
  both_ends both_;
  front_resource front_{both_};
  back_resource back_{both_};
};

static_assert(try_resource<two_ended_stack::front_resource> && owning_resource<two_ended_stack::front_resource>);
static_assert(try_resource<two_ended_stack::back_resource> && releasable_resource<two_ended_stack::back_resource>);

}  // namespace ashlar::ASHLAR_ABI
