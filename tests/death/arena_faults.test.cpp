// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Destructors that take away the memory they stand in, at every level, and the frees that an arena can tell are wrong.
#include <cstddef>
#include <string>

#include <gtest/gtest.h>

#include <ashlar/face/pmr_monotonic.hpp>
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
  const std::string ended = "ashlar: precondition: a destructor reset or released the arena that ends it";
  for (const bool whole : {false, true}) {
    ASHLAR_EXPECT_LAST_WORDS(end_by(by::reset, whole), ended);
    ASHLAR_EXPECT_LAST_WORDS(end_by(by::release, whole), ended);
    ASHLAR_EXPECT_LAST_WORDS(end_by(by::rewind, whole),
                             "ashlar: precondition: a destructor took the arena back to before itself");
  }
}

TEST(arena_faults, pointers_from_elsewhere_and_from_before) {
  if (!ashlar_test::is_checked) GTEST_SKIP() << "looked for from level checked on";
  const std::string invalid =
      "ashlar: invalid_free: freed a pointer that is not of this arena, pointer 0x*, resource 0x*";
  arena<> a, b;
  int local = 0;
  void* const p = a.allocate(16, 8);
  ASHLAR_EXPECT_LAST_WORDS(a.deallocate(&local, 4, 4), invalid);
  ASHLAR_EXPECT_LAST_WORDS(b.deallocate(p, 16, 8), invalid);
  ASHLAR_EXPECT_LAST_WORDS((a.reset(), a.deallocate(p, 16, 8)), invalid);
  ashlar::pmr::monotonic_buffer_resource monotonic;
  void* const q = monotonic.allocate(16, 8);
  ASHLAR_EXPECT_LAST_WORDS((monotonic.release(), monotonic.deallocate(q, 16, 8)), invalid);
  ashlar::frame_arena<> frames;
  void* const old = frames.allocate(16, 8);
  frames.next_frame();
  frames.deallocate(old, 16, 8);
  frames.next_frame();
  ASHLAR_EXPECT_LAST_WORDS(frames.deallocate(old, 16, 8), invalid);
}

}  // namespace
