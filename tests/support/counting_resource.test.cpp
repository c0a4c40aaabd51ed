// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests that the counting upstream counts, fails on demand, and detects leaks and wrong frees.
#include "tests/support/counting_resource.hpp"

#include <memory_resource>
#include <new>

#include <gtest/gtest.h>

#include <ashlar/base/resource.hpp>

#include "tests/support/build.hpp"
#include "tests/support/failures_of.hpp"

namespace {

using ashlar_test::counting_resource;
using ashlar_test::failures_of;
using ashlar_test::holdings;
using ashlar_test::nothing;

/// Returns: the results of ten requests for 8 bytes as a picture: `#` served, `.` refused.
template <class R>
std::string ten_blocks(R& r) {
  std::string picture;
  void* blocks[10];
  for (void*& p : blocks) picture += (p = r.try_allocate(8, 8)) != nullptr ? '#' : '.';
  for (void* p : blocks)
    if (p != nullptr) r.deallocate(p, 8, 8);
  return picture;
}

TEST(counting_resource, counts_calls_blocks_and_bytes) {
  counting_resource<> r;
  void* const a = r.allocate(100, 64);
  void* const b = r.try_allocate(28, 1);
  EXPECT_EQ(r.balance(), (holdings{2, 128}));
  r.deallocate(a, 100, 64);
  r.deallocate(b, 28, 1);
  EXPECT_EQ(r.balance(), nothing);
  EXPECT_EQ(r.peak(), (holdings{2, 128}));
  EXPECT_EQ(r.allocations(), 2u);
  EXPECT_EQ(r.deallocations(), 2u);
  EXPECT_EQ(r.refusals(), 0u);
}

TEST(counting_resource, fails_at_one_or_from_then_on) {
  counting_resource<> r;
  r.fail_at(3);
  EXPECT_EQ(ten_blocks(r), "###.######");
  r.fail_from(3);
  EXPECT_EQ(ten_blocks(r), "###.......");
  EXPECT_EQ(r.refusals(), 8u);
  r.fail_never();
  EXPECT_EQ(ten_blocks(r), "##########");
}

TEST(counting_resource, fails_over_a_byte_budget) {
  counting_resource<> r;
  r.limit_bytes(33);
  EXPECT_EQ(ten_blocks(r), "####......");
  r.limit_bytes(0);
  EXPECT_EQ(ten_blocks(r), "..........");
}

TEST(counting_resource, refuses_absurd_requests_by_itself) {
  counting_resource<> r;
  EXPECT_EQ(r.try_allocate(ashlar::max_block_bytes - 64, 1), nullptr);
  EXPECT_EQ(r.try_allocate(ashlar::max_size, 1), nullptr);
}

#if defined(__cpp_exceptions)
TEST(counting_resource, throws_an_exception_of_its_own) {
  counting_resource<> r;
  r.fail_at(0);
  EXPECT_THROW(static_cast<void>(r.allocate(8, 8)), ashlar_test::injected_failure);
  r.fail_at(0);
  ashlar_test::throwing_only<> only_throws(r);
  EXPECT_THROW(static_cast<void>(only_throws.allocate(8, 8)), std::bad_alloc);
  r.fail_at(0);
  EXPECT_EQ(ashlar::try_allocate_from(only_throws, 8, 8), nullptr);
}
#endif

TEST(counting_resource, notices_leaks) {
  EXPECT_EQ(failures_of([] {
              counting_resource<> r;
              static_cast<void>(r.allocate(8, 8));
            }),
            "Failed\nleaked 1 blocks, 8 bytes\n");
}

TEST(counting_resource, notices_frees_of_the_wrong_size) {
  counting_resource<> r;
  void* const p = r.allocate(8, 8);
  EXPECT_FALSE(failures_of([&] { r.deallocate(p, 9, 8); }).empty());
  EXPECT_FALSE(failures_of([&] { r.deallocate(p, 8, 8); }).empty());
}

TEST(counting_resource, stands_on_any_resource_and_moves) {
  std::pmr::memory_resource& host = *std::pmr::new_delete_resource();
  counting_resource from(ashlar::resource_ref<std::pmr::memory_resource>{host});
  void* const p = from.allocate(8, 8);
  counting_resource to = std::move(from);
  to.deallocate(p, 8, 8);
}

}  // namespace
