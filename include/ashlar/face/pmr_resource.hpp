// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Any resource as a std::pmr::memory_resource: the one virtual bridge.
#pragma once

#include <concepts>
#include <cstddef>
#include <memory_resource>
#include <type_traits>
#include <utility>

#include <ashlar/base/config.hpp>
#include <ashlar/base/resource.hpp>

namespace ashlar::ASHLAR_ABI {

/// Owns an `R`, or refers to one if `R` is a `resource_ref`. The reverse needs no bridge: a `std::pmr::memory_resource`
/// is a resource, and `resource_ref` makes it an upstream. Two bridges are equal iff they have one type and equal
/// resources; without RTTI iff they are the same object. Thread safety: as `R`.
template <resource R>
class pmr_resource final : public std::pmr::memory_resource {
public:
  pmr_resource() = default;
  template <class... Args>
    requires(std::constructible_from<R, Args...> && !(std::same_as<std::remove_cvref_t<Args>, pmr_resource> && ...))
  explicit(sizeof...(Args) == 1) pmr_resource(Args&&... args) : resource_(std::forward<Args>(args)...) {}

  [[nodiscard]] R& resource() noexcept { return resource_; }
  [[nodiscard]] const R& resource() const noexcept { return resource_; }

private:
  void* do_allocate(std::size_t bytes, std::size_t alignment) override { return resource_.allocate(bytes, alignment); }

  void do_deallocate(void* p, std::size_t bytes, std::size_t alignment) override {
    resource_.deallocate(p, bytes, alignment);
  }

  [[nodiscard]] bool do_is_equal(const std::pmr::memory_resource& other) const noexcept override {
    if (this == &other) return true;
    const auto* const same = ASHLAR_DYNAMIC_CAST(const pmr_resource*, &other);
    return same != nullptr && same->resource_ == resource_;
  }

  ASHLAR_NO_UNIQUE_ADDRESS R resource_;
};

}  // namespace ashlar::ASHLAR_ABI
