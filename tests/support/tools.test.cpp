// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of the tools of tests: an upstream that counts and fails, deaths by their first line, and the failure of each
// allocation in turn. They find what is wrong, and pass what is right.
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <memory_resource>
#include <new>

#include <gtest/gtest.h>

#include <ashlar/base/resource.hpp>

#include "tests/support/counting_resource.hpp"
#include "tests/support/death.hpp"
#include "tests/support/fail_each_allocation.hpp"
#include "tests/support/failures_of.hpp"
#include "tests/support/live_blocks.hpp"

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

using ashlar_test::first_line_of;

[[noreturn]] void die_saying(const char* words) {
  std::fputs(words, stderr);
  std::abort();
}

TEST(death, only_the_first_line_counts_and_addresses_do_not) {
  EXPECT_EQ(first_line_of("one\ntwo\n"), "one");
  EXPECT_EQ(first_line_of(""), "");
  EXPECT_EQ(first_line_of("pointer 0x7fff12aB, resource 0x1"), "pointer 0x*, resource 0x*");
  EXPECT_EQ(first_line_of("size 0"), "size 0");
}

TEST(death, the_whole_line_must_match) {
  ASHLAR_EXPECT_DEATH(die_saying("a 0xbeef b\nmore\n"), "a 0x* b");
  EXPECT_FALSE(failures_of([] { ASHLAR_EXPECT_DEATH(die_saying("some words\n"), "some"); }).empty());
  EXPECT_FALSE(failures_of([] { ASHLAR_EXPECT_DEATH(die_saying("some words\n"), "words"); }).empty());
}

TEST(death, a_statement_that_survives_is_a_failure) {
  EXPECT_FALSE(failures_of([] { ASHLAR_EXPECT_DEATH(static_cast<void>(std::fputs("x\n", stderr)), "x"); }).empty());
  EXPECT_FALSE(failures_of([] { ASHLAR_EXPECT_DEATH((std::fputs("x\n", stderr), std::_Exit(1)), "x"); }).empty());
}

using ashlar_test::fail_each_allocation;
using ashlar_test::live_blocks;

using shared = ashlar::resource_ref<counting_resource<>>;

const auto make_ref = [](counting_resource<>& upstream) { return shared(upstream); };

bool three_blocks(shared& r) {
  live_blocks blocks(r);
  return blocks.try_allocate(8, 8) && blocks.try_allocate(16, 16) && blocks.try_allocate(32, 32);
}

bool three_blocks_with_a_leak(shared& r) {
  void* const a = r.try_allocate(8, 8);
  void* const b = a != nullptr ? r.try_allocate(8, 8) : nullptr;
  if (b == nullptr) return false;
  r.deallocate(a, 8, 8);
  r.deallocate(b, 8, 8);
  return true;
}

/// Never works again after one failure.
struct sulking {
  shared upstream;
  bool hurt = false;
  bool work() { return !(hurt = hurt || !three_blocks(upstream)); }
};

TEST(fail_each_allocation, passes_a_scenario_that_cleans_up) {
  std::size_t runs = 0;
  fail_each_allocation(make_ref, [&](shared& r) {
    ++runs;
    return three_blocks(r);
  });
  EXPECT_EQ(runs, 2u * 2u * 4u);  // two ways to fail, each run followed by a good one, k = 0..3
}

TEST(fail_each_allocation, passes_a_scenario_that_throws) {
  fail_each_allocation(make_ref, [](shared& r) {
    live_blocks blocks(r);
    blocks.allocate(8, 8);
    blocks.allocate(16, 16);
  });
}

TEST(fail_each_allocation, finds_a_leak) {
  EXPECT_NE(failures_of([] { fail_each_allocation(make_ref, three_blocks_with_a_leak); }).find("leaked 1 blocks"),
            std::string::npos);
}

TEST(fail_each_allocation, finds_an_object_that_stays_broken) {
  const auto make = [](counting_resource<>& upstream) { return sulking{upstream}; };
  EXPECT_NE(failures_of([&] { fail_each_allocation(make, [](sulking& s) { return s.work(); }); }).find("not usable"),
            std::string::npos);
}

TEST(fail_each_allocation, finds_a_scenario_that_does_not_allocate) {
  EXPECT_FALSE(failures_of([] { fail_each_allocation(make_ref, [](shared&) { return true; }); }).empty());
}

}  // namespace
