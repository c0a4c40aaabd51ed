// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of the reader against damage: every byte cut off, every bit flipped, every false header.
#include <ashlar/trace/reader.hpp>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/support/build.hpp"
#include "tests/trace/model.hpp"

namespace {

using namespace ashlar::trace;
using namespace ashlar::detail::trace_io;
using ashlar_test::bytes;
using ashlar_test::gave;
using ashlar_test::got;
using ashlar_test::image_builder;
using ashlar_test::image_of;
using ashlar_test::random_program;
using ashlar_test::read_all;

const std::vector<event>& sample_events() {
  static const std::vector<event> events = random_program(11, 900);
  return events;
}

/// About ten kilobytes, in chunks of at most 100 records.
const bytes& sample_image() {
  static const bytes image = image_of(sample_events(), {.command_line = {"a", "program"}, .chunk_records = 100});
  return image;
}

bool is_prefix(const std::vector<event>& part, const std::vector<event>& whole) {
  return part.size() <= whole.size() && std::equal(part.begin(), part.end(), whole.begin());
}

/// A cut at the end of a whole chunk loses nothing that can be detected, except that `complete` is false.
TEST(reader, truncation_at_every_byte_is_refused_or_known_to_be_incomplete) {
  std::size_t boundaries = 0;
  for (std::size_t n = 0; n < sample_image().size(); ++n) {
    const auto all = read_all(std::span(sample_image()).first(n));
    ASSERT_FALSE(all.info.complete) << n;
    ASSERT_TRUE(is_prefix(all.events, sample_events())) << n;
    boundaries += all.error ? 0U : 1U;
    if (all.error) {
      ASSERT_TRUE(all.events.empty()) << n;
      ASSERT_LE(all.error->offset, n);
    }
  }
  EXPECT_EQ(boundaries, read_all(sample_image()).info.chunks);
}

// Every byte, or every seventh in slow builds; of those again every third where another configuration tests all.
constexpr std::size_t stride = (ashlar_test::is_slow ? 7 : 1) * ashlar_test::cases_of_build(3, 1);

TEST(reader, truncation_at_every_byte_leaves_a_prefix_if_asked) {
  std::size_t last = 0;
  for (std::size_t n = 100; n < sample_image().size(); n += stride) {
    const auto all = read_all(std::span(sample_image()).first(n), {.accept_prefix = true});
    ASSERT_FALSE(all.error) << n << all.error->message;
    ASSERT_TRUE(is_prefix(all.events, sample_events())) << n;
    ASSERT_GE(all.events.size(), last);
    last = all.events.size();
  }
  EXPECT_EQ(last, sample_events().size());
}

TEST(reader, every_flipped_byte_is_refused_or_leaves_a_prefix_if_asked) {
  constexpr std::size_t header_bytes = file_header_bytes + sizeof "a\0program" + 8;
  bytes image = sample_image();
  for (std::size_t i = 0; i < image.size(); i += stride) {
    const auto flip = static_cast<std::byte>(1U << (i % 8));
    image[i] ^= flip;
    const auto all = read_all(image), prefix = read_all(image, {.accept_prefix = true});
    ASSERT_TRUE(all.error) << i;
    ASSERT_LE(all.error->offset, i);
    ASSERT_TRUE(is_prefix(all.events, sample_events()) && is_prefix(prefix.events, sample_events())) << i;
    ASSERT_EQ(prefix.error.has_value(), i < header_bytes) << i;
    ASSERT_TRUE(prefix.error || prefix.info.damage) << i;
    image[i] ^= flip;
  }
}

TEST(reader, files_that_are_no_traces_are_refused_in_words) {
  EXPECT_EQ(read_all({}).error, (trace_error{0, "the file is empty"}));
  bytes text(1000, std::byte{'x'});
  EXPECT_EQ(read_all(text).error, (trace_error{0, "not an ashlar trace"}));
  text.resize(6);
  EXPECT_EQ(read_all(text).error, (trace_error{0, "not an ashlar trace"}));
  EXPECT_EQ(reader<>(std::string("/no/such/file")).error(), (trace_error{0, "no such file"}));
  EXPECT_EQ(reader<>(testing::TempDir()).error(), (trace_error{0, "is a directory"}));
}

TEST(reader, the_offset_of_a_damaged_payload_is_its_chunks) {
  image_builder b;
  b.events(1, 0, {got(1, 16)});
  const std::size_t second = b.image().size();
  b.events(1, 1, {got(2, 32)}).end();
  bytes image = b.image();
  image[second + chunk_header_bytes + 2] ^= std::byte{1};
  const auto all = read_all(image);
  EXPECT_EQ(all.error, (trace_error{second, "a chunk's payload is damaged"}));
  EXPECT_EQ(all.events.size(), 1U);
}

TEST(reader, a_sound_checksum_over_nonsense_is_refused) {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    std::mt19937_64 random(seed);
    bytes payload(static_cast<std::size_t>(random() % 200));
    for (auto& b : payload) b = static_cast<std::byte>(random());
    const auto kind = static_cast<chunk_kind>(1 + seed % 5);
    image_builder b;
    b.chunk({.kind = kind, .count = static_cast<std::uint32_t>(random() % 300), .last_time = random()}, payload);
    const auto all = read_all(b.image());
    EXPECT_TRUE(all.error || kind == chunk_kind::end || payload.empty()) << seed;
  }
}

TEST(reader, a_table_that_is_malformed_is_refused) {
  image_builder b;
  b.events(1, 0, {got(1, 16)});
  const std::size_t table = b.image().size();
  b.chunk({.kind = chunk_kind::stacks, .count = 1}, bytes(3)).end();
  EXPECT_EQ(read_all(b.image()).error, (trace_error{table, "a table is malformed"}));
  const auto prefix = read_all(b.image(), {.accept_prefix = true});
  EXPECT_EQ(prefix.events.size(), 1U);
  EXPECT_EQ(prefix.info.damage->offset, table);
}

TEST(reader, ticks_become_nanoseconds) {
  image_builder b({.clock = clock_kind::ticks, .process = 1, .page_bytes = 4096, .start_ns = 1'000'000});
  b.events(0, 0, {got(0, 16), got(2'500, 32), got(std::uint64_t{1} << 63, 48)});
  b.chunk({.kind = chunk_kind::end, .count = 1, .sync_ticks = 2'500'000, .sync_ns = 2'000'000}, bytes(1));
  const auto all = read_all(b.image());
  ASSERT_EQ(all.events.size(), 3U) << all.error->message;
  EXPECT_EQ(all.events[1].time_ns, 1'000U);
  EXPECT_GT(all.events[2].time_ns, std::uint64_t{1} << 61);
}

TEST(reader, dropped_events_are_reported) {
  image_builder b;
  std::byte dropped[max_varint_bytes];
  const auto n = static_cast<std::size_t>(put_varint(dropped, 1'000'000) - dropped);
  b.chunk({.kind = chunk_kind::end, .count = 1}, {dropped, n});
  EXPECT_EQ(read_all(b.image()).info.dropped, 1'000'000U);
}

TEST(reader, unknown_releases_pass_through) {
  image_builder b;
  b.events(1, 0, {gave(1, 16), got(2, 16)}).events(2, 0, {gave(1, 64)});
  const auto all = read_all(b.image());
  EXPECT_EQ(all.counts.unknown_releases, 2U);
  EXPECT_EQ(all.events.size(), 3U);
  EXPECT_EQ(all.counts.live, 1U);
}

}  // namespace
