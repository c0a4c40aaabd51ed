// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// One user of a cached pool, with its own cache: the work of the public pools for a thread, by hand.
#pragma once

#include <cstddef>

namespace ashlar_test {

/// A resource. Several of them in one thread stand for several threads, in an order chosen by a test.
template <class Pool>
class pool_user {
public:
  explicit pool_user(Pool& pool) noexcept : pool_(pool) { pool_.open(cache_); }
  pool_user(const pool_user&) = delete;
  pool_user& operator=(const pool_user&) = delete;
  ~pool_user() { pool_.close(cache_); }

  [[nodiscard]] void* allocate(std::size_t = 0, std::size_t = 0) {
    void* const cell = pool_.take(cache_);
    return cell != nullptr ? cell : pool_.allocate_slow(&cache_);
  }

  [[nodiscard]] void* try_allocate(std::size_t = 0, std::size_t = 0) noexcept {
    void* const cell = pool_.take(cache_);
    return cell != nullptr ? cell : pool_.template allocate_slow<ashlar::detail::or_null>(&cache_);
  }

  void deallocate(void* cell, std::size_t = 0, std::size_t = 0) noexcept {
    if (!pool_.put(cache_, cell)) pool_.deallocate_slow(&cache_, cell);
  }

  void flush() noexcept { pool_.flush(cache_); }
  [[nodiscard]] auto& cache() noexcept { return cache_; }

  friend bool operator==(const pool_user& a, const pool_user& b) noexcept { return &a == &b; }

private:
  Pool& pool_;
  typename Pool::cache_type cache_;
};

}  // namespace ashlar_test
