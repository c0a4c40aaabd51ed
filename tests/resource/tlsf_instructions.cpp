// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A long churn of a tlsf_resource; counted_instructions.sh counts the instructions of some of its calls.
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <random>
#include <span>

#include <ashlar/base/config.hpp>
#include <ashlar/resource/null_resource.hpp>
#include <ashlar/resource/tlsf_resource.hpp>

namespace {

using churned = ashlar::tlsf_resource<ashlar::null_resource>;

alignas(4096) std::array<std::byte, std::size_t{8} << 20> memory;

}  // namespace

extern "C" {

ASHLAR_NOINLINE void* counted_allocate(churned& r, std::size_t bytes) { return r.try_allocate(bytes, 16); }
ASHLAR_NOINLINE void* counted_aligned(churned& r, std::size_t bytes) { return r.try_allocate(bytes, 256); }
ASHLAR_NOINLINE void counted_free(churned& r, void* p) { r.deallocate(p); }
ASHLAR_NOINLINE bool counted_expand(churned& r, void* p, std::size_t bytes) { return r.try_expand(p, 1, bytes, 16); }

}  // extern "C"

int main() {
  constexpr std::size_t steps = 40'000, every = 100;
  churned r(memory);
  std::mt19937 random(42);
  std::array<void*, 1000> live{};
  std::size_t served = 0;
  for (std::size_t step = 0; step < steps; ++step) {
    const bool is_counted = step % every == 0;
    void*& place = live[random() % live.size()];
    const auto bytes = static_cast<std::size_t>(16 * std::pow(2048.0, static_cast<double>(random() % 1000) / 1000));
    const bool is_aligned = step / every % 2 == 1;
    if (place != nullptr) is_counted ? counted_free(r, place) : r.deallocate(place);
    if (is_counted) place = is_aligned ? counted_aligned(r, bytes) : counted_allocate(r, bytes);
    else place = r.try_allocate(bytes, is_aligned ? 256 : 16);
    if (place != nullptr) ++served;
    if (is_counted && place != nullptr)
      static_cast<void>(counted_expand(r, place, random() % 2 == 0 ? bytes / 2 : bytes * 2));
  }
  for (void* const p : live)
    if (p != nullptr) r.deallocate(p);
  return served > steps * 9 / 10 && r.used() == 0 ? 0 : 1;
}
