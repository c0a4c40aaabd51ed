// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of the header of a stack's chunk: its size, and the detection of a write to each of its bytes.
#include <array>
#include <cstddef>
#include <new>

#include <gtest/gtest.h>

#include <ashlar/base/error.hpp>
#include <ashlar/detail/stack/stack_chunk.hpp>

#include "tests/death/caught.hpp"
#include "tests/support/build.hpp"

namespace {

using ashlar::detail::stack_chunk;

static_assert(sizeof(stack_chunk) % ashlar::detail::stack_grain == 0);

struct made_chunk {
  alignas(stack_chunk) std::array<std::byte, 256> memory{};
  stack_chunk* chunk = ::new (memory.data()) stack_chunk;

  made_chunk() {
    chunk->begin = memory.data() + sizeof(stack_chunk);
    chunk->end = memory.data() + memory.size();
    chunk->set_seal();
  }
};

TEST(stack_chunk, is_not_sound_once_it_was_written_to) {
  if (!ashlar_test::is_checked) GTEST_SKIP() << "sealed from level checked on";
  made_chunk made;
  for (std::size_t at = 0; at < 5 * sizeof(void*); ++at) {
    made.memory[at] ^= std::byte{1};
    const auto seen = ashlar_test::caught_in([&] { made.chunk->expect_sound(&made); });
    ASSERT_TRUE(seen.has_value()) << at;
    EXPECT_EQ(seen->kind, ashlar::fault::underflow);
    EXPECT_EQ(seen->resource, &made);
    made.memory[at] ^= std::byte{1};
  }
  made.chunk->top = made.chunk->end;
  made.chunk->set_seal();
  EXPECT_TRUE(made.chunk->is_sound());
}

}  // namespace
