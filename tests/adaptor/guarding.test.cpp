// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of the adaptor with canaries: every write beside a block of every size.
#include <ashlar/adaptor/guarding.hpp>

#include <cstddef>
#include <optional>

#include <gtest/gtest.h>

#include <ashlar/base/bits.hpp>
#include <ashlar/base/resource.hpp>
#include <ashlar/resource/new_delete_resource.hpp>

#include "tests/adaptor/roomy.hpp"
#include "tests/death/caught.hpp"
#include "tests/support/build.hpp"
#include "tests/support/counting_resource.hpp"
#include "tests/support/forbidden.hpp"

namespace {

using ashlar::fault;
using ashlar::guarding;
using ashlar::resource_ref;
using ashlar::violation;
using ashlar_test::caught_in;
using ashlar_test::counting_resource;
using guarded = guarding<ashlar::new_delete_resource>;

static_assert(sizeof(guarded) == 1, "what it knows of a block lies beside the block");

std::byte* block_of(auto& r, std::size_t bytes, std::size_t alignment = 1) {
  return static_cast<std::byte*>(r.allocate(bytes, alignment));
}

// Not compiled for a sanitizer: only the canaries can detect it.
ASHLAR_TEST_UNSEEN void flip(std::byte* from, std::size_t bytes) {
  for (std::size_t i = 0; i < bytes; ++i) from[i] = ~from[i];
}

std::optional<violation> caught_at_free(guarded& r, std::byte* p, std::size_t bytes, std::size_t alignment = 1) {
  return caught_in([&] { r.deallocate(p, bytes, alignment); });
}

void expect(const std::optional<violation>& v, fault kind, std::size_t expected, std::size_t got) {
  ASSERT_TRUE(v.has_value());
  EXPECT_EQ(v->kind, kind);
  EXPECT_EQ(v->expected, expected);
  EXPECT_EQ(v->got, got);
}

TEST(guarding, sees_writes_behind_and_before_a_block_of_every_size) {
  guarded r;
  for (std::size_t bytes = 0; bytes <= 4096; ++bytes)
    for (const std::size_t by : {1u, 8u, 32u}) {
      std::byte* const p = block_of(r, bytes);
      flip(p + bytes, by);
      expect(caught_at_free(r, p, bytes), fault::overflow, bytes, bytes + by);
      flip(p + bytes, by);
      flip(p - by, by);
      expect(caught_at_free(r, p, bytes), fault::underflow, 0, by);
      flip(p - by, by);
      r.deallocate(p, bytes, 1);
    }
}

TEST(guarding, sees_one_byte_anywhere_around_a_block_at_every_alignment) {
  guarded r;
  for (std::size_t alignment = 1; alignment <= 4096; alignment *= 2) {
    std::byte* const p = block_of(r, 100, alignment);
    EXPECT_TRUE(ashlar::is_aligned(p, alignment));
    const std::size_t front = guarded::guarded_bytes(0, alignment) - guarded::canary_bytes;
    for (std::size_t before = 1; before <= front; before += before < 128 || !ashlar_test::is_slow ? 1 : 7) {
      flip(p - before, 1);
      const auto seen = caught_at_free(r, p, 100, alignment);
      ASSERT_TRUE(seen.has_value()) << before;
      EXPECT_EQ(seen->kind, fault::underflow) << before;
      flip(p - before, 1);
    }
    for (std::size_t behind = 0; behind < guarded::canary_bytes; ++behind) {
      flip(p + 100 + behind, 1);
      expect(caught_at_free(r, p, 100, alignment), fault::overflow, 100, 101 + behind);
      flip(p + 100 + behind, 1);
    }
    r.deallocate(p, 100, alignment);
  }
}

TEST(guarding, knows_the_exact_size_and_alignment) {
  guarded r;
  for (const std::size_t bytes : {1u, 2u, 15u, 16u, 100u, 4096u}) {
    std::byte* const p = block_of(r, bytes, 16);
    for (const std::size_t wrong : {bytes - 1, bytes + 1, bytes * 2})
      expect(caught_at_free(r, p, wrong, 16), fault::size_mismatch, bytes, wrong);
    for (const std::size_t wrong : {1u, 8u, 32u, 64u})
      expect(caught_at_free(r, p, bytes, wrong), fault::size_mismatch, 16, wrong);
    r.deallocate(p, bytes, 16);
  }
}

TEST(guarding, a_block_that_grew_has_its_canary_at_the_new_end) {
  guarding<ashlar_test::roomy> r;
  std::byte* const p = block_of(r, 40, 8);
  EXPECT_TRUE(r.try_expand(p, 40, 200, 8));
  flip(p, 200);
  flip(p + 200, 1);
  expect(caught_in([&] { r.deallocate(p, 200, 8); }), fault::overflow, 200, 201);
  expect(caught_in([&] { static_cast<void>(r.try_expand(p, 200, 10, 8)); }), fault::overflow, 200, 201);
  flip(p + 200, 1);
  EXPECT_FALSE(r.try_expand(p, 200, 1000, 8));
  EXPECT_TRUE(r.try_expand(p, 200, 10, 8));
  flip(p + 10, 3);
  expect(caught_in([&] { r.deallocate(p); }), fault::overflow, 10, 13);
  flip(p + 10, 3);
  r.deallocate(p);
}

TEST(guarding, an_access_beside_a_block_is_forbidden_as_it_happens) {
  if constexpr (!ashlar_test::has_asan) GTEST_SKIP() << "nothing watches accesses in this build";
  using ashlar_test::forbidden_bytes;
  guarding<ashlar_test::roomy> r;
  for (std::size_t bytes = 0; bytes <= 100; ++bytes) {
    std::byte* const p = block_of(r, bytes, 8);
    const auto is_fenced = [&] {
      return forbidden_bytes(p - 56, 56) == 56 && forbidden_bytes(p, bytes) == 0 &&
             forbidden_bytes(p + bytes, 24) == 24;
    };
    EXPECT_TRUE(is_fenced()) << bytes;
    EXPECT_FALSE(r.try_expand(p, bytes, 2000, 8));
    EXPECT_TRUE(is_fenced()) << "after a look at the canaries";
    r.deallocate(p, bytes, 8);
  }
}

TEST(guarding, asks_its_upstream_for_the_documented_bytes) {
  counting_resource<> upstream;
  guarding<resource_ref<counting_resource<>>> r{upstream};
  for (std::size_t alignment = 1; alignment <= 4096; alignment *= 4) {
    void* const p = r.allocate(77, alignment);
    EXPECT_EQ(upstream.balance().bytes, guarded::guarded_bytes(77, alignment));
    r.deallocate(p, 77, alignment);
  }
}

}  // namespace
