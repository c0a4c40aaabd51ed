// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of the arena with blocks valid for this frame and the next.
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <ashlar/base/resource.hpp>
#include <ashlar/face/allocator.hpp>
#include <ashlar/resource/frame_arena.hpp>

#include "tests/support/conformance.hpp"
#include "tests/support/counting_resource.hpp"
#include "tests/support/pattern.hpp"

namespace {

using ashlar_test::counting_resource;
using counted = ashlar::frame_arena<ashlar::resource_ref<counting_resource<>>>;

struct frames_of_pages : ashlar_test::conformance_defaults {
  static constexpr bool reuses = false;
  static constexpr std::size_t churn_steps = 200;
  counting_resource<> upstream;
  counted resource{{.initial_bytes = 1000}, upstream};
};

TEST(frame_arena, keeps_what_was_made_until_the_end_of_the_next_frame) {
  counting_resource<> upstream;
  counted frames({.initial_bytes = 500}, upstream);
  std::size_t before = 0;
  std::vector<std::byte*> last;
  for (int frame = 0; frame < 10; ++frame) {
    std::vector<std::byte*> now;
    for (std::size_t i = 0; i < 40; ++i) {
      now.push_back(static_cast<std::byte*>(frames.allocate(100, 8)));
      ashlar_test::write_pattern(now.back(), 100, static_cast<std::uint32_t>(frame));
    }
    for (std::byte* const p : last)
      EXPECT_TRUE(frames.owns(p) && ashlar_test::has_pattern(p, 100, static_cast<std::uint32_t>(frame - 1)));
    EXPECT_TRUE(frames.invariant());
    last = std::move(now);
    frames.next_frame();
    if (frame == 3) before = upstream.allocations();
  }
  EXPECT_EQ(upstream.allocations(), before);  // warm after two frames of each arena
}

struct counted_end {
  int& ends;
  explicit counted_end(int& n) : ends(n) {}
  ~counted_end() { ++ends; }
};

TEST(frame_arena, ends_objects_a_frame_later) {
  counting_resource<> upstream;
  int ends = 0;
  counted frames{ashlar::resource_ref(upstream)};
  static_cast<void>(frames.make<counted_end>(ends));
  frames.next_frame();
  EXPECT_EQ(ends, 0);
  static_cast<void>(frames.make<counted_end>(ends));
  frames.next_frame();
  EXPECT_EQ(ends, 1);
  frames.next_frame();
  EXPECT_EQ(ends, 2);
}

struct leaves_another {
  counted& frames;
  int& ends;
  leaves_another(counted& f, int& n) : frames(f), ends(n) {}
  leaves_another(const leaves_another&) = delete;
  leaves_another& operator=(const leaves_another&) = delete;
  ~leaves_another() { static_cast<void>(frames.make<counted_end>(ends)); }
};

TEST(frame_arena, gives_back_what_destructors_took_meanwhile) {
  for (const int frames_before : {0, 1, 2}) {
    counting_resource<> upstream;
    int ends = 0;
    {
      counted frames{ashlar::resource_ref(upstream)};
      for (int i = 0; i < frames_before; ++i) frames.next_frame();
      for (int round = 1; round <= 2; ++round) {
        static_cast<void>(frames.make<leaves_another>(frames, ends));
        frames.next_frame();
        static_cast<void>(frames.make<leaves_another>(frames, ends));
        if (round == 2) break;  // the arena's destructor does the same
        frames.release();
        EXPECT_EQ(ends, 2);
        EXPECT_EQ(frames.current().held_bytes() + frames.previous().held_bytes(), 0u);
        EXPECT_TRUE(frames.invariant());
      }
    }
    EXPECT_EQ(ends, 4);
    EXPECT_EQ(upstream.allocations(), upstream.deallocations());
  }
}

TEST(frame_arena, expands_the_last_block_of_either_frame) {
  ashlar::frame_arena<> frames;
  void* const p = frames.allocate(16, 8);
  frames.next_frame();
  EXPECT_TRUE(frames.try_expand(p, 16, 32, 8));
  void* const q = frames.allocate(16, 8);
  EXPECT_TRUE(frames.try_expand(q, 16, 64, 8));
  frames.deallocate(p, 32, 8);
  frames.release();
  EXPECT_FALSE(frames.owns(p) || frames.owns(q));
}

const bool tested = ashlar_test::conforms<frames_of_pages>("frame_arena");

}  // namespace
