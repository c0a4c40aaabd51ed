// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What a malloc holds after a peak, in one thread. Each shape prints one line of JSON with sizes in MiB.
//
//     peaks apart|mixed MIB CALLS   blocks of 16 to 255 B, of which 1 % stay, made before the others or among them; then
//                                   CALLS pairs of calls, one each 1.5 ms
//     peaks values SECONDS          values of 16 B to 39 KB in nine phases, of which 1 % stay; then ten small calls each
//                                   0.1 s, as of a server at rest
//     peaks swings MIB ROUNDS       blocks of 16 to 255 B made and freed in rounds; us of processor time a round
// Of the others us is the processor time of the frees.
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <random>
#include <string_view>
#include <thread>

#include <malloc.h>
#include <sys/mman.h>

#include "bench/support/usage.hpp"

namespace {

using namespace std::chrono_literals;

constexpr double mib = 1024.0 * 1024;

double resident() { return static_cast<double>(bench::proc_bytes("/proc/self/status", "RssAnon:")) / mib; }

double processor_us() { return bench::clock_ms(CLOCK_PROCESS_CPUTIME_ID) * 1e3; }

void* written(std::size_t bytes) {
  void* const data = std::malloc(bytes);
  std::memset(data, 1, bytes);
  return data;
}

std::minstd_rand next(4711);

std::size_t small() { return 16 + next() % 240; }
std::size_t value() { return static_cast<std::size_t>(std::exp(std::uniform_real_distribution(2.8, 10.57)(next))); }

// Blocks, listed outside of the malloc, in memory that is resident from the beginning.
class blocks {
public:
  explicit blocks(std::size_t most)
      : all_(static_cast<void**>(::mmap(nullptr, most * sizeof(void*), PROT_READ | PROT_WRITE,
                                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0))) {}
  std::size_t add(std::size_t bytes) { return all_[count_++] = written(bytes), bytes; }
  std::size_t count() const { return count_; }
  std::size_t bytes() const {
    std::size_t sum = 0;
    for (std::size_t i = 0; i != count_; ++i) sum += ::malloc_usable_size(all_[i]);
    return sum;
  }
  void free_any() {
    void*& any = all_[next() % count_];
    std::free(any);
    any = all_[--count_];
  }
  void free_in_order() {
    for (std::size_t i = 0; i != count_; ++i) std::free(all_[i]);
    count_ = 0;
  }

private:
  void** all_;
  std::size_t count_ = 0;
};

void call(int times, std::chrono::microseconds pause) {
  for (; times > 0; --times, std::this_thread::sleep_for(pause)) std::free(written(small()));
}

void print(double live, double peak, double at_once, double held, double us) {
  std::printf("{\"live\": %.1f, \"peak\": %.1f, \"at_once\": %.1f, \"resident\": %.1f, \"us\": %.0f}\n", live / mib,
              peak, at_once, held, us);
}

int small_blocks(bool apart, double most, int calls) {
  const auto bytes = static_cast<std::size_t>(most * mib);
  blocks stay(100'000), go(bytes / 64);
  const double before = resident();
  std::size_t live = 0;
  for (; apart && live < bytes / 100;) live += stay.add(small());
  for (std::size_t made = live; made < bytes;)
    if (!apart && next() % 100 == 0) {
      const std::size_t more = stay.add(small());
      made += more, live += more;
    } else {
      made += go.add(small());
    }
  const double peak = resident() - before, from = processor_us();
  go.free_in_order();
  const double us = processor_us() - from, at_once = resident() - before;
  call(calls, 1500us);
  print(static_cast<double>(live), peak, at_once, resident() - before, us);
  return 0;
}

int values(int seconds) {
  blocks held(200'000);
  const double before = resident();
  for (int phase = 0; phase != 9; ++phase) {
    for (int i = 0; i != 6'000; ++i) static_cast<void>(held.add(value() >> phase % 3));
    for (int i = 0; i != 3'000; ++i) held.free_any();
  }
  const double peak = resident() - before, from = processor_us();
  for (const std::size_t left = held.count() / 100; held.count() > left;) held.free_any();
  const double us = processor_us() - from, at_once = resident() - before;
  for (int i = 0; i != seconds * 10; ++i, std::this_thread::sleep_for(100ms)) call(10, 0us);
  print(static_cast<double>(held.bytes()), peak, at_once, resident() - before, us);
  return 0;
}

int swings(double most, int rounds) {
  const auto bytes = static_cast<std::size_t>(most * mib);
  blocks go(bytes / 64);
  const double before = resident(), from = processor_us();
  for (int i = 0; i != rounds; ++i) {
    for (std::size_t made = 0; made < bytes;) made += go.add(small());
    go.free_in_order();
  }
  std::printf("{\"live\": 0, \"us\": %.0f, \"resident\": %.1f}\n", (processor_us() - from) / rounds,
              resident() - before);
  return 0;
}

}  // namespace

int main(int count, char** words) {
  const std::string_view shape = count > 2 ? words[1] : "";
  const double size = count > 2 ? std::atof(words[2]) : 0;
  if ((shape == "apart" || shape == "mixed") && count == 4)
    return small_blocks(shape == "apart", size, std::atoi(words[3]));
  if (shape == "values" && count == 3) return values(std::atoi(words[2]));
  if (shape == "swings" && count == 4) return swings(size, std::atoi(words[3]));
  std::fputs("peaks apart|mixed MIB CALLS | values SECONDS | swings MIB ROUNDS\n", stderr);
  return 2;
}
