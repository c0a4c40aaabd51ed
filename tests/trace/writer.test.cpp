// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of the writer and of its sinks: the reader returns every event that it writes.
#include <ashlar/trace/sink.hpp>
#include <ashlar/trace/writer.hpp>

#include <array>
#include <cstdio>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/trace/model.hpp"

namespace {

using namespace ashlar::trace;
using namespace ashlar::detail::trace_io;
using ashlar_test::bytes;
using ashlar_test::image_of;
using ashlar_test::random_program;
using ashlar_test::read_all;

TEST(writer, random_programs_round_trip_in_chunks_of_any_size) {
  for (std::uint32_t seed = 0; seed < 60; ++seed) {
    const auto events = random_program(seed, seed * 37, 1 + seed % 6);
    const auto all = read_all(image_of(events, {.command_line = {}, .chunk_records = 4 + seed * seed}));
    ASSERT_FALSE(all.error) << all.error->message;
    ASSERT_EQ(all.events, events) << seed;
    EXPECT_EQ(all.info.events, events.size());
    EXPECT_TRUE(all.info.complete);
  }
}

TEST(writer, extreme_values_round_trip) {
  const std::uint64_t huge = std::uint64_t{1} << 63;
  const std::vector<event> events{
      {.time_ns = 0, .op = operation::malloc_, .size = huge, .object = 1},
      {.time_ns = 5, .op = operation::aligned_alloc_, .size = ~std::uint64_t{0}, .alignment = huge, .object = 2},
      {.time_ns = huge, .op = operation::realloc_, .object = 3, .old_object = 1, .stack = 0xffff'ffff},
      {.time_ns = ~std::uint64_t{0}, .op = operation::delete_, .size = huge, .object = 3},
  };
  EXPECT_EQ(read_all(image_of(events)).events, events);
}

TEST(writer, the_program_and_its_tables_round_trip) {
  bytes image;
  const mapped_module module{.begin = 0x1000, .end = 0x2000, .bias = 0x1000, .path = "/bin/x", .build_id = "0a"};
  {
    writer<raw_codec, memory_sink> w(
        memory_sink{image}, {.command_line = {"x", "", "y z"}, .process = 77, .start_unix_ns = 5, .stack_depth = 3});
    EXPECT_TRUE(w.add_module(module));
    EXPECT_EQ(w.add_stack(std::array<std::uint64_t, 2>{1, 2}), 1U);
    EXPECT_TRUE(w.append({.op = operation::malloc_, .object = 1, .stack = 1}));
    EXPECT_EQ(w.add_stack(std::array<std::uint64_t, 1>{3}), 2U);
    EXPECT_TRUE(w.append({.op = operation::free_, .object = 1, .stack = 2}));
  }
  reader<> r{std::span<const std::byte>(image)};
  EXPECT_EQ(r.info().command_line, (std::vector<std::string>{"x", "", "y z"}));
  EXPECT_EQ(r.info().process, 77U);
  EXPECT_EQ(r.info().start_unix_ns, 5U);
  EXPECT_EQ(r.info().stack_depth, 3U);
  EXPECT_EQ(r.info().pointer_bytes, sizeof(void*));
  EXPECT_EQ(r.modules(), std::vector{module});
  EXPECT_EQ(r.stacks().size(), 2U);
  EXPECT_EQ(r.stacks()[r.next()->stack][1], 2U);
  EXPECT_EQ(r.stacks()[r.next()->stack][0], 3U);
}

TEST(writer, time_must_not_go_back) {
  bytes image;
  writer<raw_codec, memory_sink> w(memory_sink{image});
  EXPECT_TRUE(w.append({.time_ns = 5, .op = operation::mark}));
  EXPECT_FALSE(w.append({.time_ns = 4, .op = operation::mark}));
  EXPECT_EQ(w.error()->message, "time goes backwards");
  EXPECT_FALSE(w.append({.time_ns = 6, .op = operation::mark}));
  EXPECT_FALSE(w.close());
}

TEST(writer, a_file_round_trips_and_a_failed_write_is_reported) {
  const std::string path = testing::TempDir() + "ashlar_writer.trace";
  const auto events = random_program(3, 5000);
  {
    writer<> w{file_sink(path)};
    for (const event& e : events) ASSERT_TRUE(w.append(e));
    EXPECT_TRUE(w.close());
    EXPECT_FALSE(w.append({.time_ns = ~std::uint64_t{0}}));
  }
  reader<> r(path);
  for (const event& e : events) ASSERT_EQ(ashlar_test::next_as_made(r), e);
  EXPECT_FALSE(r.next());
  std::remove(path.c_str());
  writer<> nowhere{file_sink("/no/such/directory/t.trace")};
  EXPECT_EQ(nowhere.error()->message, "cannot be written");
  EXPECT_FALSE(nowhere.close());
}

TEST(writer, names_are_found_by_id_and_cut_at_255_bytes) {
  bytes image;
  {
    writer<raw_codec, memory_sink> w(memory_sink{image});
    EXPECT_EQ(w.add_name("parse"), 1U);
    EXPECT_TRUE(w.append({.op = operation::span_begin, .size = 1}));
    EXPECT_EQ(w.add_name(std::string(300, 'x')), 2U);
    EXPECT_EQ(w.add_name(""), 3U);
    EXPECT_TRUE(w.append({.op = operation::span_end}));
    EXPECT_TRUE(w.append({.op = operation::thread_name, .size = 2}));
  }
  reader<> r{std::span<const std::byte>(image)};
  EXPECT_EQ(r.names()[r.next()->size], "parse");
  EXPECT_EQ(r.next()->op, operation::span_end);
  EXPECT_EQ(r.names()[r.next()->size], std::string(255, 'x'));
  EXPECT_EQ(r.names().size(), 3U);
  EXPECT_EQ(r.names()[0], "");
  EXPECT_EQ(r.names()[4], "");
  EXPECT_TRUE(!r.next() && !r.error());
}

TEST(sink, what_cannot_be_written_shows_at_once) {
  file_sink nowhere("/no/such/directory/file");
  EXPECT_FALSE(nowhere.write(std::array{std::byte{1}}));
#if defined(__linux__)
  file_sink full("/dev/full");
  EXPECT_FALSE(full.write(std::array{std::byte{1}}));
#endif
}

}  // namespace
