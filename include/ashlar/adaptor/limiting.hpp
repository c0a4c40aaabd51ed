// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// An adaptor that charges a budget before every allocation.
#pragma once

#include <concepts>
#include <cstddef>
#include <memory>
#include <utility>

#include <ashlar/adaptor/budget.hpp>
#include <ashlar/adaptor/forwarding.hpp>
#include <ashlar/base/bits.hpp>
#include <ashlar/base/config.hpp>
#include <ashlar/base/error.hpp>
#include <ashlar/base/resource.hpp>
#include <ashlar/fwd.hpp>

namespace ashlar::ASHLAR_ABI {

/// Owns an `R`, made from the arguments after the budget, and behaves as it does while the budget lasts. Has the
/// refinements of `R`, except that a block must be freed with its size. Thread-safe if `R` is and the budget is shared.
/// The bytes requested are charged before `R` is asked. The charge ends with the block's free, with `release`, or with
/// the adaptor. A refused request fails as if `R` had no memory, without a call of `R`.
///
///     ashlar::budget scripts(8 << 20);
///     ashlar::limiting<ashlar::new_delete_resource> memory(scripts);
///
/// Lifetime: the budget outlives the adaptor. Complexity: as `R`, and O(depth of the budgets).
template <resource R, class Budget>
class limiting : public forwarding<R> {
public:
  static constexpr bool is_thread_safe = thread_safe_resource<R> && Budget::is_shared;

  using forwarding<R>::upstream_resource;

  template <class... Args>
    requires std::constructible_from<R, Args...>
  explicit limiting(Budget& limits, Args&&... args)
      : forwarding<R>(std::forward<Args>(args)...), budget_(std::addressof(limits)) {}
  limiting(const limiting&) = delete;
  limiting& operator=(const limiting&) = delete;
  ~limiting() { budget_->uncharge(charged()); }

  /// As `R::allocate`. Throws: `std::bad_alloc` also if the budget refuses.
  [[nodiscard]] void* allocate(std::size_t bytes, std::size_t alignment) {
    if (!charge(bytes, alignment)) throw_bad_alloc(bytes, alignment);
    charge_guard charged{*this, bytes};
    void* const p = upstream_resource().allocate(bytes, alignment);
    charged.bytes = 0;
    return p;
  }

  /// As `R::try_allocate`. Returns: null also if the budget refuses.
  [[nodiscard]] void* try_allocate(std::size_t bytes, std::size_t alignment) noexcept
    requires try_resource<R>
  {
    if (!charge(bytes, alignment)) return nullptr;
    void* const p = upstream_resource().try_allocate(bytes, alignment);
    if (p == nullptr) uncharge(bytes);
    return p;
  }

  /// As `R::deallocate`.
  void deallocate(void* p, std::size_t bytes, std::size_t alignment) noexcept {
    upstream_resource().deallocate(p, bytes, alignment);
    uncharge(bytes);  // after the free: until then the bytes are in use
  }

  /// As `R::try_expand`. Returns: false also if the budget refuses the added bytes.
  [[nodiscard]] bool try_expand(void* p, std::size_t bytes, std::size_t new_bytes, std::size_t alignment) noexcept
    requires expanding_resource<R>
  {
    const std::size_t more = new_bytes > bytes ? new_bytes - bytes : 0;
    if (more != 0 && !charge(more, alignment)) return false;  // a budget above a lowered limit refuses even 0 bytes
    const bool done = upstream_resource().try_expand(p, bytes, new_bytes, alignment);
    if (!done) uncharge(more);
    else if (new_bytes < bytes) uncharge(bytes - new_bytes);
    return done;
  }

  /// As `R::release`; every charge of this adaptor ends.
  void release() noexcept
    requires releasable_resource<R>
  {
    upstream_resource().release();
    uncharge(charged());
  }

  /// Returns: the bytes requested for this adaptor's live blocks.
  [[nodiscard]] std::size_t charged() const noexcept { return charged_.get(); }
  [[nodiscard]] Budget& limits() const noexcept { return *budget_; }

  [[nodiscard]] friend bool operator==(const limiting& a, const limiting& b) noexcept {
    return &a == &b;  // a block freed to another one would end a charge of the wrong budget
  }

  [[nodiscard]] bool invariant() const noexcept { return charged() <= budget_->used(); }

private:
  struct charge_guard {
    limiting& owner;
    std::size_t bytes;
    ~charge_guard() {
      if (bytes != 0) owner.uncharge(bytes);
    }
  };

  [[nodiscard]] bool charge(std::size_t bytes, std::size_t alignment) noexcept {
    return budget_->charge(bytes, alignment) && charged_.raise_within(bytes, max_size);
  }

  void uncharge(std::size_t bytes) noexcept {
    charged_.lower(bytes);
    budget_->uncharge(bytes);
  }

  Budget* budget_;
  detail::byte_count<Budget::is_shared> charged_;
};

}  // namespace ashlar::ASHLAR_ABI
