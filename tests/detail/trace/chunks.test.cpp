// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of chunks: packed, loaded, tables in them, and their index.
#include <algorithm>
#include <array>
#include <fstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <ashlar/detail/trace/index.hpp>
#include <ashlar/detail/trace/table_chunks.hpp>
#include <ashlar/trace/reader.hpp>
#include <ashlar/trace/writer.hpp>

#include "tests/trace/model.hpp"

namespace {

using namespace ashlar::trace;
using namespace ashlar::detail::trace_io;

/// Inverts every bit: a codec whose use shows.
struct inverter {
  static constexpr codec_id id = static_cast<codec_id>(200);
  static std::size_t bound(std::size_t n) noexcept { return n; }
  std::size_t pack(std::span<const std::byte> from, std::span<std::byte> to) noexcept {
    std::transform(from.begin(), from.end(), to.begin(), [](std::byte b) { return ~b; });
    return from.size();
  }
  bool unpack(std::span<const std::byte> from, std::span<std::byte> to) noexcept {
    return from.size() == to.size() && pack(from, to) != 0;
  }
};

struct loaded {
  std::vector<std::byte> chunk;
  chunk_entry entry;
};

loaded packed_by_inverter() {
  const std::vector<std::byte> payload(10, std::byte{0x0f});
  loaded l{.chunk = std::vector<std::byte>(chunk_bound<inverter>(10)), .entry = {}};
  inverter codec;
  pack_chunk(codec, {}, payload, l.chunk.data());
  EXPECT_TRUE(get_header(l.chunk.data(), l.entry.header));
  return l;
}

TEST(chunk_loader, asks_the_codec_that_packed) {
  const loaded l = packed_by_inverter();
  byte_source source(l.chunk);
  chunk_loader<inverter> loader;
  ASSERT_EQ(loader.load(source, l.entry), nullptr);
  EXPECT_EQ(loader.payload()[9], std::byte{0x0f});
}

TEST(chunk_loader, says_what_is_wrong) {
  loaded l = packed_by_inverter();
  byte_source source(l.chunk);
  EXPECT_STREQ(chunk_loader<>().load(source, l.entry), "a chunk is compressed by a method unknown to this program");
  chunk_entry wrong = l.entry;
  wrong.header.raw_bytes = 11;
  EXPECT_STREQ(chunk_loader<inverter>().load(source, wrong), "a chunk cannot be decompressed");
  l.chunk.back() ^= std::byte{1};
  EXPECT_STREQ(chunk_loader<inverter>().load(source, l.entry), "a chunk's payload is damaged");
  byte_source cut(std::span(l.chunk).first(l.chunk.size() - 1));
  EXPECT_STREQ(chunk_loader<inverter>().load(cut, l.entry), "cannot be read");
}

/// Pretends to pack any payload to a given number of zero bytes.
struct pretender {
  static constexpr codec_id id = codec_id::zstd;
  std::size_t result = 0;
  static std::size_t bound(std::size_t n) noexcept { return n + 10; }
  std::size_t pack(std::span<const std::byte>, std::span<std::byte>) noexcept { return result; }
};

chunk_header header_after_packing_to(std::size_t result) {
  const std::vector<std::byte> payload(100, std::byte{1});
  std::vector<std::byte> out(chunk_bound<pretender>(payload.size()));
  pretender p{result};
  const auto chunk = pack_chunk(p, {.count = 3}, payload, out.data());
  chunk_header h;
  EXPECT_TRUE(get_header(chunk.data(), h));
  EXPECT_EQ(chunk.size(), chunk_header_bytes + h.stored_bytes);
  EXPECT_EQ(h.payload_sum, checksum(chunk.subspan(chunk_header_bytes)));
  EXPECT_EQ(h.raw_bytes, 100U);
  EXPECT_EQ(h.count, 3U);
  return h;
}

TEST(pack_chunk, what_fails_or_grows_is_stored_raw_and_the_rest_packed) {
  for (const std::size_t result : {40U, 0U, 101U, 110U}) {
    const chunk_header h = header_after_packing_to(result);
    EXPECT_EQ(h.codec, result == 40 ? codec_id::zstd : codec_id::raw) << result;
    EXPECT_EQ(h.stored_bytes, result == 40 ? 40U : 100U) << result;
  }
}

std::vector<std::byte> stacks_payload(std::uint64_t first_id) {
  std::vector<std::byte> payload(200);
  const std::array<std::uint64_t, 3> frames{0x5555'0000, 0x7fff'0000'0000, 0};
  std::byte* to = put_stack(put_varint(payload.data(), first_id), frames);
  to = put_stack(to, std::span(frames).first(1));
  payload.resize(static_cast<std::size_t>(to - payload.data()));
  return payload;
}

TEST(table_chunks, gaps_in_stack_ids_are_refused) {
  stack_table t;
  EXPECT_FALSE(get_stacks(stacks_payload(2), 2, t));
}

TEST(table_chunks, cut_or_overfull_stacks_are_refused) {
  const auto payload = stacks_payload(1);
  for (std::size_t n = 0; n < payload.size(); ++n) {
    stack_table t;
    EXPECT_FALSE(get_stacks(std::span(payload).first(n), 2, t)) << n;
  }
  stack_table t;
  EXPECT_FALSE(get_stacks(payload, 1, t));
}

TEST(table_chunks, a_stack_of_a_billion_frames_is_refused_before_any_memory_is_asked_for) {
  std::vector<std::byte> payload(20);
  put_varint(put_varint(payload.data(), 1), 1'000'000'000);
  stack_table t;
  EXPECT_FALSE(get_stacks(payload, 1, t));
}

using ashlar_test::got;
using ashlar_test::image_builder;

std::string message(const image_builder& b) {
  byte_source source(b.image());
  const chunk_index index(source);
  return index.error() ? index.error()->message : "";
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
