// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What the planted functions of the program to be advised on share: random numbers, and blocks around their own.
#pragma once

#include <array>
#include <cstdint>

namespace {

#define PLANTED [[gnu::noinline]]

std::uint64_t seed = 88'172'645'463'325'252;
volatile std::uint64_t sink;

std::uint64_t random_below(std::uint64_t n) {
  seed ^= seed << 13;
  seed ^= seed >> 7;
  seed ^= seed << 17;
  return (seed >> 11) % n;
}

void use(const void* p) { sink = sink + reinterpret_cast<std::uintptr_t>(p); }

/// The innocents: sizes and lifetimes without a pattern.
class noise {
public:
  PLANTED void step() {
    char*& place = kept_[random_below(kept_.size())];
    delete[] place;
    place = new char[16 + random_below(700)];
    use(place);
  }
  ~noise() {
    for (char* p : kept_) delete[] p;
  }

private:
  std::array<char*, 64> kept_{};
};

noise* background;

template <class F>
int repeat(int n, F&& work) {
  for (int i = 0; i < n; ++i) {
    work();
    if (i % 8 == 0) background->step();
  }
  return 0;
}

}  // namespace
