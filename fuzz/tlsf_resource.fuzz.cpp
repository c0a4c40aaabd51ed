// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Bytes as operations on a tlsf_resource of small regions, beside an oracle: the ordered map of live blocks.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <map>
#include <vector>

#include <ashlar/base/resource.hpp>
#include <ashlar/resource/tlsf_resource.hpp>

#include "fuzz/support.hpp"

namespace {

using ashlar_fuzz::expect;
using ashlar_fuzz::input;
using ashlar_fuzz::unreliable;

class session {
public:
  explicit session(input bytes)
      : bytes_(bytes), buffer_(bytes_.size(7)),
        r_(buffer_,
           {.growth = {.smallest = 4096, .largest = std::size_t{4096} << (bytes_.next() % 4), .divisor = 2},
            .retain_regions = bytes_.next() % 4u},
           upstream_) {}

  void run() {
    while (!bytes_.empty()) step(bytes_.next());
    check();
    if (live_.size() % 2 == 0)
      while (!live_.empty()) free_at(0);
    r_.release();
    expect(upstream_.held == 0 && r_.used() == 0);
  }

private:
  struct entry {
    std::size_t bytes, alignment;
    std::uint8_t stamp;
  };
  using map = std::map<std::uint8_t*, entry>;

  void step(std::uint8_t operation) {
    switch (operation % 8) {
      case 0:
      case 1: allocate(bytes_.size(7), 1); break;
      case 2: allocate(bytes_.size(7), std::size_t{1} << (bytes_.next() % 13)); break;
      case 3: free_at(bytes_.next()); break;
      case 4: resize(bytes_.next(), bytes_.size(7)); break;
      case 5: upstream_.dry = bytes_.next() % 4 == 0; break;
      case 6: check(); break;
      case 7: static_cast<void>(r_.trim()); break;
      default: break;
    }
  }

  void allocate(std::size_t bytes, std::size_t alignment) {
    auto* const p = static_cast<std::uint8_t*>(r_.try_allocate(bytes, alignment));
    expect(p != nullptr || upstream_.dry);
    if (p == nullptr) return;
    expect(ashlar::is_aligned(p, alignment) && r_.owns(p) && r_.usable_size(p) >= bytes);
    const auto above = live_.lower_bound(p);
    expect(above == live_.end() || above->first >= p + r_.usable_size(p) + ashlar::detail::tlsf_block::header_bytes);
    expect(above == live_.begin() || std::prev(above)->first + std::prev(above)->second.bytes < p);
    hold(p, {bytes, alignment, ++stamp_});
  }

  void free_at(std::size_t index) {
    if (live_.empty()) return;
    const auto leaving = at(index);
    expect(is_intact(leaving->first, leaving->second.bytes, leaving->second.stamp));
    if (index % 2 == 0) r_.deallocate(leaving->first, leaving->second.bytes, leaving->second.alignment);
    else r_.deallocate(leaving->first);
    live_.erase(leaving);
  }

  void resize(std::size_t index, std::size_t bytes) {
    if (live_.empty()) return;
    const auto resized = at(index);
    const entry was = resized->second;
    const bool fits = r_.try_expand(resized->first, was.bytes, bytes, was.alignment);
    expect(fits || bytes > was.bytes);
    expect(is_intact(resized->first, fits ? std::min(bytes, was.bytes) : was.bytes, was.stamp));
    if (fits) hold(resized->first, {bytes, was.alignment, ++stamp_});
  }

  void check() {
    expect(r_.invariant());
    std::size_t live = 0;
    r_.for_each_block([&](const ashlar::block& each, bool is_free) {
      if (is_free) return;
      const auto found = live_.find(static_cast<std::uint8_t*>(each.data));
      expect(found != live_.end() && found->second.bytes <= each.size);
      expect(is_intact(found->first, found->second.bytes, found->second.stamp));
      ++live;
    });
    expect(live == live_.size());
  }

  void hold(std::uint8_t* p, const entry& e) {
    std::memset(p, e.stamp, e.bytes);
    live_[p] = e;
  }

  [[nodiscard]] map::iterator at(std::size_t index) {
    return std::next(live_.begin(), static_cast<std::ptrdiff_t>(index % live_.size()));
  }

  [[nodiscard]] static bool is_intact(const std::uint8_t* p, std::size_t bytes, std::uint8_t stamp) {
    return std::all_of(p, p + bytes, [stamp](std::uint8_t byte) { return byte == stamp; });
  }

  input bytes_;
  std::vector<std::byte> buffer_;
  unreliable upstream_;
  ashlar::tlsf_resource<ashlar::resource_ref<unreliable>> r_;
  map live_;
  std::uint8_t stamp_ = 0;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  session(input(data, size)).run();
  return 0;
}
