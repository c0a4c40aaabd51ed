// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Random threads that allocate, exchange and free blocks, load libraries, fork and end, with a pattern in every block.
//
//     fuzz_threads [--seconds N] [--seed S] [--threads T] [--hang N]     N seconds without progress are a fault
#include <dlfcn.h>
#include <malloc.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <new>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tests/malloc/rule.hpp"

namespace {

using malloc_rules::fill;
using malloc_rules::is_aligned;
using malloc_rules::is_filled;
using malloc_rules::is_zero;
using malloc_rules::random_numbers;

struct {
  unsigned seconds = 5;
  std::uint64_t seed = 1;
  unsigned threads = 6;
  unsigned hang = 60;
} options;

struct {
  std::atomic<std::uint64_t> steps, threads, forks, loads;
} counts;
std::atomic<bool> is_over{false};

void require(bool holds, const char* what, std::size_t of) {
  if (holds) return;
  char text[200];
  const int length = std::snprintf(text, sizeof text, "fuzz_threads: seed %llu, process %d: %s (of %zu)\n",
                                   static_cast<unsigned long long>(options.seed), ::getpid(), what, of);
  if (::write(2, text, static_cast<std::size_t>(length)) < 0) ::_exit(2);
  ::_exit(1);
}

/// Prints the signal, so that the seed is known; a debugger stops before.
void end_by_signal(int signal) {
  require(false, signal == SIGALRM ? "no progress" : "died by a signal", static_cast<std::size_t>(signal));
}

/// Of blocks above 64 KiB only both ends carry the pattern.
constexpr std::size_t end_bytes = std::size_t{32} << 10;

struct held {
  void* block = nullptr;
  std::size_t bytes = 0;
  std::uint64_t seed = 0;

  [[nodiscard]] bool has_ends() const { return bytes > 2 * end_bytes; }
  [[nodiscard]] char* tail() const { return static_cast<char*>(block) + bytes - end_bytes; }

  void write() const {
    fill(block, has_ends() ? end_bytes : bytes, seed);
    if (has_ends()) fill(tail(), end_bytes, ~seed);
  }
  void verify() const {
    if (block == nullptr) return;
    require(is_filled(block, has_ends() ? end_bytes : bytes, seed), "a block changed", bytes);
    if (has_ends()) require(is_filled(tail(), end_bytes, ~seed), "the end of a block changed", bytes);
  }
  void drop() {
    verify();
    errno = 77;
    std::free(block);
    require(errno == 77, "free changed errno", bytes);
    *this = {};
  }
};

/// Blocks on their way between threads. A child of fork does not use it: its lock may be held forever.
struct {
  std::mutex lock;
  held blocks[512];

  held swap(std::size_t at, held with) {
    const std::scoped_lock holding{lock};
    return std::exchange(blocks[at % std::size(blocks)], with);
  }
} exchange;

/// Held over a fork, and while a library is loaded: glibc leaves its list of libraries in the child as it is.
std::mutex loading;

bool wants_large(random_numbers& random) { return random.below(300) == 0; }

held allocate(random_numbers& random) {
  held made{nullptr, random.size(wants_large(random) ? 24 : 13), random.next()};
  const std::size_t n = made.bytes;
  switch (random.below(8)) {
    case 0:
      made.block = std::calloc(1, n);
      require(made.block == nullptr || is_zero(made.block, n), "calloc gave dirty memory", n);
      break;
    case 1: {
      const std::size_t alignment = std::size_t{1} << (3 + random.below(random.below(10) == 0 ? 18 : 6));
      require(::posix_memalign(&made.block, alignment, n) == 0, "posix_memalign failed", n);
      require(is_aligned(made.block, alignment), "a block is not aligned as asked", alignment);
      break;
    }
    case 2: made.block = ::operator new(n); break;
    case 3:
      made.block = std::malloc(n);
      made.bytes = ::malloc_usable_size(made.block);
      break;
    default: made.block = std::malloc(n);
  }
  require(made.block != nullptr, "no memory", n);
  require(made.bytes >= n && is_aligned(made.block, alignof(std::max_align_t)), "a bad block", n);
  made.write();
  return made;
}

void reallocate(held& of, random_numbers& random) {
  if (of.block == nullptr) return;
  const held old = of;
  old.verify();
  of.bytes = random.below(2) == 0 ? old.bytes / 2 + 1 : 1 + random.size(wants_large(random) ? 24 : 13);
  of.block = std::realloc(old.block, of.bytes);
  require(of.block != nullptr, "realloc failed", of.bytes);
  const std::size_t kept = std::min({old.bytes, of.bytes, old.has_ends() ? end_bytes : old.bytes});
  require(is_filled(of.block, kept, old.seed), "realloc lost contents", of.bytes);
  of.write();
}

/// Effects: a library is loaded, and hands out a block that outlives it.
void load_library() {
  const std::scoped_lock holding{loading};
  void* const library = ::dlopen(ASHLAR_PLUGIN, RTLD_NOW | RTLD_LOCAL);
  require(library != nullptr, "dlopen failed", 0);
  const auto make = reinterpret_cast<void* (*)(std::size_t)>(::dlsym(library, "plugin_make"));
  reinterpret_cast<std::size_t (*)()>(::dlsym(library, "plugin_touch"))();
  void* const p = make(700);
  ::dlclose(library);
  require(static_cast<char*>(p)[699] == 'm', "a block of a library that is gone changed", 700);
  std::free(p);
  ++counts.loads;
}

/// What one thread does.
class worker {
public:
  worker(std::uint64_t seed, unsigned depth) : random_{seed}, depth_{depth} { ++counts.threads; }
  worker(const worker&) = delete;

  /// The blocks that are left go to other threads, or are freed.
  ~worker() {
    for (held& each : blocks_) {
      if (depth_ == 0 && random_.below(2) == 0) each = exchange.swap(random_.next(), each);
      each.drop();
    }
  }

  void run(std::size_t steps) {
    for (std::size_t i = 0; i < steps && !(is_over && depth_ == 0); ++i) step();
    counts.steps += steps;
  }

private:
  void step() {
    held& each = blocks_[random_.below(std::size(blocks_))];
    switch (random_.below(16)) {
      case 0: reallocate(each, random_); break;
      case 1: each.drop(); break;
      case 2:
      case 3:
        if (depth_ == 0) each = exchange.swap(random_.next(), each);
        break;
      case 4: rare_step(); break;
      default: each.drop(); each = allocate(random_);
    }
  }

  void rare_step() {
    switch (random_.below(2000)) {
      case 0: fork(); break;
      case 1:
      case 2: give_half_to_a_thread(); break;
      case 3:
        if (depth_ == 0) load_library();
        break;
      case 4: ::malloc_trim(random_.below(2) << 20); break;
      default: break;
    }
  }

  /// Effects: a new thread frees and allocates among this one's blocks.
  void give_half_to_a_thread() {
    const std::uint64_t seed = random_.next();
    std::thread{[this, seed] {
      for (std::size_t i = 0; i < std::size(blocks_); i += 2) blocks_[i].drop();
      worker other{seed, depth_ + 1};
      other.run(500);
      for (std::size_t i = 0; i < std::size(blocks_); i += 2) std::swap(blocks_[i], other.blocks_[i]);
    }}.join();
  }

  void fork() {
    if (depth_ > 3) return;
    std::unique_lock holding{loading, std::defer_lock};
    if (depth_ == 0) holding.lock();
    const pid_t child = ::fork();
    if (child == 0) live_as_child();
    if (holding) holding.unlock();
    require(child > 0, "fork failed", static_cast<std::size_t>(errno));
    ++counts.forks;
    int status = 0;
    while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    require(status == 0, "a child failed", static_cast<std::size_t>(status));
  }

  [[noreturn]] void live_as_child() {
    ::alarm(options.hang);
    ++depth_;
    for (const held& each : blocks_) each.verify();
    run(random_.below(3000));
    give_half_to_a_thread();
    for (held& each : blocks_) each.drop();
    if (random_.below(2) == 0) std::exit(0);
    ::_exit(0);
  }

  held blocks_[300];
  random_numbers random_;
  unsigned depth_;  // of processes and threads below the workers that main starts
};

/// Effects: threads of random length, one after another.
void keep_a_thread_alive(unsigned lane) {
  random_numbers random{options.seed * 1000 + lane};
  while (!is_over) {
    std::thread{[seed = random.next(), steps = random.size(16)] {
      worker here{seed, 0};
      here.run(steps);
    }}.join();
  }
}

void read_options(int argc, char** argv) {
  for (int i = 1; i + 1 < argc; i += 2) {
    const auto value = std::strtoull(argv[i + 1], nullptr, 10);
    const std::string name = argv[i];
    if (name == "--seconds") options.seconds = static_cast<unsigned>(value);
    else if (name == "--seed") options.seed = value;
    else if (name == "--threads") options.threads = static_cast<unsigned>(value);
    else if (name == "--hang") options.hang = static_cast<unsigned>(value);
    else std::exit(2);
  }
}

/// Effects: raises SIGALRM if there are no further steps for `hang` seconds.
void watch() {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds{options.seconds};
  std::uint64_t before = 0;
  while (std::chrono::steady_clock::now() < end) {
    if (counts.steps != before) ::alarm(options.hang);
    before = counts.steps;
    std::this_thread::sleep_for(std::chrono::milliseconds{200});
  }
  is_over = true;
  ::alarm(2 * options.hang);
}

}  // namespace

int main(int argc, char** argv) {
  read_options(argc, argv);
  malloc_rules::expect_preloaded();
  for (const int signal : {SIGALRM, SIGABRT, SIGSEGV, SIGBUS, SIGILL}) std::signal(signal, end_by_signal);
  std::printf("fuzz_threads: seed %llu, %u s\n", static_cast<unsigned long long>(options.seed), options.seconds);
  std::fflush(stdout);
  std::vector<std::thread> lanes;
  for (unsigned lane = 0; lane < options.threads; ++lane) lanes.emplace_back(keep_a_thread_alive, lane);
  watch();
  for (std::thread& each : lanes) each.join();
  for (held& each : exchange.blocks) each.drop();
  std::printf("fuzz_threads: %llu steps, %llu threads, %llu forks, %llu libraries: no fault\n",
              static_cast<unsigned long long>(counts.steps), static_cast<unsigned long long>(counts.threads),
              static_cast<unsigned long long>(counts.forks), static_cast<unsigned long long>(counts.loads));
}
