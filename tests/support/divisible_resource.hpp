// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// An upstream that takes its blocks back in parts, and records the parts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <map>
#include <vector>

#include <gtest/gtest.h>

#include <ashlar/base/bits.hpp>
#include <ashlar/base/error.hpp>
#include <ashlar/resource/new_delete_resource.hpp>

namespace ashlar_test {

/// Every byte must come back once: with its whole block, or in parts of `Part` bytes; otherwise the test fails. What is
/// back is full of 0xDD, so that writes and reads of foreign bytes show.
template <std::size_t Part>
class resource_of_parts {
public:
  static constexpr std::size_t least_part_bytes = Part;

  resource_of_parts() = default;
  resource_of_parts(const resource_of_parts&) = delete;
  resource_of_parts& operator=(const resource_of_parts&) = delete;

  ~resource_of_parts() {
    if (bytes_out() != 0) ADD_FAILURE() << "leaked " << bytes_out() << " bytes";
    for (const auto& [start, whole] : blocks_) end(start, whole);
  }

  [[nodiscard]] void* allocate(std::size_t bytes, std::size_t alignment) {
    void* const p = try_allocate(bytes, alignment);
    if (p == nullptr) ashlar::throw_bad_alloc(bytes, alignment);
    return p;
  }

  [[nodiscard]] void* try_allocate(std::size_t bytes, std::size_t alignment) noexcept {
    void* const p = bytes <= most_bytes_ ? memory_.try_allocate(bytes, alignment) : nullptr;
    if (p == nullptr) return nullptr;
    const std::uintptr_t start = ashlar::address_of(p);
    blocks_[start] = {bytes, alignment, {{start, bytes}}};
    bytes_out_ += bytes;
    requests_.push_back(bytes);
    return p;
  }

  void deallocate(void* p, std::size_t bytes, std::size_t alignment) noexcept {
    const std::uintptr_t at = ashlar::address_of(p);
    const auto above = blocks_.upper_bound(at);
    if (above == blocks_.begin() || !take_back(*std::prev(above), {at, bytes}, alignment)) {
      ADD_FAILURE() << "given back " << bytes << " bytes at alignment " << alignment << ", which are no part";
      return;
    }
    std::memset(p, 0xDD, bytes);
    bytes_out_ -= bytes;
    ++returns_;
    if (const auto whole = std::prev(above); whole->second.out.empty()) {
      end(whole->first, whole->second);
      blocks_.erase(whole);
    }
  }

  /// Effects: larger requests are refused from now on.
  void refuse_above(std::size_t bytes) { most_bytes_ = bytes; }

  [[nodiscard]] const std::vector<std::size_t>& requests() const { return requests_; }
  [[nodiscard]] std::size_t returns() const { return returns_; }
  [[nodiscard]] std::size_t bytes_out() const { return bytes_out_; }

  [[nodiscard]] friend bool operator==(const resource_of_parts& a, const resource_of_parts& b) noexcept {
    return &a == &b;
  }

private:
  struct range {
    std::uintptr_t start;
    std::size_t bytes;
  };
  struct whole_block {
    std::size_t bytes;
    std::size_t alignment;
    std::map<std::uintptr_t, std::size_t> out;  // the ranges that are not back
  };

  // Returns: whether all of the range was out, and it is a part or the whole block.
  [[nodiscard]] static bool take_back(std::pair<const std::uintptr_t, whole_block>& from, const range& part,
                                      std::size_t alignment) noexcept {
    auto& [start, whole] = from;
    const bool is_part = part.bytes % Part == 0 && alignment % Part == 0 && (part.start - start) % Part == 0;
    const bool is_whole = part.start == start && part.bytes == whole.bytes && alignment == whole.alignment;
    auto around = whole.out.upper_bound(part.start);
    if ((!is_part && !is_whole) || around == whole.out.begin()) return false;
    --around;
    const range was{around->first, around->second};
    const std::uintptr_t end = was.start + was.bytes, part_end = part.start + part.bytes;
    if (part_end > end) return false;
    around->second = part.start - was.start;
    if (around->second == 0) whole.out.erase(around);
    if (end != part_end) whole.out[part_end] = end - part_end;
    return true;
  }

  void end(std::uintptr_t start, const whole_block& whole) {
    memory_.deallocate(reinterpret_cast<void*>(start), whole.bytes, whole.alignment);
  }

  ashlar::new_delete_resource memory_;
  std::map<std::uintptr_t, whole_block> blocks_;
  std::vector<std::size_t> requests_;
  std::size_t bytes_out_ = 0;
  std::size_t returns_ = 0;
  std::size_t most_bytes_ = ashlar::max_block_bytes;
};

using divisible_resource = resource_of_parts<ashlar::detail::largest_page>;

}  // namespace ashlar_test
