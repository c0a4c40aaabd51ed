// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Bytes as operations on a range of offsets, beside an oracle: the ordered map of live intervals.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>

#include <ashlar/resource/tlsf_offsets.hpp>

#include "fuzz/support.hpp"

namespace {

using ashlar_fuzz::expect;
using ashlar_fuzz::input;

class session {
public:
  session(const std::uint8_t* data, std::size_t size)
      : bytes_(data, size), granule_(1u << (next() % 5)),
        heap_(static_cast<std::uint32_t>(sized() * 16), {.granule = granule_, .max_count = 2 + std::size_t{next()}}) {}

  void run() {
    while (!bytes_.empty()) step(next());
    check();
    while (!live_.empty()) free_at(0);
    expect(heap_.invariant() && heap_.used() == 0 && heap_.largest_free() == heap_.size());
  }

private:
  struct entry {
    std::uint32_t size;
    ashlar::tlsf_handle handle;
  };
  using map = std::map<std::uint32_t, entry>;

  std::uint8_t next() { return bytes_.next(); }
  std::uint32_t sized() { return static_cast<std::uint32_t>(bytes_.size(5)); }

  void step(std::uint8_t operation) {
    switch (operation % 6) {
      case 0: allocate(sized(), 1); break;
      case 1: allocate(sized(), 1u << (next() % 10)); break;
      case 2: free_at(next()); break;
      case 3: resize(next(), sized()); break;
      case 4: static_cast<void>(heap_.try_extend(heap_.size() + next())); break;
      case 5: check(); break;
      default: break;
    }
  }

  void allocate(std::uint32_t size, std::uint32_t alignment) {
    const auto got = heap_.try_allocate(size, alignment);
    if (!got) return;
    const std::uint32_t has = heap_.size_of(got.handle);
    expect(has >= size && got.offset % std::max(alignment, granule_) == 0 && has <= heap_.size() - got.offset);
    const auto above = live_.lower_bound(got.offset);
    expect(above == live_.end() || above->first >= got.offset + has);
    expect(above == live_.begin() || std::prev(above)->first + std::prev(above)->second.size <= got.offset);
    live_[got.offset] = {has, got.handle};
  }

  void free_at(std::size_t index) {
    if (live_.empty()) return;
    const auto leaving = at(index);
    heap_.deallocate({leaving->first, leaving->second.handle});
    live_.erase(leaving);
  }

  void resize(std::size_t index, std::uint32_t size) {
    if (live_.empty()) return;
    const auto resized = at(index);
    const auto above = std::next(resized);
    const std::uint32_t end = above == live_.end() ? heap_.size() : above->first;
    const bool fits = heap_.try_expand(resized->second.handle, size);
    expect(!fits || size <= end - resized->first);
    resized->second.size = heap_.size_of(resized->second.handle);
    expect(resized->second.size <= end - resized->first);
  }

  void check() {
    expect(heap_.invariant() && heap_.live() == live_.size());
    std::size_t live = 0;
    heap_.for_each_block([&](std::uint32_t offset, std::uint32_t size, bool is_free) {
      const auto found = live_.find(offset);
      expect((found != live_.end() && found->second.size == size) == !is_free);
      live += is_free ? 0 : 1;
    });
    expect(live == live_.size());
  }

  [[nodiscard]] map::iterator at(std::size_t index) {
    return std::next(live_.begin(), static_cast<std::ptrdiff_t>(index % live_.size()));
  }

  input bytes_;
  std::uint32_t granule_;
  ashlar::tlsf_offsets<> heap_;
  map live_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  session(data, size).run();
  return 0;
}
