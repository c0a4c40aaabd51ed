// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of destructors that free their own memory, at every level, of frees after a reset, and of written chunk
// headers.
#include <cstddef>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include <ashlar/detail/stack/chunk.hpp>
#include <ashlar/detail/stack/chunk_store.hpp>
#include <ashlar/resource/arena.hpp>
#include <ashlar/resource/frame_arena.hpp>

#include "tests/death/last_words.hpp"
#include "tests/support/build.hpp"

namespace {

using ashlar::arena;

enum class by { reset, release, rewind };

struct ends_its_arena {
  arena<>& from;
  arena<>::marker to;
  by how;

  ends_its_arena(arena<>& a, const arena<>::marker& m, by h) : from(a), to(m), how(h) {}
  ~ends_its_arena() {
    if (how == by::reset) from.reset();
    else if (how == by::release) from.release();
    else from.rewind(to);
  }
};

TEST(arena_faults, a_destructor_that_ends_its_own_arena) {
  arena<> a;
  const auto start = a.mark();
  const auto end_by = [&](by how, bool whole) {
    static_cast<void>(a.make<ends_its_arena>(a, start, how));
    whole ? a.release() : a.reset();
  };
  const std::string ended = "ashlar: precondition: a destructor reset or released the arena that destroys its object";
  for (const bool whole : {false, true}) {
    ASHLAR_EXPECT_LAST_WORDS(end_by(by::reset, whole), ended);
    ASHLAR_EXPECT_LAST_WORDS(end_by(by::release, whole), ended);
    ASHLAR_EXPECT_LAST_WORDS(end_by(by::rewind, whole),
                             "ashlar: precondition: a destructor rewound the arena to a marker older than its object");
  }
}

TEST(arena_faults, blocks_of_a_former_frame_or_reset) {
  if (!ashlar_test::is_checked) GTEST_SKIP() << "looked for from level checked on";
  const std::string invalid =
      "ashlar: invalid_free: freed a pointer that is not of this arena, pointer 0x*, resource 0x*";
  arena<> a;
  void* const p = a.allocate(16, 8);
  ASHLAR_EXPECT_LAST_WORDS((a.reset(), a.deallocate(p, 16, 8)), invalid);
  ashlar::frame_arena<> frames;
  void* const old = frames.allocate(16, 8);
  frames.next_frame();
  frames.deallocate(old, 16, 8);
  frames.next_frame();
  ASHLAR_EXPECT_LAST_WORDS(frames.deallocate(old, 16, 8), invalid);
}

/// Adjoining chunks: each begins at the end of the one before it, header included.
struct side_by_side {
  std::byte* memory;
  std::size_t* used;

  [[nodiscard]] void* allocate(std::size_t bytes, std::size_t /*alignment*/) {
    return memory + std::exchange(*used, *used + bytes);
  }
  void deallocate(void* /*p*/, std::size_t /*bytes*/, std::size_t /*alignment*/) noexcept {}
  [[nodiscard]] bool operator==(const side_by_side& other) const noexcept { return memory == other.memory; }
};

class chunk_headers : public ::testing::Test {
protected:
  void SetUp() override {
    if (!ashlar_test::is_checked) GTEST_SKIP() << "sealed from level checked on";
    if (ashlar_test::has_asan) GTEST_SKIP() << "sees the write itself";
  }

  using small_arena = arena<side_by_side>;
  static constexpr ashlar::arena_options of_1024 = {.initial_bytes = 1024, .max_growth_bytes = 1024};

  // Returns: the first block of the second chunk.
  [[nodiscard]] static std::byte* fill(auto& blocks) {
    void* volatile last = nullptr;
    for (int i = 0; i < 2; ++i) last = blocks.allocate(800, 8);
    return static_cast<std::byte*>(last);
  }

  alignas(64) std::byte memory_[8192];
  std::size_t used_ = 0;
};

TEST_F(chunk_headers, hit_from_behind_are_not_believed) {
  small_arena a(of_1024, side_by_side{memory_, &used_});
  std::byte* const first = fill(a);
  const std::string seen = "ashlar: underflow: bytes before the first block of a chunk were written to, over the "
                           "chunk's header, pointer 0x*, resource 0x*";
  const auto marker = a.mark();
  for (const int before : {1, 8}) {
    first[-before] ^= std::byte{0x41};
    ASHLAR_EXPECT_LAST_WORDS(a.release(), seen);
    ASHLAR_EXPECT_LAST_WORDS(a.reset(), seen);
    ASHLAR_EXPECT_LAST_WORDS(static_cast<void>(a.owns(&used_)), seen);
    first[-before] ^= std::byte{0x41};
  }
  a.rewind(marker);
  a.reset();
}

TEST_F(chunk_headers, hit_by_the_block_in_front_are_not_believed) {
  small_arena a(of_1024, side_by_side{memory_, &used_});
  std::byte* const first = fill(a);
  std::byte* const last = static_cast<std::byte*>(a.allocate(1, 1));
  std::byte* const end = memory_ + used_ - sizeof(ashlar::detail::chunk);
  ASSERT_TRUE(first < last && last < end);
  *end ^= std::byte{0x41};
  ASHLAR_EXPECT_LAST_WORDS(a.release(),
                           "ashlar: overflow: bytes past the end of the last block of a chunk were written to, over "
                           "the chunk's header, pointer 0x*, resource 0x*");
  *end ^= std::byte{0x41};
}

TEST_F(chunk_headers, of_spare_chunks_are_not_believed) {
  small_arena a(of_1024, side_by_side{memory_, &used_});
  const auto empty = a.mark();
  std::byte* const first = fill(a);
  a.rewind(empty);
  first[-1] ^= std::byte{0x41};
  const std::string seen = "ashlar: underflow: bytes before the first block of a chunk were written to, over the "
                           "chunk's header, pointer 0x*, resource 0x*";
  ASHLAR_EXPECT_LAST_WORDS(static_cast<void>(a.allocate(800, 8)), seen);
  ASHLAR_EXPECT_LAST_WORDS(a.release(), seen);
  first[-1] ^= std::byte{0x41};
}

TEST_F(chunk_headers, of_other_arenas_are_sealed_alike) {
  ashlar::frame_arena<side_by_side> frames(of_1024, side_by_side{memory_, &used_});
  std::byte* const first = fill(frames);
  first[-8] ^= std::byte{0x41};
  ASHLAR_EXPECT_LAST_WORDS(frames.release(), "ashlar: underflow: bytes before the first block of a chunk were written "
                                             "to, over the chunk's header, pointer 0x*, resource 0x*");
  first[-8] ^= std::byte{0x41};
}

}  // namespace
