// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A long churn of a bounded_heap in which some calls are counted, among them the longest ones.
#include <array>
#include <cmath>
#include <cstddef>
#include <random>

#include <ashlar/base/config.hpp>
#include <ashlar/heap/bounded_heap.hpp>
#include <ashlar/resource/null_resource.hpp>

namespace {

using churned = ashlar::bounded_heap<ashlar::null_resource>;

alignas(4096) std::array<std::byte, std::size_t{8} << 20> memory;

// The churn leaves the size classes of 1008 and 1024 bytes unused.
[[nodiscard]] std::size_t drawn_size(std::mt19937& random) {
  const auto bytes = static_cast<std::size_t>(16 * std::pow(2048.0, static_cast<double>(random() % 1000) / 1000));
  return bytes > 896 && bytes <= 1024 ? 2000 : bytes;
}

}  // namespace

extern "C" {

ASHLAR_NOINLINE void* counted_allocate(churned& h, std::size_t bytes) { return h.try_allocate(bytes); }
ASHLAR_NOINLINE void* counted_last_resort(churned& h) { return h.try_allocate(8000, 256); }
ASHLAR_NOINLINE void counted_free(churned& h, void* p) { h.deallocate(p); }

}  // extern "C"

namespace {

// Returns: whether a block fits that finds room only in the spare window.
[[nodiscard]] bool finds_the_last_place(churned& h) {
  h.release();
  h.deallocate(h.try_allocate(900));
  while (h.largest_free() > 2000) static_cast<void>(h.try_allocate(h.largest_free()));
  return counted_last_resort(h) != nullptr;
}

}  // namespace

int main() {
  constexpr std::size_t steps = 40'000, every = 200;
  churned h(memory);
  std::mt19937 random(42);
  std::array<void*, 1000> live{};
  std::size_t served = 0;
  for (std::size_t step = 0; step < steps; ++step) {
    const bool is_counted = step % every == 0;
    void*& place = live[random() % live.size()];
    const std::size_t bytes = drawn_size(random);
    is_counted ? counted_free(h, place) : h.deallocate(place);
    place = is_counted ? counted_allocate(h, bytes) : h.try_allocate(bytes);
    served += place != nullptr ? 1 : 0;
    if (!is_counted) continue;
    void* const p = counted_allocate(h, 900);   // in the spare window, or a new one
    void* const q = counted_allocate(h, 1000);  // in a new window
    void* const large = counted_allocate(h, bytes * 9);
    counted_free(h, q);  // leaves the spare window
    counted_free(h, large);
    counted_free(h, p);  // its window joins its neighbours
  }
  for (void* const p : live) h.deallocate(p);
  bool found = h.invariant();
  for (int i = 0; i < 100; ++i) found = finds_the_last_place(h) && found;
  return served > steps * 9 / 10 && found ? 0 : 1;
}
