// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Makes a resource for one thread usable by any thread, through one lock shared by all references of the process.
#pragma once

#include <cstddef>
#include <memory>
#include <mutex>

#include <ashlar/base/resource.hpp>

#include "tests/support/counting_resource.hpp"

namespace ashlar_test {

template <ashlar::try_resource R = counting_resource<>>
class serialised_ref {
public:
  static constexpr bool is_thread_safe = true;
  static constexpr std::size_t least_part_bytes = ashlar::least_part<R>;

  serialised_ref(R& r) noexcept : resource_(std::addressof(r)) {}

  [[nodiscard]] void* allocate(std::size_t bytes, std::size_t alignment) {
    const std::lock_guard held(lock_);
    return resource_->allocate(bytes, alignment);
  }

  [[nodiscard]] void* try_allocate(std::size_t bytes, std::size_t alignment) noexcept {
    const std::lock_guard held(lock_);
    return resource_->try_allocate(bytes, alignment);
  }

  void deallocate(void* p, std::size_t bytes, std::size_t alignment) noexcept {
    const std::lock_guard held(lock_);
    resource_->deallocate(p, bytes, alignment);
  }

  [[nodiscard]] friend bool operator==(const serialised_ref& a, const serialised_ref& b) noexcept {
    return a.resource_ == b.resource_;
  }

private:
  static inline std::mutex lock_;
  R* resource_;
};

static_assert(ashlar::try_resource<serialised_ref<>> && ashlar::thread_safe_resource<serialised_ref<>>);

}  // namespace ashlar_test
