// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The object that the object benches acquire and release: its constructor writes, and its destructor is not empty.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>

#include "support/keep.hpp"

namespace bench {

// The words that construction writes besides the last one: none, so that a large object touches two pages, or all.
enum class writes { ends, all };

template <std::size_t Bytes, writes Written>
class pooled_object {
public:
  pooled_object() noexcept {}  // for pools that construct in advance
  explicit pooled_object(std::uint64_t value) noexcept { init(value); }
  pooled_object(const pooled_object&) = delete;
  pooled_object& operator=(const pooled_object&) = delete;
  ~pooled_object() {
    words_[0] = 0;
    escape(this);
  }

  // Effects: as the constructor, for pools that keep their objects constructed.
  void init(std::uint64_t value) noexcept {
    if constexpr (Written == writes::all) std::memset(words_, 0, sizeof words_);
    words_[0] = value;
    words_[Bytes / sizeof value - 1] = value;
  }

private:
  std::uint64_t words_[Bytes / sizeof(std::uint64_t)];
};

// A base or member without room for a count gets one by derivation; `boost::intrusive_ptr` finds it.
template <class T>
struct counted : T {
  using T::T;
  std::uint32_t uses = 0;
};

}  // namespace bench
