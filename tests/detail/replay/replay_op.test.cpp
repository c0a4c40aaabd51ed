// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests that requests keep their packed fields.
#include <ashlar/detail/replay/replay_op.hpp>

#include <cstdint>

#include <gtest/gtest.h>

namespace {

using ashlar::detail::replay_kind;
using ashlar::detail::replay_request;

TEST(replay_op, a_request_keeps_kind_size_and_alignment) {
  for (const auto kind : {replay_kind::allocate, replay_kind::allocate_zeroed, replay_kind::reallocate,
                          replay_kind::deallocate, replay_kind::deallocate_sized})
    for (const std::uint64_t size :
         {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{4096}, replay_request::size_limit - 1})
      for (std::uint64_t alignment = 0; alignment < replay_request::alignment_limit;
           alignment = alignment * 2 + (alignment == 0)) {
        const replay_request r(kind, size, alignment);
        EXPECT_EQ(r.kind(), kind);
        EXPECT_EQ(r.size(), size);
        EXPECT_EQ(r.alignment(), alignment == 0 ? 1 : alignment);
      }
}

}  // namespace
