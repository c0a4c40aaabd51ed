// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// An allocator with an identity, for authors of containers: it detects wrong uses of an allocator.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <type_traits>

#include <ashlar/base/bits.hpp>
#include <ashlar/base/config.hpp>
#include <ashlar/base/error.hpp>
#include <ashlar/test/fancy_ptr.hpp>
#include <ashlar/test/ledger.hpp>
#include <ashlar/test/problem.hpp>

namespace ashlar::ASHLAR_ABI {
namespace detail {

template <class T>
inline char type_mark = 0;  // its address identifies the type; RTTI may be off

}  // namespace detail
namespace test {

/// The traits of an allocator. The defaults are the hardest on a container: nothing propagates, so the container must
/// move element by element between unequal allocators.
struct checking_allocator_options {
  bool propagate_on_copy_assignment = false;
  bool propagate_on_move_assignment = false;
  bool propagate_on_swap = false;
  bool always_equal = false;          ///< one identity for all, which must share one ledger
  bool fresh_on_copy = false;         ///< a copied container gets an allocator that is unequal to the original's
  bool default_constructible = true;  ///< in a `default_ledger`; false: a container that relies on it does not compile
  bool fancy_pointer = false;         ///< `pointer` is a `fancy_ptr`, so code that assumes `T*` does not compile
};

/// Two are equal exactly if one is a copy of the other, or both are copies of one original. A new one is unequal to all
/// others. Its ledger records each block's identity, type, count and alignment. It reports a free that does not match,
/// a double free, a free of an unknown block, writes beside a block or after its end, and leaks. `ledger::fail_at`
/// makes an allocation throw.
///
///     ashlar::test::ledger book;
///     constexpr ashlar::test::checking_allocator_options swapping{.propagate_on_swap = true};
///     using allocator = ashlar::test::checking_allocator<int, swapping>;
///     my_vector<int, allocator> numbers{allocator(book)};
///
/// Thread safety: any thread.
template <class T, checking_allocator_options Options = checking_allocator_options{}>
class checking_allocator {
public:
  using value_type = T;
  using pointer = std::conditional_t<Options.fancy_pointer, fancy_ptr<T>, T*>;
  using size_type = std::size_t;
  using difference_type = std::ptrdiff_t;
  using is_always_equal = std::bool_constant<Options.always_equal>;
  using propagate_on_container_copy_assignment = std::bool_constant<Options.propagate_on_copy_assignment>;
  using propagate_on_container_move_assignment = std::bool_constant<Options.propagate_on_move_assignment>;
  using propagate_on_container_swap = std::bool_constant<Options.propagate_on_swap>;

  template <class U>
  struct rebind {
    using other = checking_allocator<U, Options>;
  };

  checking_allocator()
    requires(Options.default_constructible)
      : checking_allocator(default_ledger::get()) {}
  // Implicit, so that a ledger can be passed to a container's constructor.
  checking_allocator(ledger& book) : book_(&book), identity_(Options.always_equal ? 0 : book.make_identity()) {}
  template <class U>
  checking_allocator(const checking_allocator<U, Options>& other) noexcept
      : book_(&other.book()), identity_(other.identity()) {}

  /// Throws: `injected_failure` if the ledger's failure plan demands it; `std::bad_array_new_length` if `n * sizeof(T)`
  /// overflows; `std::bad_alloc`.
  [[nodiscard]] pointer allocate(std::size_t n) {
    if (n > max_size()) throw_bad_array_new_length();
    return pointer(static_cast<T*>(book_->allocate(call_for(n))));
  }

  /// Expects: `p` came from `allocate(n)` of an equal allocator; a violation is reported.
  void deallocate(const pointer& p, std::size_t n) noexcept { book_->deallocate(std::to_address(p), call_for(n)); }

  [[nodiscard]] static constexpr std::size_t max_size() noexcept { return max_block_bytes / sizeof(T); }

  [[nodiscard]] checking_allocator select_on_container_copy_construction() const {
    return Options.fresh_on_copy ? checking_allocator(*book_) : *this;
  }

  [[nodiscard]] ledger& book() const noexcept { return *book_; }
  /// Returns: the identity, which equal allocators of one ledger share.
  [[nodiscard]] std::uint64_t identity() const noexcept { return identity_; }

  template <class U>
  [[nodiscard]] friend bool operator==(const checking_allocator& a, const checking_allocator<U, Options>& b) noexcept {
    return &a.book() == &b.book() && a.identity() == b.identity();
  }

private:
  [[nodiscard]] allocation_call call_for(std::size_t n) const noexcept {
    return {n, sizeof(T), alignof(T), identity_, &detail::type_mark<T>};
  }

  ledger* book_;
  std::uint64_t identity_;
};

}  // namespace test
}  // namespace ashlar::ASHLAR_ABI
