// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of the adaptor with canaries: the refinements of its upstream, and every write beside a block of every size.
#include <ashlar/adaptor/guarding.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <memory_resource>
#include <optional>

#include <gtest/gtest.h>

#include <ashlar/adaptor/statistics.hpp>
#include <ashlar/base/resource.hpp>
#include <ashlar/detail/support/bits.hpp>
#include <ashlar/resource/arena.hpp>
#include <ashlar/resource/block_pool.hpp>
#include <ashlar/resource/buffer_resource.hpp>
#include <ashlar/resource/inline_buffer.hpp>
#include <ashlar/resource/new_delete_resource.hpp>
#include <ashlar/resource/null_resource.hpp>
#include <ashlar/resource/page_resource.hpp>

#include "tests/death/caught.hpp"
#include "tests/support/build.hpp"
#include "tests/support/conformance.hpp"
#include "tests/support/counting_resource.hpp"
#include "tests/support/death.hpp"
#include "tests/support/forbidden.hpp"

namespace {

using ashlar::fault;
using ashlar::guarding;
using ashlar::resource_ref;
using ashlar::violation;
using ashlar_test::caught_in;
using ashlar_test::counting_resource;
using guarded = guarding<ashlar::new_delete_resource>;

// Knows its sizes, and grows blocks in place up to 1000 bytes.
struct knowing : ashlar::new_delete_resource {
  using new_delete_resource::deallocate;
  void* allocate(std::size_t, std::size_t alignment) { return new_delete_resource::allocate(1000, alignment); }
  void deallocate(void* p) noexcept { new_delete_resource::deallocate(p, 1000, 1); }
  bool try_expand(void*, std::size_t, std::size_t new_bytes, std::size_t) noexcept { return new_bytes <= 1000; }
};

template <class R>
constexpr bool has_exactly_the_refinements_of =
    ashlar::try_resource<guarding<R>> == ashlar::try_resource<R> &&
    ashlar::owning_resource<guarding<R>> == ashlar::owning_resource<R> &&
    ashlar::releasable_resource<guarding<R>> == ashlar::releasable_resource<R> &&
    ashlar::expanding_resource<guarding<R>> == ashlar::expanding_resource<R> &&
    ashlar::detail::prefaulting_resource<guarding<R>> == ashlar::detail::prefaulting_resource<R> &&
    ashlar::self_describing_resource<guarding<R>> == ashlar::self_describing_resource<R> &&
    ashlar::thread_safe_resource<guarding<R>> == ashlar::thread_safe_resource<R>;

static_assert(has_exactly_the_refinements_of<ashlar::new_delete_resource>);
static_assert(has_exactly_the_refinements_of<ashlar::null_resource>);
static_assert(has_exactly_the_refinements_of<ashlar::page_resource>);
static_assert(has_exactly_the_refinements_of<resource_ref<ashlar::buffer_resource>>);
static_assert(has_exactly_the_refinements_of<resource_ref<ashlar::block_pool<>>>);
static_assert(has_exactly_the_refinements_of<resource_ref<std::pmr::memory_resource>>);
static_assert(has_exactly_the_refinements_of<ashlar_test::throwing_only<>>);
static_assert(has_exactly_the_refinements_of<knowing> && ashlar::self_describing_resource<guarding<knowing>>);
static_assert(has_exactly_the_refinements_of<guarded>);
static_assert(sizeof(guarded) == 1, "what it knows of a block lies beside the block");

struct guarded_operator_new : ashlar_test::conformance_defaults {
  static constexpr bool exhaustible = false;
  guarded resource;
};

struct guarded_upstream : ashlar_test::conformance_defaults {
  static constexpr bool reuses = false;
  counting_resource<> upstream;
  guarding<resource_ref<counting_resource<>>> resource{upstream};
};

struct guarded_buffer : ashlar_test::conformance_defaults {
  static constexpr std::size_t max_alignment = 64;
  static constexpr bool bounded = true;
  static constexpr bool any_order = false;
  ashlar::inline_buffer<64 * 1024> buffer;
  guarding<resource_ref<ashlar::buffer_resource>> resource{resource_ref<ashlar::buffer_resource>(buffer)};
};

struct guarded_cells : ashlar_test::conformance_defaults {
  static constexpr std::size_t max_alignment = 16;
  static constexpr std::size_t largest = 64;
  counting_resource<> upstream;
  guarding<ashlar::block_pool<resource_ref<counting_resource<>>>> resource{
      ashlar::block_pool_options{
          .cell_bytes = guarded::guarded_bytes(64, 16), .cell_alignment = 16, .slab_bytes = 8192},
      resource_ref<counting_resource<>>(upstream)};
};

struct guarded_and_growing : ashlar_test::conformance_defaults {
  static constexpr bool exhaustible = false;
  static constexpr std::size_t max_alignment = 16;
  static constexpr std::size_t largest = 500;
  struct growing : knowing {
    void* try_allocate(std::size_t bytes, std::size_t alignment) noexcept {
      return bytes <= 1000 ? new_delete_resource::try_allocate(1000, alignment) : nullptr;
    }
    void* allocate(std::size_t bytes, std::size_t alignment) {
      return ashlar::detail::allocate_or_throw(*this, bytes, alignment);
    }
  };
  guarding<growing> resource;
};

std::byte* block_of(auto& r, std::size_t bytes, std::size_t alignment = 1) {
  return static_cast<std::byte*>(r.allocate(bytes, alignment));
}

// Not compiled for a sanitizer: only the canaries can detect it.
ASHLAR_TEST_UNSEEN void flip(std::byte* from, std::size_t bytes) {
  for (std::size_t i = 0; i < bytes; ++i) from[i] = ~from[i];
}

ASHLAR_TEST_UNSEEN std::byte exchange(std::byte* at, std::byte to) {
  const std::byte was = *at;
  *at = to;
  return was;
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

TEST(guarding, sees_writes_behind_a_block_of_every_size) {
  guarded r;
  for (std::size_t bytes = 0; bytes <= 4096; ++bytes)
    for (const std::size_t by : {1u, 8u, 32u}) {
      std::byte* const p = block_of(r, bytes);
      flip(p + bytes, by);
      expect(caught_at_free(r, p, bytes), fault::overflow, bytes, bytes + by);
      flip(p + bytes, by);
      r.deallocate(p, bytes, 1);
    }
}

TEST(guarding, sees_writes_before_a_block_of_every_size) {
  guarded r;
  for (std::size_t bytes = 0; bytes <= 4096; ++bytes)
    for (const std::size_t by : {1u, 8u, 32u}) {
      std::byte* const p = block_of(r, bytes);
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
    EXPECT_TRUE(ashlar::detail::is_aligned(p, alignment));
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

TEST(guarding, sees_a_terminator_one_too_far) {
  guarded r;
  for (std::size_t bytes = 0; bytes < 300; ++bytes) {
    std::byte* const p = block_of(r, bytes);
    const std::byte was = exchange(p + bytes, std::byte{0});
    expect(caught_at_free(r, p, bytes), fault::overflow, bytes, bytes + 1);
    exchange(p + bytes, was);
    r.deallocate(p, bytes, 1);
  }
}

TEST(guarding, knows_the_exact_size_and_alignment) {
  guarded r;
  for (const std::size_t bytes : {1u, 2u, 15u, 16u, 100u, 4096u}) {
    std::byte* const p = block_of(r, bytes, 16);
    for (const std::size_t wrong : {bytes - 1, bytes + 1, bytes * 2})
      expect(caught_at_free(r, p, wrong, 16), fault::size_mismatch, bytes, wrong);
    for (const std::size_t wrong : {8u, 32u, 64u})
      expect(caught_at_free(r, p, bytes, wrong), fault::size_mismatch, 16, wrong);
    r.deallocate(p, bytes, 16);
  }
}

TEST(guarding, no_block_starts_in_the_middle_of_one) {
  guarded r;
  std::byte* const p = block_of(r, 256, 16);
  std::fill_n(p, 256, std::byte{0});  // clears canaries of earlier blocks
  for (const std::size_t offset : {1u, 8u, 16u, 128u, 255u}) {
    const auto seen = caught_at_free(r, p + offset, 256, 16);
    ASSERT_TRUE(seen.has_value());
    EXPECT_EQ(seen->kind, fault::invalid_free);
  }
  r.deallocate(p, 256, 16);
}

TEST(guarding, a_block_that_grew_has_its_canary_at_the_new_end) {
  guarding<knowing> r;
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
  guarding<knowing> r;
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

TEST(guarding_death, an_access_beside_a_block_is_reported_by_the_tool) {
  if constexpr (!ashlar_test::has_asan) GTEST_SKIP() << "nothing watches accesses in this build";
  guarded r;
  volatile std::byte* const p = block_of(r, 24, 8);
  EXPECT_DEATH(p[24] = std::byte{1}, "use-after-poison");
  r.deallocate(const_cast<std::byte*>(p), 24, 8);
}

TEST(guarding, wraps_and_is_wrapped) {
  ashlar::statistics<guarding<ashlar::statistics<ashlar::new_delete_resource>>> r;
  void* const p = r.allocate(100, 64);
  EXPECT_EQ(r.counters().live_bytes, 100u);
  EXPECT_EQ(r.upstream_resource().upstream_resource().counters().live_bytes, guarded::guarded_bytes(100, 64));
  r.deallocate(p, 100, 64);
  const auto& outer = r;
  EXPECT_EQ(outer.upstream_resource().upstream_resource().counters().live_bytes, 0u);
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

TEST(guarding, correct_use_raises_no_report) {
  guarded r;
  ashlar_test::live_blocks held(r);
  for (std::size_t i = 0; i < 2000; ++i) {
    ASSERT_TRUE(held.try_allocate(i % 700, std::size_t{1} << (i % 8)));
    if (i % 3 == 0) held.free(held.size() / 2);
  }
  EXPECT_TRUE(held.all_intact());
}

TEST(guarding_death, each_fault_has_its_sentence) {
  guarded r;
  std::byte* const p = block_of(r, 24, 8);
  ASHLAR_EXPECT_DEATH((flip(p + 24, 8), r.deallocate(p, 24, 8)),
                      "ashlar: overflow: bytes past the end of a block were written to, pointer 0x*, resource 0x*, "
                      "expected 24, got 32");
  ASHLAR_EXPECT_DEATH((flip(p - 8, 8), r.deallocate(p, 24, 8)),
                      "ashlar: underflow: bytes before a block were written to, pointer 0x*, resource 0x*, size 24, "
                      "expected 0, got 8");
  ASHLAR_EXPECT_DEATH(r.deallocate(p, 25, 8),
                      "ashlar: size_mismatch: freed a block with another size than it was allocated with, "
                      "pointer 0x*, resource 0x*, expected 24, got 25");
  ASHLAR_EXPECT_DEATH(r.deallocate(p, 24, 64),
                      "ashlar: size_mismatch: freed a block with another alignment than it was allocated with, "
                      "pointer 0x*, resource 0x*, size 24, expected 8, got 64");
  alignas(64) std::array<std::byte, 256> on_the_stack{};
  ASHLAR_EXPECT_DEATH(r.deallocate(on_the_stack.data() + 128, 24, 8),
                      "ashlar: invalid_free: freed a pointer that is not the start of a block, or the block's label "
                      "was overwritten, pointer 0x*, resource 0x*");
  ASHLAR_EXPECT_DEATH(r.deallocate(nullptr, 24, 8), "ashlar: invalid_free: freed a null pointer, resource 0x*");
  r.deallocate(p, 24, 8);
}

TEST(guarding_death, a_second_free_is_seen_where_the_resource_keeps_the_memory) {
  ashlar::guarding<ashlar::arena<>> r;
  std::byte* const p = block_of(r, 24, 8);
  r.deallocate(p, 24, 8);
  ASHLAR_EXPECT_DEATH(r.deallocate(p, 24, 8),
                      "ashlar: double_free: freed a block that is free, pointer 0x*, resource 0x*");
}

}  // namespace

namespace ashlar_test {
using guarded_resources =
    ::testing::Types<guarded_operator_new, guarded_upstream, guarded_buffer, guarded_cells, guarded_and_growing>;
const bool tested = conforms("guarding", guarded_resources{});
}  // namespace ashlar_test
