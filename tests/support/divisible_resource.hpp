// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// An upstream that takes its blocks back in parts, and records the parts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <vector>

#include <gtest/gtest.h>

#include <ashlar/base/block.hpp>
#include <ashlar/base/error.hpp>
#include <ashlar/detail/support/bits.hpp>
#include <ashlar/resource/new_delete_resource.hpp>

namespace ashlar_test {

/// Every byte must come back once, in any parts; otherwise the test fails.
class divisible_resource {
public:
  static constexpr bool is_divisible = true;

  divisible_resource() = default;
  divisible_resource(const divisible_resource&) = delete;
  divisible_resource& operator=(const divisible_resource&) = delete;

  ~divisible_resource() {
    if (bytes_out() != 0) ADD_FAILURE() << "leaked " << bytes_out() << " bytes";
    for (const kept& each : blocks_) memory_.deallocate(each.data, each.size, each.alignment);
  }

  [[nodiscard]] void* allocate(std::size_t bytes, std::size_t alignment) {
    void* const p = try_allocate(bytes, alignment);
    if (p == nullptr) ashlar::detail::throw_bad_alloc(bytes, alignment);
    return p;
  }

  [[nodiscard]] void* try_allocate(std::size_t bytes, std::size_t alignment) noexcept {
    if (bytes > most_bytes_) return nullptr;
    void* const p = memory_.try_allocate(bytes, alignment);
    blocks_.push_back({p, bytes, alignment});
    out_[ashlar::detail::address_of(p)] = bytes;
    requests_.push_back(bytes);
    return p;
  }

  void deallocate(void* p, std::size_t bytes, std::size_t /*alignment*/) noexcept {
    const std::uintptr_t start = ashlar::detail::address_of(p);
    auto around = out_.upper_bound(start);
    if (around == out_.begin() || std::prev(around)->first + std::prev(around)->second < start + bytes) {
      ADD_FAILURE() << "given back " << bytes << " bytes that are not out";
      return;
    }
    --around;
    const std::uintptr_t end = around->first + around->second;
    around->second = start - around->first;
    if (around->second == 0) out_.erase(around);
    if (end != start + bytes) out_[start + bytes] = end - start - bytes;
    ++returns_;
  }

  /// Effects: larger requests are refused from now on.
  void refuse_above(std::size_t bytes) { most_bytes_ = bytes; }

  [[nodiscard]] const std::vector<std::size_t>& requests() const { return requests_; }
  [[nodiscard]] std::size_t returns() const { return returns_; }
  [[nodiscard]] std::size_t bytes_out() const {
    std::size_t sum = 0;
    for (const auto& [start, bytes] : out_) sum += bytes;
    return sum;
  }

  [[nodiscard]] friend bool operator==(const divisible_resource& a, const divisible_resource& b) noexcept {
    return &a == &b;
  }

private:
  struct kept {
    void* data;
    std::size_t size;
    std::size_t alignment;
  };

  ashlar::new_delete_resource memory_;
  std::vector<kept> blocks_;
  std::map<std::uintptr_t, std::size_t> out_;
  std::vector<std::size_t> requests_;
  std::size_t returns_ = 0;
  std::size_t most_bytes_ = ashlar::detail::max_block_bytes;
};

}  // namespace ashlar_test
