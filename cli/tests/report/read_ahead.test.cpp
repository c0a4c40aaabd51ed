// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of the thread that reads ahead: each event is given once, and the end is found, for any number of them.
#include "cli/report/read_ahead.hpp"

#include <cstdint>
#include <optional>
#include <stdexcept>

#include <gtest/gtest.h>

namespace {

using ashlar::cli::read_ahead;
using ashlar::trace::event;

/// Numbers its events, and may fail in place of the last.
struct counting_reader {
  std::uint64_t events;
  bool fails = false;
  std::uint64_t done = 0;

  std::optional<event> next() {
    if (done == events) return fails ? throw std::runtime_error("no more") : std::optional<event>();
    event e;
    e.time_ns = ++done;
    return e;
  }
};

std::uint64_t read_in_order(read_ahead<counting_reader>& ahead) {
  std::uint64_t seen = 0;
  while (const event* const e = ahead.next()) EXPECT_EQ(e->time_ns, ++seen);
  return seen;
}

TEST(read_ahead, gives_each_event_once_and_in_order) {
  for (const std::uint64_t events : {0U, 1U, 2047U, 2048U, 2049U, 4096U, 4097U, 100'000U}) {
    counting_reader reader{events};
    read_ahead ahead(reader);
    EXPECT_EQ(read_in_order(ahead), events);
    EXPECT_EQ(ahead.next(), nullptr);
  }
}

TEST(read_ahead, throws_what_the_reader_has_thrown_behind_its_events) {
  for (const std::uint64_t events : {0U, 5U, 4096U, 4100U}) {
    counting_reader reader{events, true};
    read_ahead ahead(reader);
    for (std::uint64_t i = 1; i <= events; ++i) EXPECT_EQ(ahead.next()->time_ns, i);
    EXPECT_THROW(read_in_order(ahead), std::runtime_error);
    EXPECT_EQ(ahead.next(), nullptr);
  }
}

TEST(read_ahead, ends_wherever_it_is_abandoned) {
  for (const int read : {0, 1, 2048, 5000}) {
    counting_reader reader{1'000'000};
    read_ahead ahead(reader);
    for (int i = 0; i < read; ++i) EXPECT_NE(ahead.next(), nullptr);
  }
}

}  // namespace
