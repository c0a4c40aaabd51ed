// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of the index: the information and the damage that the headers alone show.
#include <ashlar/detail/trace/index.hpp>

#include <array>
#include <cstdio>
#include <fstream>
#include <string>

#include <gtest/gtest.h>

#include "tests/trace/model.hpp"

namespace {

using namespace ashlar::trace;
using namespace ashlar::detail::trace_io;
using ashlar_test::got;
using ashlar_test::image_builder;

std::string message(const image_builder& b) {
  byte_source source(b.image());
  const chunk_index index(source);
  return index.error() ? index.error()->message : "";
}

TEST(index, chunks_are_grouped_by_stream_in_the_order_they_were_written) {
  image_builder b;
  b.events(2, 0, {got(1, 16)}).events(1, 0, {got(2, 32)}).events(2, 1, {got(3, 48), got(4, 64)}).end();
  byte_source source(b.image());
  const chunk_index index(source);
  ASSERT_FALSE(index.error());
  const auto chunks = index.chunks(chunk_kind::events);
  ASSERT_EQ(chunks.size(), 3U);
  EXPECT_EQ(chunks[0].header.stream, 1U);
  EXPECT_EQ(chunks[2].header.sequence, 1U);
  EXPECT_EQ(index.events(), 4U);
  EXPECT_EQ(index.chunks(chunk_kind::end).size(), 1U);
  EXPECT_TRUE(index.chunks(chunk_kind::stacks).empty());
}

TEST(index, what_contradicts_itself_is_refused) {
  EXPECT_EQ(message(image_builder().events(1, 0, {got(1, 16)}).events(1, 2, {got(2, 32)})),
            "a chunk is missing before this one");
  EXPECT_EQ(message(image_builder().events(1, 0, {got(5, 16)}).events(1, 1, {got(4, 32)})), "time goes backwards");
  EXPECT_EQ(message(image_builder().chunk({.kind = static_cast<chunk_kind>(9)}, {})),
            "a chunk of a kind this ashlar does not read");
  EXPECT_EQ(message(image_builder().chunk({.count = 1, .events = 2}, {})), "a chunk header is damaged");
  const ashlar_test::bytes large(max_raw_bytes + 1);
  EXPECT_EQ(message(image_builder().chunk({}, large)), "a chunk is too large");
}

TEST(index, errors_say_where) {
  image_builder b;
  b.events(1, 0, {got(5, 16)});
  const std::size_t second = b.image().size();
  b.events(1, 1, {got(4, 32)});
  byte_source source(b.image());
  EXPECT_EQ(chunk_index(source).error()->offset, second);
}

TEST(index, unknown_kinds_that_may_be_skipped_are) {
  const ashlar_test::bytes payload(100, std::byte{0xff});
  image_builder b;
  b.chunk({.kind = chunk_kind{0xff}, .sequence = 77}, payload).events(1, 0, {got(1, 16)});
  EXPECT_EQ(message(b), "");
}

TEST(index, the_clock_is_calibrated_by_the_last_chunk) {
  image_builder b({.clock = clock_kind::ticks, .process = 1, .page_bytes = 4096, .start_ns = 1000});
  b.chunk({.kind = chunk_kind::end, .sync_ticks = 10, .sync_ns = 9999}, {});
  b.chunk({.kind = chunk_kind::end, .sequence = 1, .sync_ticks = 3000, .sync_ns = 2000}, {});
  byte_source source(b.image());
  EXPECT_DOUBLE_EQ(chunk_index(source).ns_per_tick(), 1.0 / 3);
}

/// Eight gigabytes, a hole in the file except for both ends.
TEST(index, offsets_beyond_four_gigabytes_are_found) {
  const std::string path = testing::TempDir() + "ashlar_sparse.trace";
  image_builder b;
  const std::size_t front = b.image().size();
  b.events(1, 0, {got(1, 16)}).end();
  std::array<std::byte, chunk_header_bytes> hole{};
  put_header(hole.data(), chunk_header{.kind = chunk_kind{0xff}, .stored_bytes = 0xffff'ffff});
  {
    std::ofstream file(path, std::ios::binary);
    const auto put = [&](std::span<const std::byte> from) {
      file.write(reinterpret_cast<const char*>(from.data()), static_cast<std::streamsize>(from.size()));
    };
    put(std::span(b.image()).first(front));
    for (int i = 0; i < 2; ++i) {
      put(hole);
      file.seekp(std::streamoff{0xffff'ffff}, std::ios::cur);
    }
    put(std::span(b.image()).subspan(front));
    if (!file) GTEST_SKIP() << "no sparse files here";
  }
  reader<> r(path);
  EXPECT_EQ(r.next()->size, 8U);
  EXPECT_FALSE(r.next());
  EXPECT_FALSE(r.error());
  EXPECT_GT(r.info().file_bytes, std::uint64_t{8} << 30);
  std::remove(path.c_str());
}

}  // namespace
