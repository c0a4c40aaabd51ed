// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Millions of random calls of heaps beside their models, at full speed.
//
// heap_marathon [--operations N] [--seed S]     a session of a million operations for each seed from S on
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <memory>

#include <unistd.h>

#include <algorithm>

#include <ashlar/base/platform.hpp>

#include "tests/support/heap_session.hpp"

namespace {

constexpr std::size_t session_operations = 1'000'000;

volatile std::size_t current_seed = 0;

void name_seed(int signal) {
  ashlar::panic_line line;
  ashlar::detail::write_error_line(line.text("in the session of seed ").number(current_seed).view());
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

std::uint64_t number(int argc, char** argv, const char* option, std::uint64_t otherwise) {
  for (int i = 1; i + 1 < argc; i += 2)
    if (std::strcmp(argv[i], option) == 0) return std::strtoull(argv[i + 1], nullptr, 10);
  return otherwise;
}

}  // namespace

int main(int argc, char** argv) {
  const std::uint64_t operations = number(argc, argv, "--operations", 10 * session_operations);
  const std::uint64_t first = number(argc, argv, "--seed", 1);
  for (const int each : {SIGABRT, SIGSEGV, SIGBUS, SIGFPE}) std::signal(each, name_seed);
  const ashlar_test::walk_bounds bounds{.most_blocks = 20'000};
  const std::time_t start = std::time(nullptr);
  std::uint64_t done = 0, seed = first;
  for (; done < operations; ++seed) {
    current_seed = static_cast<std::size_t>(seed);
    const auto steps = static_cast<std::size_t>(std::min<std::uint64_t>(operations - done, session_operations));
    std::make_unique<ashlar_test::heap_session>(ashlar_test::decisions(seed), bounds)->run(steps);
    done += steps;
  }
  std::printf("%llu operations, seeds %llu to %llu, level %d: %lld s\n", static_cast<unsigned long long>(done),
              static_cast<unsigned long long>(first), static_cast<unsigned long long>(seed - 1), ASHLAR_CHECKING,
              static_cast<long long>(std::time(nullptr) - start));
  return 0;
}
