// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The common part of the fuzz targets: bytes as decisions, an upstream that refuses on demand, a visible end.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include <ashlar/base/error.hpp>
#include <ashlar/base/resource.hpp>
#include <ashlar/resource/new_delete_resource.hpp>

namespace ashlar_fuzz {

inline void expect(bool condition) {
  if (!condition) std::abort();
}

// Refuses as the input demands, and counts the blocks that have not come back.
struct unreliable {
  std::size_t held = 0;
  bool dry = false;

  void* allocate(std::size_t bytes, std::size_t alignment) {
    void* const p = try_allocate(bytes, alignment);
    if (p == nullptr) ashlar::throw_bad_alloc(bytes, alignment);
    return p;
  }
  void* try_allocate(std::size_t bytes, std::size_t alignment) noexcept {
    if (dry) return nullptr;
    held += bytes;
    return ashlar::new_delete_resource().allocate(bytes, alignment);
  }
  void deallocate(void* p, std::size_t bytes, std::size_t alignment) noexcept {
    held -= bytes;
    ashlar::new_delete_resource().deallocate(p, bytes, alignment);
  }
  bool operator==(const unreliable& other) const noexcept { return this == &other; }
};

class input {
public:
  input(const std::uint8_t* data, std::size_t size) : at_(data), end_(data + size) {}
  [[nodiscard]] bool empty() const { return at_ == end_; }
  std::uint8_t next() { return empty() ? std::uint8_t{0} : *at_++; }
  /// Returns: mostly small sizes, and any up to `255 << most_shift`.
  std::size_t size(unsigned most_shift) { return std::size_t{next()} << (next() % (most_shift + 1)); }

private:
  const std::uint8_t* at_;
  const std::uint8_t* end_;
};

}  // namespace ashlar_fuzz
