// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The information of AddressSanitizer about every resource: a program may touch its requested bytes only, neither the
// slack behind them nor freed blocks; returned memory is its owner's.
#include <array>
#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <ashlar/adaptor/guarding.hpp>
#include <ashlar/base/bits.hpp>
#include <ashlar/base/resource.hpp>
#include <ashlar/resource/arena.hpp>
#include <ashlar/resource/block_pool.hpp>
#include <ashlar/resource/buffer_resource.hpp>
#include <ashlar/resource/fixed_block_pool.hpp>
#include <ashlar/resource/pool_set.hpp>
#include <ashlar/resource/shared_block_pool.hpp>
#include <ashlar/resource/stack_resource.hpp>
#include <ashlar/resource/tlsf_resource.hpp>

#include "tests/support/build.hpp"
#include "tests/support/forbidden.hpp"

namespace {

using ashlar_test::forbidden_bytes;

constexpr std::size_t cell = 64;
constexpr std::size_t most = 256 * 1024;
alignas(64) std::array<std::byte, most> memory;  // subjects with a buffer use this

// Provides the memory above, once, and takes it back.
struct one_block {
  std::size_t given = 0;
  static constexpr bool is_thread_safe = true;
  void* allocate(std::size_t bytes, std::size_t alignment) {
    return ashlar::allocate_or_throw(*this, bytes, alignment);
  }
  void* try_allocate(std::size_t bytes, std::size_t alignment) noexcept {
    if (std::exchange(given, bytes) != 0 || bytes > memory.size() / 2) return nullptr;
    return ashlar::align_up(memory.data(), alignment);
  }
  void deallocate(void* p, std::size_t bytes, std::size_t) noexcept {
    EXPECT_EQ(forbidden_bytes(p, bytes), 0) << "memory went back that its owner may not touch";
    given = 0;
  }
  bool operator==(const one_block&) const = default;
};

struct buffer {
  ashlar::buffer_resource resource{memory};
};
struct pool {
  ashlar::block_pool<one_block> resource{{.cell_bytes = cell, .slab_bytes = 32 * 1024}};
};
struct fixed_pool {
  ashlar::fixed_block_pool<cell> resource;
};
struct shared_pool {
  ashlar::shared_block_pool<one_block> resource{{.cell_bytes = cell, .slab_bytes = 32 * 1024}};
};
struct pools {
  ashlar::pool_set<> resource;
};
struct arena {
  ashlar::arena<one_block> resource{{.initial_bytes = 32 * 1024}};
};
struct arena_in_a_buffer {
  ashlar::arena<one_block> resource{std::span<std::byte>(memory)};
};
struct stack {
  ashlar::stack_resource<one_block> resource{{.initial_bytes = 32 * 1024}};
};
struct tlsf {
  ashlar::tlsf_resource<one_block> resource;
};
struct tlsf_in_a_buffer {
  ashlar::tlsf_resource<one_block> resource{std::span<std::byte>(memory)};
};
struct guarded {
  ashlar::buffer_resource below{memory};
  ashlar::guarding<ashlar::resource_ref<ashlar::buffer_resource>> resource{below};
};

// Exact within the granule at the end of a block: the bytes behind may belong to another one.
[[nodiscard]] bool is_fenced(const void* p, std::size_t bytes) {
  const auto* const end = static_cast<const std::byte*>(p) + bytes;
  const std::size_t slack = ashlar::align_up(bytes, 8) - bytes;
  return forbidden_bytes(p, bytes) == 0 && forbidden_bytes(end, slack) == slack;
}

template <class Subject>
class poison_of : public ::testing::Test {
protected:
  void SetUp() override {
    if constexpr (!ashlar_test::has_asan) GTEST_SKIP() << "no AddressSanitizer in this build";
  }
  void TearDown() override { EXPECT_EQ(forbidden_bytes(memory.data(), memory.size()), 0) << "kept after the end"; }
};

using subjects = ::testing::Types<buffer, pool, fixed_pool, shared_pool, pools, arena, arena_in_a_buffer, stack, tlsf,
                                  tlsf_in_a_buffer, guarded>;
TYPED_TEST_SUITE(poison_of, subjects);

TYPED_TEST(poison_of, only_what_was_asked_for_may_be_touched) {
  TypeParam subject;
  auto& r = subject.resource;
  std::vector<void*> blocks;
  for (std::size_t bytes = 1; bytes <= cell; ++bytes) {
    blocks.push_back(r.allocate(bytes, 8));
    ASSERT_TRUE(is_fenced(blocks.back(), bytes)) << bytes;
  }
  for (std::size_t bytes = 1; bytes <= cell; ++bytes)
    ASSERT_TRUE(is_fenced(blocks[bytes - 1], bytes)) << bytes << " after others were allocated";
  for (std::size_t bytes = cell; bytes != 0; --bytes) {
    r.deallocate(blocks[bytes - 1], bytes, 8);
    if constexpr (!ashlar::thread_safe_resource<decltype(subject.resource)>)
      ASSERT_EQ(forbidden_bytes(blocks[bytes - 1], bytes), bytes) << "freed";
  }
}

TYPED_TEST(poison_of, a_block_behind_its_cell_is_forbidden_to_the_end) {
  TypeParam subject;
  auto* const p = static_cast<std::byte*>(subject.resource.allocate(9, 8));
  EXPECT_EQ(forbidden_bytes(p + 9, 7), 7);
  subject.resource.deallocate(p, 9, 8);
  EXPECT_EQ(forbidden_bytes(p, 16), 16);
}

TYPED_TEST(poison_of, what_is_reused_may_be_touched) {
  TypeParam subject;
  auto& r = subject.resource;
  for (const std::size_t bytes : {8u, 64u, 24u, 1u, 64u, 33u}) {
    void* const p = r.allocate(bytes, 8);
    void* const q = r.allocate(64, 8);
    ASSERT_TRUE(is_fenced(p, bytes) && is_fenced(q, 64));
    r.deallocate(q, 64, 8);
    ASSERT_TRUE(is_fenced(p, bytes));
    r.deallocate(p, bytes, 8);
    ASSERT_EQ(forbidden_bytes(p, bytes), bytes);
  }
}

TYPED_TEST(poison_of, a_block_that_grows_or_shrinks_may_be_touched_as_far) {
  TypeParam subject;
  auto& r = subject.resource;
  if constexpr (ashlar::expanding_resource<decltype(subject.resource)>) {
    void* const p = r.allocate(40, 8);
    std::size_t bytes = 40;
    for (const std::size_t wanted : {61u, 64u, 200u, 1000u, 990u, 17u, 8u, 100u}) {
      if (r.try_expand(p, bytes, wanted, 8)) bytes = wanted;
      ASSERT_TRUE(is_fenced(p, bytes)) << wanted;
    }
    r.deallocate(p, bytes, 8);
    EXPECT_EQ(forbidden_bytes(p, bytes), bytes);
  }
}

TYPED_TEST(poison_of, what_was_reset_is_forbidden) {
  TypeParam subject;
  if constexpr (requires { subject.resource.reset(); }) {
    void* const p = subject.resource.allocate(24, 8);
    subject.resource.reset();
    EXPECT_EQ(forbidden_bytes(p, 24), 24);
  }
}

TYPED_TEST(poison_of, what_was_released_is_forbidden_or_its_owners) {
  TypeParam subject;
  if constexpr (ashlar::releasable_resource<decltype(subject.resource)>) {
    void* const p = subject.resource.allocate(24, 8);
    subject.resource.release();
    const std::size_t forbidden = forbidden_bytes(p, 24);
    EXPECT_TRUE(forbidden == 24 || forbidden == 0) << forbidden;
    EXPECT_TRUE(is_fenced(subject.resource.allocate(24, 8), 24));
    subject.resource.release();
  }
}

}  // namespace
