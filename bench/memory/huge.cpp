// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What a malloc holds on huge pages as its load falls and returns, in one thread. Prints one line of JSON: `huge` is
// the part of the resident memory on huge pages, in percent, `by_live` the resident by the live bytes, `ns` a step of a
// walk over all blocks in random order.
//
//     huge MIB TURNS   blocks of 16 to 1020 B. The load falls from MIB to a third and returns, four times, and ends at a
//                      half, at random: huge, by_live, ns. Then TURNS turns of traffic at that level, each of which frees
//                      a tenth and makes it again: huge_later, by_live_later, ns_later
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <random>
#include <thread>

#include <sys/mman.h>

#include "bench/support/usage.hpp"

namespace {

using namespace std::chrono_literals;

constexpr double mib = 1024.0 * 1024;

struct node {
  node* next;
};

struct block {
  node* data;
  std::size_t bytes;
};

// Blocks, listed outside of the malloc, in memory that is resident from the beginning, on small pages.
class load {
public:
  explicit load(std::size_t most) : all_(static_cast<block*>(listed(most * sizeof(block)))) {}

  void rise_to(std::size_t bytes) {
    for (; live_ < bytes; live_ += all_[count_++].bytes) {
      const std::size_t more = size();
      all_[count_] = {static_cast<node*>(std::malloc(more)), more};
      std::memset(static_cast<void*>(all_[count_].data), 1, more);
    }
  }
  void fall_to(std::size_t bytes) {
    while (live_ > bytes) {
      block& any = all_[below(count_)];
      live_ -= any.bytes;
      std::free(any.data);
      any = all_[--count_];
    }
  }

  double step_ns() {
    std::shuffle(all_, all_ + count_, next_);
    for (std::size_t i = 0; i != count_; ++i) all_[i].data->next = all_[(i + 1) % count_].data;
    double times[5];
    const node* at = all_[0].data;
    for (double& each : times) {
      const double from = bench::clock_ms(CLOCK_THREAD_CPUTIME_ID);
      for (std::size_t i = 0; i != steps; ++i) at = at->next;
      each = (bench::clock_ms(CLOCK_THREAD_CPUTIME_ID) - from) * 1e6 / steps;
    }
    std::sort(times, times + 5);
    return at != nullptr ? times[2] : 0;
  }

  double live() const { return static_cast<double>(live_); }

private:
  static constexpr std::size_t steps = 1'000'000;

  static void* listed(std::size_t bytes) {
    void* const list = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ::madvise(list, bytes, MADV_NOHUGEPAGE);
    return std::memset(list, 0, bytes);
  }

  std::size_t below(std::size_t end) { return static_cast<std::size_t>(next_() % end); }
  std::size_t size() {
    const std::size_t kind = below(100);
    return kind < 60 ? 16 + below(5) * 16 : kind < 92 ? 96 + below(12) * 16 : 320 + below(700);
  }

  std::mt19937_64 next_{4711};
  block* all_;
  std::size_t count_ = 0;
  std::size_t live_ = 0;
};

struct held {
  double huge, resident;
  static held now() {
    return {static_cast<double>(bench::proc_bytes("/proc/self/smaps_rollup", "AnonHugePages:")),
            static_cast<double>(bench::anonymous_bytes())};
  }
};

void print(const char* suffix, const held& before, load& of) {
  const held found = held::now();
  const double resident = found.resident - before.resident;
  std::printf(", \"huge%s\": %.1f, \"by_live%s\": %.3f, \"ns%s\": %.1f", suffix,
              100 * (found.huge - before.huge) / resident, suffix, resident / of.live(), suffix, of.step_ns());
}

}  // namespace

int main(int count, char** words) {
  const auto most = static_cast<std::size_t>(count == 3 ? std::atof(words[1]) * mib : 0);
  if (most == 0) return std::fputs("huge MIB TURNS\n", stderr), 2;
  load blocks(most / 64);
  const held before = held::now();
  blocks.rise_to(most);
  for (int turn = 0; turn != 4; ++turn) blocks.fall_to(most / 3), blocks.rise_to(most);
  blocks.fall_to(most / 2);
  std::this_thread::sleep_for(1200ms);
  for (int i = 0; i != 2000; ++i) std::free(std::malloc(100));
  std::printf("{\"live\": %.1f", blocks.live() / mib);
  print("", before, blocks);
  for (int turn = std::atoi(words[2]); turn > 0; --turn) blocks.fall_to(most / 20 * 9), blocks.rise_to(most / 2);
  print("_later", before, blocks);
  std::puts("}");
  return 0;
}
