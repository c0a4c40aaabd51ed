// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// An adaptor that asks a second resource when the first one fails, and frees each block to its owner.
#pragma once

#include <concepts>
#include <cstddef>
#include <tuple>
#include <type_traits>
#include <utility>

#include <ashlar/base/config.hpp>
#include <ashlar/base/error.hpp>
#include <ashlar/base/resource.hpp>
#include <ashlar/detail/support/owned_block.hpp>
#include <ashlar/fwd.hpp>

namespace ashlar::ASHLAR_ABI {

/// Owns both sides. A request goes to `First`; if that returns null, to `Second`. A block is freed to `First` exactly
/// if `First` owns its address, so no header is needed and no block reaches the wrong side:
///
///     ashlar::fallback<ashlar::inline_buffer<4096>, ashlar::new_delete_resource> scratch;
///
/// `First` serves only blocks that it owns afterwards. Requests that it would pass to its own upstream (a pool: blocks
/// larger than its cells) go to `Second`. If `First` is a `try_resource`, no exception is used as an answer. It must be
/// one in builds without exceptions.
///
/// | refinement | present if | reason |
/// |---|---|---|
/// | try | `Second` has it | `First` is asked for null in any case |
/// | owning, releasable, thread-safe | both have it | a property of all blocks |
/// | self-describing | both have it | the owner test finds the side, the side finds the size |
/// | expanding, prefaulting | one has it | the owner is asked; the other side always refuses |
/// | at-least | `Second` has it | `First` could refuse by exception only; its blocks have the size requested |
/// | divisible | never | neighbours may be freed as one, and belong to both sides if these are adjacent |
///
/// Two are equal if both sides are. Expects: `Second` draws no memory from `First`; checked from level `checked` on.
/// Complexity: one owner test a call. Thread safety: any thread, if both sides allow it.
template <owning_resource First, resource Second>
class fallback {
  static_assert(
      try_resource<First> || ASHLAR_HAS_EXCEPTIONS != 0,
      "the first side of a fallback must be able to refuse a request: without exceptions it is a try_resource");

public:
  static constexpr bool is_thread_safe = thread_safe_resource<First> && thread_safe_resource<Second>;

  fallback() = default;

  /// Effects: makes the first side from `first`, the second one by default.
  template <class F>
    requires(std::constructible_from<First, F> && std::default_initializable<Second> &&
             !std::derived_from<std::remove_cvref_t<F>, fallback>)
  explicit fallback(F&& first) : first_(std::forward<F>(first)) {}

  /// Effects: makes each side from its argument.
  template <class F, class S>
    requires(std::constructible_from<First, F> && std::constructible_from<Second, S>)
  fallback(F&& first, S&& second) : first_(std::forward<F>(first)), second_(std::forward<S>(second)) {}

  /// Effects: makes each side from the arguments in its tuple.
  template <class... F, class... S>
  fallback(std::piecewise_construct_t, std::tuple<F...> first, std::tuple<S...> second)
      : fallback(first, second, std::index_sequence_for<F...>(), std::index_sequence_for<S...>()) {}

  /// Throws: the exceptions of `Second::allocate`. Expects: `alignment` is a power of two.
  [[nodiscard]] void* allocate(std::size_t bytes, std::size_t alignment) {
    void* const p = detail::try_allocate_owned(first_, bytes, alignment);
    return ASHLAR_LIKELY(p != nullptr) ? p : of_second(ashlar::allocate_upstream(second_, bytes, alignment));
  }

  /// Returns: a block, or null if neither side has memory. Expects: `alignment` is a power of two.
  [[nodiscard]] void* try_allocate(std::size_t bytes, std::size_t alignment) noexcept
    requires try_resource<Second>
  {
    void* const p = detail::try_allocate_owned(first_, bytes, alignment);
    return ASHLAR_LIKELY(p != nullptr) ? p : of_second(ashlar::try_allocate_upstream(second_, bytes, alignment));
  }

  /// As `allocate`. Returns: also the size of the block, if it is of the second side.
  [[nodiscard]] block allocate_at_least(std::size_t bytes, std::size_t alignment)
    requires at_least_resource<Second>
  {
    void* const p = detail::try_allocate_owned(first_, bytes, alignment);
    if (ASHLAR_LIKELY(p != nullptr)) return {p, bytes};
    const block got = ashlar::allocate_upstream_at_least(second_, bytes, alignment);
    return {of_second(got.data), got.size};
  }

  /// Effects: gives the block back to the side that owns it.
  void deallocate(void* p, std::size_t bytes, std::size_t alignment) noexcept {
    first_.owns(p) ? first_.deallocate(p, bytes, alignment) : second_.deallocate(p, bytes, alignment);
  }

  /// As above; the side finds the size. Effects: none if `p` is null.
  void deallocate(void* p) noexcept
    requires(self_describing_resource<First> && self_describing_resource<Second>)
  {
    first_.owns(p) ? first_.deallocate(p) : second_.deallocate(p);
  }

  [[nodiscard]] bool owns(const void* p) const noexcept
    requires owning_resource<Second>
  {
    return first_.owns(p) || second_.owns(p);
  }

  /// Effects: takes back all blocks of both sides.
  void release() noexcept
    requires(releasable_resource<First> && releasable_resource<Second>)
  {
    first_.release();
    second_.release();
  }

  /// Returns: whether the owner resized the block. A block never moves to the other side.
  [[nodiscard]] bool try_expand(void* p, std::size_t bytes, std::size_t new_bytes, std::size_t alignment) noexcept
    requires(expanding_resource<First> || expanding_resource<Second>)
  {
    if (first_.owns(p)) return expand_in(first_, p, bytes, new_bytes, alignment);
    return expand_in(second_, p, bytes, new_bytes, alignment);
  }

  void prefault(void* p, std::size_t bytes) noexcept
    requires(prefaulting_resource<First> || prefaulting_resource<Second>)
  {
    first_.owns(p) ? prefault_in(first_, p, bytes) : prefault_in(second_, p, bytes);
  }

  [[nodiscard]] First& first() noexcept { return first_; }
  [[nodiscard]] const First& first() const noexcept { return first_; }
  [[nodiscard]] Second& second() noexcept { return second_; }
  [[nodiscard]] const Second& second() const noexcept { return second_; }

  [[nodiscard]] friend bool operator==(const fallback& a, const fallback& b) noexcept {
    return a.first_ == b.first_ && a.second_ == b.second_;
  }

private:
  template <class F, class S, std::size_t... FirstAt, std::size_t... SecondAt>
  fallback(F& first, S& second, std::index_sequence<FirstAt...>, std::index_sequence<SecondAt...>)
      : first_(std::forward<std::tuple_element_t<FirstAt, F>>(std::get<FirstAt>(first))...),
        second_(std::forward<std::tuple_element_t<SecondAt, S>>(std::get<SecondAt>(second))...) {}

  // A block of `Second` that `First` owns would be freed to `First`.
  [[nodiscard]] void* of_second(void* p) const noexcept {
    ASHLAR_EXPECTS(p == nullptr || !first_.owns(p), "the second side of a fallback hands out memory of the first");
    return p;
  }

  template <class R>
  [[nodiscard]] static bool expand_in([[maybe_unused]] R& side, [[maybe_unused]] void* p,
                                      [[maybe_unused]] std::size_t bytes, [[maybe_unused]] std::size_t new_bytes,
                                      [[maybe_unused]] std::size_t alignment) noexcept {
    if constexpr (expanding_resource<R>) return side.try_expand(p, bytes, new_bytes, alignment);
    else return false;
  }

  template <class R>
  static void prefault_in([[maybe_unused]] R& side, [[maybe_unused]] void* p,
                          [[maybe_unused]] std::size_t bytes) noexcept {
    if constexpr (prefaulting_resource<R>) side.prefault(p, bytes);
  }

  ASHLAR_NO_UNIQUE_ADDRESS First first_;
  ASHLAR_NO_UNIQUE_ADDRESS Second second_;
};

template <class First, class Second>
fallback(First, Second) -> fallback<First, Second>;

}  // namespace ashlar::ASHLAR_ABI
