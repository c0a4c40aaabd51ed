// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Counts of owners, four bytes each: for one thread at a time, or for any.
#pragma once

#include <concepts>
#include <cstdint>

#include <ashlar/base/config.hpp>
#include <ashlar/detail/support/atomics.hpp>
#include <ashlar/detail/support/expects.hpp>
#include <ashlar/detail/support/hints.hpp>

namespace ashlar::ASHLAR_ABI::detail {

/// Counts the owners of an object. More than `most_owners` end the process, at every level: a count that wraps would
/// end the object under its remaining owners.
///
///     add()     one owner more. Expects: there is one
///     drop()    one owner less; returns whether it was the last. Expects: there is one
///     owners()  the number of owners
template <class T>
concept owner_counter = std::constructible_from<T, std::uint32_t> && requires(T& counter, const T& constant) {
  { counter.add() } noexcept;
  { counter.drop() } noexcept -> std::same_as<bool>;
  { constant.owners() } noexcept -> std::same_as<std::uint32_t>;
};

/// The limit of owners: half of the values, so that the other half is left to threads that count while the process
/// ends.
inline constexpr std::uint32_t most_owners = (std::uint32_t{1} << 31) - 1;

/// Thread safety: none.
class plain_counter {
public:
  explicit constexpr plain_counter(std::uint32_t owners) noexcept : owners_(owners) {}

  ASHLAR_INLINE void add() noexcept {
    ASHLAR_EXPECTS(owners_ != 0, "added an owner to an object without owners");
    ASHLAR_REQUIRE(owners_ < most_owners, "added an owner to an object with 2^31 - 1 owners");
    ++owners_;
  }

  [[nodiscard]] ASHLAR_INLINE bool drop() noexcept {
    ASHLAR_EXPECTS(owners_ != 0, "dropped an owner of an object without owners");
    return --owners_ == 0;
  }

  [[nodiscard]] std::uint32_t owners() const noexcept { return owners_; }

private:
  std::uint32_t owners_;
};

/// Thread safety: any thread with an owner. The last owner to drop sees the writes of all others before their drop.
/// Complexity: wait-free, one atomic addition.
template <class Atomics>
class basic_atomic_counter {
public:
  explicit constexpr basic_atomic_counter(std::uint32_t owners) noexcept : owners_(owners) {}

  // Relaxed: the caller has an owner, and passes the new one on by its own synchronisation.
  ASHLAR_INLINE void add() noexcept {
    const std::uint32_t before = owners_.fetch_add(1, memory_order_relaxed);
    ASHLAR_EXPECTS(before != 0, "added an owner to an object without owners");
    ASHLAR_REQUIRE(before < most_owners, "added an owner to an object with 2^31 - 1 owners");
  }

  // Release: pairs with the acquire of the last drop, which is one of these.
  [[nodiscard]] ASHLAR_INLINE bool drop() noexcept {
    const std::uint32_t before = owners_.fetch_sub(1, memory_order_acq_rel);
    ASHLAR_EXPECTS(before != 0, "dropped an owner of an object without owners");
    return before == 1;
  }

  /// Returns: the number of owners; possibly outdated, unless it is 1 and the caller is that owner.
  [[nodiscard]] std::uint32_t owners() const noexcept { return owners_.load(memory_order_relaxed); }

private:
  typename Atomics::template atomic<std::uint32_t> owners_;
};

using atomic_counter = basic_atomic_counter<default_atomics>;

static_assert(owner_counter<plain_counter> && owner_counter<atomic_counter>);
static_assert(sizeof(plain_counter) == 4 && sizeof(atomic_counter) == 4);

}  // namespace ashlar::ASHLAR_ABI::detail
