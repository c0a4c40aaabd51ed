// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A program with a peak, after which one of fifty objects stays; it prints the bytes that it holds for each live
// one.
#include <array>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <string>
#include <thread>
#include <utility>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "cli/tests/advise/background.hpp"

namespace {

struct item {
  item* next;
  char text[88];
};

PLANTED item* build_scratch(item* next) { return new item{next, {}}; }

PLANTED item* build_result(item* next) { return new item{next, {}}; }

/// Effects: prints nothing and allocates nothing, so that frees alone follow the peak.
double resident_bytes() {
  std::array<char, 128> text{};
  const int file = ::open("/proc/self/statm", O_RDONLY);
  const auto length = ::read(file, text.data(), text.size() - 1);
  ::close(file);
  unsigned long pages = 0;
  if (length > 0) std::sscanf(text.data(), "%*u %lu", &pages);
  return static_cast<double>(pages) * static_cast<double>(::sysconf(_SC_PAGESIZE));
}

void drop(item* all) {
  while (all != nullptr) delete std::exchange(all, all->next);
}

/// `more`: small requests follow the peak; `at_end`: all are freed.
void work(bool more, bool at_end) {
  constexpr int count = 150'000, one_of = 50;
  const double before = resident_bytes();
  item *scratch = nullptr, *results = nullptr;
  for (int i = 0; i < count; ++i) {
    scratch = build_scratch(scratch);
    if (i % one_of == 0) results = build_result(results);
  }
  drop(scratch);
  for (int i = 0; more && i < 10'000; ++i) {
    const std::string line(100 + random_below(100), 'x');
    use(line.data());
  }
  const double held = (resident_bytes() - before) / (count / one_of * sizeof(item));
  if (at_end) drop(results);
  std::printf("%.2f\n", held);
}

/// Holds 64 MiB for a moment, and little for a tenth of a second.
void map_and_wait() {
  constexpr std::size_t bytes = std::size_t{64} << 20;
  void* const p = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  std::memset(p, 1, bytes);
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  ::munmap(p, bytes);
  std::this_thread::sleep_for(std::chrono::milliseconds(150));
}

}  // namespace

int main(int argc, char** argv) {
  const std::string mode = argc > 1 ? argv[1] : "";
  if (mode == "map") map_and_wait();
  else work(mode.find("more") != mode.npos, mode.find("end") != mode.npos);
}
