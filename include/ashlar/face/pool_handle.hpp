// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The sole owner of an object of a pool: a unique pointer that releases it.
#pragma once

#include <memory>
#include <type_traits>

#include <ashlar/base/config.hpp>

namespace ashlar::ASHLAR_ABI {

namespace detail {

/// Releases an object to its pool.
template <class Pool>
class returns_to {
public:
  constexpr returns_to() = default;  // for an empty handle
  constexpr explicit returns_to(Pool& pool) noexcept : pool_(std::addressof(pool)) {}

  void operator()(typename Pool::value_type* object) const noexcept { pool_->release(object); }
  [[nodiscard]] constexpr Pool* pool() const noexcept { return pool_; }

private:
  Pool* pool_ = nullptr;
};

/// Releases an object to a pool with static storage.
template <auto& Pool>
struct returns_to_static {
  void operator()(typename std::remove_reference_t<decltype(Pool)>::value_type* object) const noexcept {
    Pool.release(object);
  }
};

}  // namespace detail

/// The owner of an object: two words, object and pool. Move-only. Lifetime: the pool outlives it.
template <class Pool>
using pool_handle = std::unique_ptr<typename Pool::value_type, detail::returns_to<Pool>>;

/// The same in one word: the pool is part of the type. `static_pool_handle<messages> m(messages.acquire());`
template <auto& Pool>
using static_pool_handle =
    std::unique_ptr<typename std::remove_reference_t<decltype(Pool)>::value_type, detail::returns_to_static<Pool>>;

}  // namespace ashlar::ASHLAR_ABI
