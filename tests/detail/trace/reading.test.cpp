// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of what a reader makes of streams: their order, their objects, and unloaded modules.
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <ashlar/base/trace_tables.hpp>
#include <ashlar/detail/trace/resolver.hpp>
#include <ashlar/detail/trace/unloads.hpp>
#include <ashlar/detail/trace/varint.hpp>
#include <ashlar/trace/reader.hpp>

#include "tests/support/build.hpp"
#include "tests/trace/model.hpp"

namespace {

using namespace ashlar::trace;
using namespace ashlar::detail::trace_io;
using ashlar_test::bytes;
using ashlar_test::gave;
using ashlar_test::got;
using ashlar_test::image_builder;
using ashlar_test::read_all;

/// Both times are equal, and the stream that allocates comes first by number.
TEST(merge, an_allocation_waits_for_the_release_of_its_address) {
  image_builder b;
  b.events(1, 0, {got(5, 16), got(6, 48)}).events(2, 0, {got(1, 16), gave(5, 16)});
  const auto all = read_all(b.image());
  ASSERT_EQ(all.events.size(), 4U);
  EXPECT_EQ(all.events[1].op, operation::free_);
  EXPECT_EQ(all.events[1].object, 1U);
  EXPECT_EQ(all.events[2].object, 2U);
  EXPECT_EQ(all.counts.lost_releases + all.counts.unknown_releases, 0U);
}

TEST(merge, a_clock_that_runs_ahead_is_put_right_within_the_skew) {
  image_builder b;
  b.events(1, 0, {got(100, 16)}).events(2, 0, {got(1, 16), gave(150, 16)});
  const auto within = read_all(b.image(), {.skew_ns = 50});
  ASSERT_EQ(within.events.size(), 3U);
  EXPECT_EQ(within.counts.lost_releases, 0U);
  EXPECT_EQ(within.events[2].time_ns, 150U) << "time never goes back";
  const auto beyond = read_all(b.image(), {.skew_ns = 49});
  EXPECT_EQ(beyond.counts.lost_releases, 1U);
}

TEST(merge, a_release_that_was_never_recorded_is_made_up_in_one_stream_too) {
  image_builder b;
  b.events(1, 0, {got(5, 16), got(6, 16), gave(7, 16)});
  const auto all = read_all(b.image());
  ASSERT_EQ(all.events.size(), 4U);
  EXPECT_EQ(all.events[1], (event{.time_ns = 6, .op = operation::free_, .object = 1}));
  EXPECT_EQ(all.counts.lost_releases, 1U);
  EXPECT_EQ(all.counts.live, 0U);
}

TEST(merge, streams_that_all_wait_for_each_other_go_on) {
  image_builder b;
  b.events(1, 0, {got(1, 16), got(10, 32)}).events(2, 0, {got(2, 32), got(10, 16)});
  const auto all = read_all(b.image());
  EXPECT_EQ(all.counts.lost_releases, 2U);
  EXPECT_EQ(all.events.size(), 6U);
}

/// Blocks move between threads at random; each stream's clock is off by up to the skew. In the merged order, every
/// object is allocated once and then released once.
TEST(merge, skewed_clocks_never_break_the_life_of_an_object) {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    std::mt19937_64 random(seed);
    std::map<std::uint32_t, std::vector<record>> streams;
    std::vector<std::uint64_t> live, free_list;
    for (std::uint64_t a = 1; a <= 20; ++a) free_list.push_back(a * 16);
    const std::uint64_t offset[3] = {0, random() % 40, random() % 40};
    for (std::uint64_t time = 100; time < 40'100; time += 40 + random() % 60) {
      const auto thread = static_cast<std::uint32_t>(random() % 3);
      auto& from = free_list.empty() || (!live.empty() && random() % 2 == 0) ? live : free_list;
      auto& to = &from == &live ? free_list : live;
      const std::uint64_t at = time + offset[thread];
      streams[thread].push_back(&from == &live ? gave(at, from.back()) : got(at, from.back()));
      to.push_back(from.back());
      from.pop_back();
    }
    image_builder b;
    for (auto& [id, records] : streams) b.events(id, 0, records);
    const auto all = read_all(b.image(), {.skew_ns = 100});
    EXPECT_FALSE(all.error);
    EXPECT_EQ(all.counts.lost_releases + all.counts.unknown_releases, 0U) << seed;
    EXPECT_EQ(all.counts.live, live.size());
  }
}

record began(std::uint64_t address) { return {.address = address, .code = opcode::realloc_begin}; }
record regot(std::uint64_t address) { return {.address = address, .size = 9, .code = code_of(operation::realloc_)}; }

/// Returns: the event that the record completes.
std::optional<event> applied(resolver& r, const record& each, stream_state& s) {
  event e;
  return r.apply(each, r.find(each), 0, s, e) ? std::optional(e) : std::nullopt;
}

bool contradicts(const resolver& r, const record& each) { return r.contradicts(each, r.find(each)); }

TEST(resolver, another_thread_may_get_the_old_block_while_realloc_goes_on) {
  resolver r;
  stream_state one{.thread = 1};
  stream_state two{.thread = 2};
  EXPECT_EQ(applied(r, got(0, 16), one)->object, 1U);
  EXPECT_FALSE(applied(r, began(16), one));
  EXPECT_FALSE(contradicts(r, got(0, 16)));
  EXPECT_EQ(applied(r, got(0, 16), two)->object, 2U);
  EXPECT_EQ(applied(r, regot(32), one)->old_object, 1U);
  EXPECT_EQ(r.counts().live, 2U);
}

TEST(resolver, a_lost_release_is_made_up_for_the_thread_that_allocated) {
  resolver r;
  stream_state one{.thread = 7};
  stream_state two{.thread = 9};
  EXPECT_TRUE(applied(r, got(0, 64), one));
  EXPECT_TRUE(applied(r, got(0, 16), two));
  EXPECT_TRUE(contradicts(r, got(0, 16)));
  event lost;
  r.release_lost(r.find(got(0, 16)), 77, lost);
  EXPECT_EQ(lost, (event{.time_ns = 77, .thread = 1, .op = operation::free_, .object = 2, .slot = 1}));
  EXPECT_EQ(r.counts().lost_releases, 1U);
  EXPECT_FALSE(contradicts(r, got(0, 16)));
}

using ashlar::trace::find_module;
using ashlar::trace::mapped_module;
using ashlar::trace::stack_table;

mapped_module module_at(std::uint64_t begin, std::uint64_t end, const std::string& path) {
  return {.begin = begin, .end = end, .bias = begin, .path = path, .build_id = ""};
}

struct unloads : testing::Test {
  std::vector<mapped_module> modules{module_at(0x1000, 0x2000, "program")};
  stack_table stacks;
  std::vector<unload> gone;

  std::uint32_t load(std::uint64_t begin, std::uint64_t end, const std::string& path) {
    modules.push_back(module_at(begin, end, path));
    return stacks.add(std::array{begin + 0x10, std::uint64_t{0x1010}});
  }
  void close(std::uint64_t begin) {
    gone.push_back(
        {.last_stack = stacks.size(), .modules = static_cast<std::uint32_t>(modules.size()), .begin = begin});
  }
  /// Returns: the path and the offset of the innermost frame.
  std::pair<std::string, std::uint64_t> innermost(std::uint32_t stack) const {
    const mapped_module* const module = find_module(modules, stacks[stack].front());
    if (module == nullptr) return {};
    return {module->path, stacks[stack].front() - module->bias};
  }
};

TEST_F(unloads, stacks_are_of_the_module_of_their_time) {
  const std::uint32_t one = load(0x5000, 0x7000, "one");
  close(0x5000);
  const std::uint32_t two = load(0x5000, 0x6000, "two");
  close(0x5000);
  const std::uint32_t three = load(0x4000, 0x6000, "three");
  const std::uint32_t again = stacks.add(std::array{std::uint64_t{0x5010}});
  module_separator(gone, modules).apply(stacks);
  using place = std::pair<std::string, std::uint64_t>;
  EXPECT_EQ(innermost(one), place("one", 0x10));
  EXPECT_EQ(innermost(two), place("two", 0x10));
  EXPECT_EQ(innermost(three), place("three", 0x10));
  EXPECT_EQ(innermost(again), place("three", 0x1010));
  for (std::uint32_t id = 1; id <= 3; ++id) EXPECT_EQ(stacks[id].back(), 0x1010U);
  EXPECT_EQ(modules.front(), module_at(0x1000, 0x2000, "program"));
}

TEST_F(unloads, a_module_that_nothing_replaced_stays) {
  load(0x5000, 0x6000, "one");
  close(0x5000);
  load(0x5000, 0x6000, "one");
  close(0x5000);
  load(0x8000, 0x9000, "two");
  const std::vector<mapped_module> before = modules;
  module_separator(gone, modules).apply(stacks);
  EXPECT_EQ(modules, before);
}

TEST_F(unloads, of_unknown_modules_change_nothing) {
  load(0x5000, 0x6000, "one");
  load(0x5000, 0x6000, "two");
  const std::vector<mapped_module> before = modules;
  gone = {{.last_stack = 1, .modules = 0, .begin = 0x5000}, {.last_stack = 1, .modules = 9, .begin = 0x5001}};
  module_separator(gone, modules).apply(stacks);
  EXPECT_EQ(modules, before);
}

TEST(memory, a_trace_has_the_greatest_of_each_figure) {
  std::byte buffer[memory_figure_count * max_varint_bytes];
  memory_figures known{.resident = 7, .anonymous = 90, .foreign = 0};
  const std::span payload(buffer, static_cast<std::size_t>(put_memory(buffer, {100, 50, 300}) - buffer));
  EXPECT_TRUE(get_memory(payload, 3, known));
  EXPECT_EQ(known.resident, 100U);
  EXPECT_EQ(known.anonymous, 90U);
  EXPECT_EQ(known.foreign, 300U);
  EXPECT_TRUE(get_memory(payload, 4, known));  // with figures of a later version
  EXPECT_FALSE(get_memory(payload, 2, known));
  EXPECT_FALSE(get_memory(payload.first(2), 3, known));
}

TEST(memory, of_a_trace_leaves_out_what_is_not_its_process_own) {
  bytes payload(memory_figure_count * max_varint_bytes);
  const std::byte* const end = put_memory(payload.data(), {100, 50, 20});
  image_builder b;
  b.chunk({.kind = chunk_kind::memory, .count = 3},
          std::span(payload).first(static_cast<std::size_t>(end - payload.data())))
      .end();
  const auto all = read_all(b.image());
  EXPECT_FALSE(all.error);
  EXPECT_EQ(all.info.resident_peak_bytes, 100U);
  EXPECT_EQ(all.info.anonymous_peak_bytes, 30U);
  EXPECT_EQ(read_all(image_builder().end().image()).info.resident_peak_bytes, 0U);
}

TEST(file_header, has_the_recording_and_the_parent) {
  std::byte header[file_header_bytes];
  put_header(header, file_header{.session = 0x1234567890, .parent = 77});
  ASSERT_EQ(refuse_file_header(header), nullptr);
  EXPECT_EQ(get_file_header(header).session, 0x1234567890U);
  EXPECT_EQ(get_file_header(header).parent, 77U);
}

TEST_F(unloads, payloads_come_back) {
  std::vector<std::byte> payload(unload_bound);
  std::byte* const end = put_unload(payload.data(), {.last_stack = 7, .modules = 300, .begin = ~std::uint64_t{0}});
  payload.resize(static_cast<std::size_t>(end - payload.data()));
  ASSERT_TRUE(get_unloads(payload, 1, gone));
  EXPECT_EQ(gone.back().last_stack, 7U);
  EXPECT_EQ(gone.back().modules, 300U);
  EXPECT_EQ(gone.back().begin, ~std::uint64_t{0});
  EXPECT_FALSE(get_unloads(payload, 2, gone));
  payload.push_back(std::byte{0});
  EXPECT_FALSE(get_unloads(payload, 1, gone));
  std::vector<std::byte> large(max_varint_bytes);
  large.resize(static_cast<std::size_t>(put_varint(large.data(), std::uint64_t{1} << 32) - large.data()));
  large.insert(large.end(), 2, std::byte{0});
  EXPECT_FALSE(get_unloads(large, 1, gone));
}

using ashlar::detail::trace_io::live_map;
using ashlar::detail::trace_io::live_object;

void put(live_map& m, std::uint64_t address, std::uint64_t object, std::uint32_t thread) {
  m.insert(m.find(address), address, object, thread);
}

live_object take(live_map& m, std::uint64_t address) {
  const live_object taken = m.take_out(m.find(address));
  if (taken.object != 0) m.give_back(taken.slot);
  return taken;
}

TEST(live_map, keeps_the_thread) {
  live_map m;
  put(m, 16, 5, 3);
  put(m, 32, (std::uint64_t{1} << 40) - 1, (1U << 24) - 1);
  put(m, 48, 7, (1U << 24) + 1);
  EXPECT_EQ(take(m, 16).thread, 3U);
  const auto greatest = take(m, 32);
  EXPECT_EQ(greatest.object, (std::uint64_t{1} << 40) - 1);
  EXPECT_EQ(greatest.thread, (1U << 24) - 1);
  const auto beyond = take(m, 48);
  EXPECT_EQ(beyond.object, 7U);
  EXPECT_EQ(beyond.thread, 1U);
}

/// Blocks beside each other, pages, arenas of threads, and addresses that all have one home in the near index.
TEST(live_map, tells_objects_apart_at_every_distance) {
  for (const unsigned distance_log2 : {0U, 4U, 5U, 12U, 20U, 26U, 52U}) {
    live_map m;
    std::map<std::uint64_t, std::uint64_t> model;
    std::mt19937_64 random(distance_log2);
    for (std::uint64_t object = 1; object <= ashlar_test::cases_of_build(10'000u, 40'000u); ++object) {
      const std::uint64_t address = 64 + ((random() % 3000) << distance_log2);
      const auto known = model.find(address);
      ASSERT_EQ(m.find(address).is_taken(), known != model.end());
      m.expect_slot(address);
      ASSERT_EQ(take(m, address).object, known == model.end() ? 0 : known->second);
      if (known != model.end()) model.erase(known);
      else put(m, address, model[address] = object, 0);
      ASSERT_EQ(m.size(), model.size());
    }
    for (const auto& [address, object] : model) EXPECT_EQ(take(m, address).object, object) << distance_log2;
    EXPECT_EQ(m.size(), 0U);
  }
}

}  // namespace
