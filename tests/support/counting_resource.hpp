// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// An upstream that records every block, and fails on demand.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <utility>

#include <gtest/gtest.h>

#include <ashlar/base/error.hpp>
#include <ashlar/base/resource.hpp>
#include <ashlar/resource/new_delete_resource.hpp>
#include <ashlar/test/ledger.hpp>

#include "tests/support/ledger.hpp"

namespace ashlar_test {

/// Thrown by `counting_resource::allocate` on demand.
using ashlar::test::injected_failure;

/// Records every block of `Upstream`, and reports each that comes back wrongly or never as a test failure. Blocks
/// arrive full of 0xCD and leave full of 0xDD, so that reads of foreign bytes show. Refuses to hold more than 64 GiB (1
/// GiB on 32 bits), and alignments above 64 MiB, so that absurd requests fail equally on all machines.
template <ashlar::resource Upstream = ashlar::new_delete_resource>
class counting_resource {
public:
  static constexpr std::size_t never = ashlar::detail::failure_plan::never;
  static constexpr std::size_t most_alignment = std::size_t{1} << 26;

  counting_resource() = default;
  explicit counting_resource(Upstream upstream) : upstream_(std::move(upstream)) {}
  counting_resource(counting_resource&&) = default;
  counting_resource& operator=(counting_resource&&) = delete;

  ~counting_resource() {
    if (balance() != nothing) ADD_FAILURE() << "leaked " << balance();
    for (const auto& [at, block] : blocks_.blocks())
      upstream_.deallocate(reinterpret_cast<void*>(at), block.bytes, block.alignment);
  }

  [[nodiscard]] void* allocate(std::size_t bytes, std::size_t alignment) {
    if (void* const p = try_allocate(bytes, alignment)) return p;
    ASHLAR_THROW(injected_failure());
    ashlar::throw_bad_alloc(bytes, alignment);
  }

  [[nodiscard]] void* try_allocate(std::size_t bytes, std::size_t alignment) noexcept {
    const bool refused = plan_.fails_next() || alignment > most_alignment ||
                         bytes > most_bytes_ - std::min(most_bytes_, balance().bytes);
    void* const p = refused ? nullptr : ashlar::try_allocate_from(upstream_, bytes, alignment);
    ++(p != nullptr ? allocations_ : refusals_);
    if (p == nullptr) return nullptr;
    blocks_.add(p, bytes, alignment);
    fill(p, bytes, 0xCD);
    return p;
  }

  void deallocate(void* p, std::size_t bytes, std::size_t alignment) noexcept {
    ++deallocations_;
    const auto was = blocks_.remove(p, bytes, alignment);
    if (!was) return;
    fill(p, was->bytes, 0xDD);
    upstream_.deallocate(p, was->bytes, was->alignment);
  }

  /// Effects: only allocation number `k` from now on fails, counting from 0.
  void fail_at(std::size_t k) { plan_.fail_at(k); }
  /// Effects: all allocations from number `k` from now on fail.
  void fail_from(std::size_t k) { plan_.fail_from(k); }
  /// Effects: no allocation fails, except without memory.
  void fail_never() { plan_.fail_never(); }
  /// Effects: allocations that would make more than `bytes` live fail.
  void limit_bytes(std::size_t bytes) { most_bytes_ = bytes; }

  [[nodiscard]] holdings balance() const { return blocks_.live(); }
  [[nodiscard]] holdings peak() const { return blocks_.peak(); }
  [[nodiscard]] std::size_t allocations() const { return allocations_; }      ///< calls that succeeded
  [[nodiscard]] std::size_t refusals() const { return refusals_; }            ///< calls that failed
  [[nodiscard]] std::size_t deallocations() const { return deallocations_; }  ///< calls

  [[nodiscard]] friend bool operator==(const counting_resource& a, const counting_resource& b) noexcept {
    return &a == &b;
  }

private:
  // Only the ends of large blocks: a slab of many megabytes should not become resident by the test.
  static void fill(void* p, std::size_t bytes, int value) {
    constexpr std::size_t most = 64 * 1024;
    std::memset(p, value, std::min(bytes, most));
    if (bytes > most) std::memset(static_cast<std::byte*>(p) + bytes - most, value, most);
  }

  Upstream upstream_;
  ledger blocks_;
  std::size_t most_bytes_ = std::size_t{1} << (sizeof(std::size_t) == 8 ? 36 : 30);
  ashlar::detail::failure_plan plan_;
  std::size_t allocations_ = 0;
  std::size_t refusals_ = 0;
  std::size_t deallocations_ = 0;
};

static_assert(ashlar::try_resource<counting_resource<>>);

/// Refers to a resource and hides all of it except `allocate` and `deallocate`: a `resource` without refinements, which
/// refuses by throwing only.
template <ashlar::resource R = counting_resource<>>
class throwing_only {
public:
  throwing_only(R& r) noexcept : shared_(r) {}

  [[nodiscard]] void* allocate(std::size_t bytes, std::size_t alignment) { return shared_.allocate(bytes, alignment); }
  void deallocate(void* p, std::size_t bytes, std::size_t alignment) noexcept {
    shared_.deallocate(p, bytes, alignment);
  }
  [[nodiscard]] friend bool operator==(const throwing_only&, const throwing_only&) noexcept = default;

private:
  ashlar::resource_ref<R> shared_;
};

static_assert(ashlar::resource<throwing_only<>> && !ashlar::try_resource<throwing_only<>>);

}  // namespace ashlar_test
