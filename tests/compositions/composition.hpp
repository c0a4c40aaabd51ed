// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Any composition behind one interface, so that a scenario is compiled once and a composition costs a thin wrapper.
#pragma once

#include <cstddef>
#include <memory>
#include <utility>

#include <ashlar/base/resource.hpp>

#include "tests/support/counting_resource.hpp"
#include "tests/support/invariant_of.hpp"

namespace ashlar_test {

/// A resource with refinements that are queried at run time.
class composition {
public:
  composition() = default;
  composition(const composition&) = delete;
  composition& operator=(const composition&) = delete;
  virtual ~composition() = default;

  [[nodiscard]] virtual void* allocate(std::size_t bytes, std::size_t alignment) = 0;
  [[nodiscard]] virtual void* try_allocate(std::size_t bytes, std::size_t alignment) noexcept = 0;
  virtual void deallocate(void* p, std::size_t bytes, std::size_t alignment) noexcept = 0;
  /// Returns: false also without the refinement.
  [[nodiscard]] virtual bool try_expand(void* p, std::size_t bytes, std::size_t new_bytes,
                                        std::size_t alignment) noexcept = 0;
  /// Returns: true also if it does not know.
  [[nodiscard]] virtual bool may_own(const void* p) const noexcept = 0;
  /// Returns: whether it is supported.
  virtual bool release() noexcept = 0;
  [[nodiscard]] virtual bool invariant() const noexcept = 0;

  [[nodiscard]] friend bool operator==(const composition& a, const composition& b) noexcept { return &a == &b; }
};

static_assert(ashlar::try_resource<composition>);

template <class R>
class composition_of final : public composition {
public:
  explicit composition_of(counting_resource<>& below) : resource_(below) {}

  [[nodiscard]] void* allocate(std::size_t bytes, std::size_t alignment) override {
    return resource_.allocate(bytes, alignment);
  }
  [[nodiscard]] void* try_allocate(std::size_t bytes, std::size_t alignment) noexcept override {
    return ashlar::try_allocate_from(resource_, bytes, alignment);
  }
  void deallocate(void* p, std::size_t bytes, std::size_t alignment) noexcept override {
    resource_.deallocate(p, bytes, alignment);
  }
  [[nodiscard]] bool try_expand([[maybe_unused]] void* p, [[maybe_unused]] std::size_t bytes,
                                [[maybe_unused]] std::size_t new_bytes,
                                [[maybe_unused]] std::size_t alignment) noexcept override {
    if constexpr (ashlar::expanding_resource<R>) return resource_.try_expand(p, bytes, new_bytes, alignment);
    return false;
  }
  [[nodiscard]] bool may_own([[maybe_unused]] const void* p) const noexcept override {
    if constexpr (ashlar::owning_resource<R>) return resource_.owns(p);
    return true;
  }
  bool release() noexcept override {
    if constexpr (ashlar::releasable_resource<R>) resource_.release();
    return ashlar::releasable_resource<R>;
  }
  [[nodiscard]] bool invariant() const noexcept override { return invariant_of(resource_); }

private:
  R resource_;
};

/// Makes a composition over memory that counts and fails.
using composition_maker = std::unique_ptr<composition> (*)(counting_resource<>& below);

template <class R>
[[nodiscard]] std::unique_ptr<composition> make_composition(counting_resource<>& below) {
  return std::make_unique<composition_of<R>>(below);
}

}  // namespace ashlar_test
