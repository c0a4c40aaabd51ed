// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// An adaptor that sends small requests to one resource and large ones to another, by size and alignment alone.
#pragma once

#include <concepts>
#include <cstddef>
#include <tuple>
#include <type_traits>
#include <utility>

#include <ashlar/base/bits.hpp>
#include <ashlar/base/config.hpp>
#include <ashlar/base/error.hpp>
#include <ashlar/base/resource.hpp>
#include <ashlar/fwd.hpp>

namespace ashlar::ASHLAR_ABI {

namespace policy {

/// Decides whether a request is small. The answer depends only on the size, the alignment and the rule's arguments, so
/// that a free finds the side of the allocation.
template <class Rule>
concept segregation = std::equality_comparable<Rule> && requires(const Rule& rule, std::size_t n) {
  { rule.is_small(n, n) } noexcept -> std::same_as<bool>;
};

/// A large request stays large when it grows, if the rule has a member `is_monotone` that is true.
template <class Rule>
concept monotone_segregation = segregation<Rule> && requires { requires Rule::is_monotone; };

}  // namespace policy

/// Small: at most `bytes` bytes, and aligned to at most `alignment`.
struct threshold {
  static constexpr bool is_monotone = true;

  std::size_t bytes;
  std::size_t alignment = max_size;

  [[nodiscard]] constexpr bool is_small(std::size_t n, std::size_t at) const noexcept {
    return n <= bytes && at <= alignment;
  }
  [[nodiscard]] friend bool operator==(const threshold&, const threshold&) noexcept = default;
};

/// As `threshold`, known at compile time: empty.
template <std::size_t Bytes, std::size_t Alignment>
struct fixed_threshold {
  static constexpr bool is_monotone = true;

  [[nodiscard]] constexpr bool is_small(std::size_t n, std::size_t at) const noexcept {
    return n <= Bytes && at <= Alignment;
  }
  [[nodiscard]] friend bool operator==(const fixed_threshold&, const fixed_threshold&) noexcept = default;
};

static_assert(policy::monotone_segregation<threshold>);

/// Owns both sides. Blocks that `Rule` calls small belong to `Small` from `allocate` to `deallocate`, all others to
/// `Large`:
///
///     ashlar::segregator<ashlar::block_pool<>, ashlar::new_delete_resource> memory(
///         ashlar::threshold{64}, ashlar::block_pool_options{.cell_bytes = 64}, ashlar::new_delete_resource());
///
/// | refinement | present if | reason |
/// |---|---|---|
/// | try, owning, releasable, thread-safe | both sides have it | a property of all blocks |
/// | process-wide | both sides have it, and the rule is empty | otherwise it has state of its own |
/// | expanding | one has it | the block's side is asked; a block never moves to the other side |
/// | at-least | one has it, and the rule is monotone | the reported size never exceeds the sizes of its side |
/// | self-describing, prefaulting, divisible | never | a block without its size, or a part of one, has no side |
///
/// Two are equal if both sides and the rules are. A block of `Small` that is freed with a size of `Large` is a
/// `size_mismatch` from level `checked` on. Complexity: one comparison a call. Thread safety: any thread, if both sides
/// allow it.
template <resource Small, resource Large, class Rule>
class segregator {
  static_assert(policy::segregation<Rule>, "a rule has is_small(bytes, alignment), noexcept, and can be compared");

public:
  static constexpr bool is_thread_safe = thread_safe_resource<Small> && thread_safe_resource<Large>;
  static constexpr bool is_process_wide = process_wide_resource<Small> && process_wide_resource<Large>;

  segregator()
    requires std::is_empty_v<Rule>
  = default;

  /// Effects: makes both sides by default.
  explicit segregator(const Rule& rule)
    requires(std::default_initializable<Small> && std::default_initializable<Large>)
      : rule_(rule) {}

  /// Effects: makes each side from its argument.
  template <class S, class L>
    requires(std::constructible_from<Small, S> && std::constructible_from<Large, L>)
  segregator(const Rule& rule, S&& below, L&& above)
      : rule_(rule), small_(std::forward<S>(below)), large_(std::forward<L>(above)) {}

  /// Effects: makes each side from the arguments in its tuple.
  template <class... S, class... L>
  segregator(const Rule& rule, std::piecewise_construct_t, std::tuple<S...> below, std::tuple<L...> above)
      : segregator(rule, below, above, std::index_sequence_for<S...>(), std::index_sequence_for<L...>()) {}

  /// Throws: the exceptions of the side. Expects: `alignment` is a power of two.
  [[nodiscard]] ASHLAR_INLINE void* allocate(std::size_t bytes, std::size_t alignment) {
    return rule_.is_small(bytes, alignment) ? small_.allocate(bytes, alignment) : large_.allocate(bytes, alignment);
  }

  /// Returns: a block, or null if the side has no memory; the other side is not asked.
  [[nodiscard]] ASHLAR_INLINE void* try_allocate(std::size_t bytes, std::size_t alignment) noexcept
    requires(try_resource<Small> && try_resource<Large>)
  {
    return rule_.is_small(bytes, alignment) ? small_.try_allocate(bytes, alignment)
                                            : large_.try_allocate(bytes, alignment);
  }

  /// As `allocate`. Returns: also the size of the block, cut at the limit of small blocks.
  [[nodiscard]] block allocate_at_least(std::size_t bytes, std::size_t alignment)
    requires(policy::monotone_segregation<Rule> && (at_least_resource<Small> || at_least_resource<Large>))
  {
    if (!rule_.is_small(bytes, alignment)) return ashlar::allocate_at_least_from(large_, bytes, alignment);
    const block got = ashlar::allocate_at_least_from(small_, bytes, alignment);
    return {got.data, rule_.is_small(got.size, alignment) ? got.size : bytes};
  }

  /// Expects: `p` was allocated with the same `bytes` and `alignment`.
  ASHLAR_INLINE void deallocate(void* p, std::size_t bytes, std::size_t alignment) noexcept {
    if (rule_.is_small(bytes, alignment)) return small_.deallocate(p, bytes, alignment);
    check_large(p, bytes);
    large_.deallocate(p, bytes, alignment);
  }

  [[nodiscard]] bool owns(const void* p) const noexcept
    requires(owning_resource<Small> && owning_resource<Large>)
  {
    return small_.owns(p) || large_.owns(p);
  }

  /// Effects: takes back all blocks of both sides.
  void release() noexcept
    requires(releasable_resource<Small> && releasable_resource<Large>)
  {
    small_.release();
    large_.release();
  }

  /// Returns: false if the old and the new size are of different sides; otherwise the side's answer.
  [[nodiscard]] bool try_expand(void* p, std::size_t bytes, std::size_t new_bytes, std::size_t alignment) noexcept
    requires(expanding_resource<Small> || expanding_resource<Large>)
  {
    const bool is_small = rule_.is_small(bytes, alignment);
    if (is_small != rule_.is_small(new_bytes, alignment)) return false;
    if constexpr (expanding_resource<Small>)
      if (is_small) return small_.try_expand(p, bytes, new_bytes, alignment);
    if constexpr (expanding_resource<Large>)
      if (!is_small) return large_.try_expand(p, bytes, new_bytes, alignment);
    return false;
  }

  [[nodiscard]] const Rule& rule() const noexcept { return rule_; }
  [[nodiscard]] Small& small_side() noexcept { return small_; }
  [[nodiscard]] const Small& small_side() const noexcept { return small_; }
  [[nodiscard]] Large& large_side() noexcept { return large_; }
  [[nodiscard]] const Large& large_side() const noexcept { return large_; }

  [[nodiscard]] friend bool operator==(const segregator& a, const segregator& b) noexcept {
    return a.rule_ == b.rule_ && a.small_ == b.small_ && a.large_ == b.large_;
  }

private:
  template <class S, class L, std::size_t... SmallAt, std::size_t... LargeAt>
  segregator(const Rule& rule, S& below, L& above, std::index_sequence<SmallAt...>, std::index_sequence<LargeAt...>)
      : rule_(rule), small_(std::forward<std::tuple_element_t<SmallAt, S>>(std::get<SmallAt>(below))...),
        large_(std::forward<std::tuple_element_t<LargeAt, L>>(std::get<LargeAt>(above))...) {}

  // The reverse is not an error: `Small` may draw its memory from `Large`.
  void check_large([[maybe_unused]] void* p, [[maybe_unused]] std::size_t bytes) const noexcept {
    if constexpr (checking_level >= checking::checked && owning_resource<Small>)
      if (ASHLAR_UNLIKELY(small_.owns(p)))
        report(fault::size_mismatch, "freed a block of the small side with a size of the large side", p, this, bytes);
  }

  ASHLAR_NO_UNIQUE_ADDRESS Rule rule_;
  ASHLAR_NO_UNIQUE_ADDRESS Small small_;
  ASHLAR_NO_UNIQUE_ADDRESS Large large_;
};

template <class Rule, class Small, class Large>
segregator(Rule, Small, Large) -> segregator<Small, Large, Rule>;

}  // namespace ashlar::ASHLAR_ABI
