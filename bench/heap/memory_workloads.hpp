// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Workloads of a heap's memory: thinned out, new sizes at once or slowly, huge blocks, filled and emptied.
#pragma once

#include <time.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <random>

#include "memory_trial.hpp"

namespace bench {

inline constexpr std::size_t kib = 1024, mib = 1024 * kib;

inline void rest(time_t seconds) noexcept {
  const timespec time{seconds, 0};
  ::nanosleep(&time, nullptr);
}

// 96 MiB live, of which 90 % are freed in random order; then a second of rest, and pairs among the survivors.
template <class Heap>
outcome thin_out(size_range sizes, std::size_t percent) {
  const std::size_t bytes = 96 * mib * percent / 100;
  mapped_array<std::size_t> drawn(4096);
  trial<Heap> on(bytes / sizes.least + 1);
  std::mt19937 random(42);
  while (on.live() < bytes) {
    for (std::size_t i = 0; i < 4096; ++i) drawn[i] = sizes.draw(random);
    on.timed([&] {
      for (std::size_t i = 0; i < 4096 && on.live() < bytes; ++i) on.add(drawn[i]);
    });
  }
  on.shuffle(random);
  on.timed([&] { on.remove_all_but(on.count() / 10); });
  on.result.held_bytes = on.held();
  rest(1);
  for (std::size_t i = 0; i < 100'000; ++i) on.replace(random() % on.count(), sizes.draw(random));
  on.result.later_bytes = on.held();
  on.result.pairs -= 100'000;  // they are not timed
  on.finish();
  return on.result;
}

template <class Heap>
outcome small(std::size_t percent) {
  return thin_out<Heap>({16, 256}, percent);
}

template <class Heap>
outcome mixed(std::size_t percent) {
  return thin_out<Heap>({16, 32 * kib, true}, percent);
}

// 64 MiB of blocks of one size, all freed in random order, then of another.
template <class Heap>
outcome phases(std::size_t percent) {
  const std::size_t bytes = 64 * mib * percent / 100;
  trial<Heap> on(bytes / 48 + 1);
  std::mt19937 random(42);
  for (const unsigned size : {64u, 256u, 48u, 1024u, 96u}) {
    on.shuffle(random);
    on.timed([&] {
      on.remove_all_but(0);
      while (on.live() + size <= bytes) on.add(size);
    });
  }
  on.result.held_bytes = on.result.later_bytes = on.held();
  on.finish();
  return on.result;
}

// Sizes from a window that moves from 16..64 bytes to 32..64 KiB and back, by one doubling for each 64 MiB allocated.
class drifting_window {
public:
  explicit drifting_window(std::size_t whole) : whole_(static_cast<double>(whole)) {}

  // Effects: moves the window to its place after `allocated` bytes.
  void move_to(std::size_t allocated) noexcept {
    const double way = 1 - std::abs(1 - 2 * static_cast<double>(allocated) / whole_);  // 0 to 1 to 0
    const double low = 16 * std::exp2(11 * way), high = 64 * std::exp2(10 * way);
    least_ = static_cast<std::size_t>(low);
    span_ = static_cast<std::size_t>(high) - least_ + 1;
  }

  [[nodiscard]] std::size_t draw(std::uint32_t random) const noexcept {
    return least_ + static_cast<std::size_t>(std::uint64_t{random} * span_ >> 32);
  }

private:
  double whole_;
  std::size_t least_ = 16, span_ = 1;
};

// 32 MiB live; each step frees random blocks until one of the window's sizes has room.
template <class Heap>
outcome drift(std::size_t percent) {
  const std::size_t most = 32 * mib * percent / 100, whole = 2 * 11 * 2 * most;
  trial<Heap> on(most / 16);
  std::mt19937 random(42);
  drifting_window window(whole);
  on.timed([&] {
    for (std::size_t allocated = 0, step = 0; allocated < whole; ++step) {
      if (step % 256 == 0) window.move_to(allocated);
      const std::size_t bytes = window.draw(static_cast<std::uint32_t>(random()));
      while (on.live() + bytes > most) on.remove(random() % on.count());
      on.add(bytes);
      allocated += bytes;
    }
  });
  on.result.held_bytes = on.result.later_bytes = on.held();
  on.finish();
  return on.result;
}

// 16 live of 4 to 32 MiB; a random one is replaced.
template <class Heap>
outcome huge(touch how, std::size_t pairs) {
  trial<Heap> on(16);
  on.expect_touch(how);
  std::mt19937 random(42);
  const size_range sizes{4 * mib, 32 * mib};
  on.timed([&] {
    for (std::size_t i = 0; i < 16; ++i) on.add(sizes.draw(random));
    for (std::size_t i = 0; i < pairs; ++i) on.replace(random() % 16, sizes.draw(random));
  });
  on.result.held_bytes = on.result.later_bytes = on.held();
  on.finish();
  return on.result;
}

template <class Heap>
outcome huge_touched(std::size_t percent) {
  return huge<Heap>(touch::every_page, 200 * percent / 100);
}

template <class Heap>
outcome huge_untouched(std::size_t percent) {
  return huge<Heap>(touch::first_word, 10'000 * percent / 100);
}

// 256 MiB of blocks of 100 KiB, all allocated and all freed, ten times.
template <class Heap>
outcome swing(std::size_t percent) {
  const std::size_t blocks = 256 * mib / (100 * kib) * percent / 100;
  trial<Heap> on(blocks);
  on.timed([&] {
    for (int round = 0; round < 10; ++round) {
      while (on.count() < blocks) on.add(100 * kib);
      on.remove_all_but(0);
    }
  });
  on.result.held_bytes = on.held();
  rest(1);
  on.result.later_bytes = on.held();
  on.finish();
  return on.result;
}

}  // namespace bench
