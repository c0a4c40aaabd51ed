// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The cost of the look at the memory of recorded processes.
#include <chrono>
#include <ctime>
#include <memory>
#include <thread>

#include <gtest/gtest.h>
#include <unistd.h>

#include "cli/preload/status.hpp"
#include "cli/record/memory_watch.hpp"

namespace {

using namespace std::chrono_literals;

std::chrono::nanoseconds processor_time() {
  timespec now{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return std::chrono::seconds(now.tv_sec) + std::chrono::nanoseconds(now.tv_nsec);
}

TEST(memory_watch, takes_less_than_a_hundredth_of_a_processor_for_24_processes) {
  const auto page = std::make_unique<ashlar::recorder::recording_status>();
  for (std::uint64_t i = 0; i < 24; ++i) {
    page->unfinished[i].start_ns = i + 1;
    page->unfinished[i].id = ::getpid();
  }
  ashlar::cli::memory_watch watch(page.get());
  const auto start = std::chrono::steady_clock::now();
  const auto before = processor_time();
  while (std::chrono::steady_clock::now() - start < 1s) std::this_thread::sleep_for(watch.look());
  EXPECT_LT(processor_time() - before, (std::chrono::steady_clock::now() - start) / 100);
}

}  // namespace
