// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// States known to fail. Each is kept whole and compared whole: two states of equal hash are not taken for one, so a
// search that ends without a layout is a proof.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <ashlar/base/config.hpp>

namespace ashlar {
inline namespace ASHLAR_ABI {
namespace plan::valley {

/// A set of keys, each a sequence of words. When `max_words` are in use it takes no more, which costs a search time
/// but not its meaning.
class failed_states {
public:
  using key = std::vector<std::uint64_t>;

  explicit failed_states(std::size_t max_words = std::size_t{1} << 24) : slots_(1024), max_words_(max_words) {}

  [[nodiscard]] bool contains(std::uint64_t hash, const key& k) const noexcept {
    for (std::size_t s = home(hash); slots_[s].length != 0; s = (s + 1) & mask())
      if (slots_[s].hash == hash && equal(slots_[s], k)) return true;
    return false;
  }

  /// Effects: remembers the key. Expects: it is not empty and not contained.
  void insert(std::uint64_t hash, const key& k) {
    if (words_.size() + k.size() > max_words_) return;
    if (2 * (count_ + 1) > slots_.size()) grow();
    put({hash, words_.size(), k.size()});
    words_.insert(words_.end(), k.begin(), k.end());
    ++count_;
  }

  [[nodiscard]] std::size_t size() const noexcept { return count_; }

private:
  struct slot {
    std::uint64_t hash = 0;
    std::size_t first = 0;
    std::size_t length = 0;  // 0: free
  };

  [[nodiscard]] std::size_t mask() const noexcept { return slots_.size() - 1; }

  [[nodiscard]] std::size_t home(std::uint64_t hash) const noexcept { return static_cast<std::size_t>(hash) & mask(); }

  [[nodiscard]] bool equal(const slot& s, const key& k) const noexcept {
    return s.length == k.size() &&
           std::equal(k.begin(), k.end(), words_.begin() + static_cast<std::ptrdiff_t>(s.first));
  }

  void put(const slot& s) noexcept {
    std::size_t at = home(s.hash);
    while (slots_[at].length != 0) at = (at + 1) & mask();
    slots_[at] = s;
  }

  void grow() {
    std::vector<slot> old(slots_.size() * 2);
    old.swap(slots_);
    for (const slot& s : old)
      if (s.length != 0) put(s);
  }

  std::vector<slot> slots_;
  std::vector<std::uint64_t> words_;
  std::size_t count_ = 0;
  std::size_t max_words_;
};

}  // namespace plan::valley
}  // namespace ASHLAR_ABI
}  // namespace ashlar
