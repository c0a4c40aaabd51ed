// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Every resource with the first, second, third… request to its memory refused: it loses nothing, and works afterwards.
#include <cstddef>
#include <memory>

#include <gtest/gtest.h>

#include "tests/compositions/composition.hpp"
#include "tests/support/build.hpp"
#include "tests/support/fail_each_allocation.hpp"
#include "tests/support/live_blocks.hpp"
#include "tests/torture/every_resource.hpp"

namespace {

using namespace ashlar_test;

struct request {
  std::size_t bytes;
  std::size_t alignment;
};

// Cells, a full slab, sizes above cells, spans, and sizes with a segment or a chunk of their own.
constexpr request requests[] = {{48, 8},      {1, 1},       {0, 1},  {200, 64},      {3000, 8},   {48, 16},
                                {5000, 4096}, {40'000, 16}, {24, 8}, {100'000, 256}, {32'768, 8}, {1024, 1024}};
constexpr int cells = 90;  // more than a slab of 4 KiB holds

bool take_all(composition& r, live_blocks<composition>& blocks, bool by_null) {
  const auto take = [&](const request& each) {
    if (by_null) return blocks.try_allocate(each.bytes, each.alignment);
    blocks.allocate(each.bytes, each.alignment);
    return true;
  };
  for (const request& each : requests)
    if (!take(each)) return false;
  for (int i = 0; i < cells; ++i)
    if (!take(requests[0])) return false;
  EXPECT_TRUE(blocks.all_intact() && r.invariant());
  return true;
}

// Half of the blocks are freed before the rest is allocated again, if the resource takes them in any order.
bool use(composition& r, bool any_order, bool by_null) {
  live_blocks<composition> blocks(r);
  if (!take_all(r, blocks, by_null)) return false;
  for (std::size_t i = 0; any_order && i < blocks.size(); ++i) blocks.free(i);
  return take_all(r, blocks, by_null);
}

class every_resource_on_failing_memory : public ::testing::TestWithParam<tortured> {};

TEST_P(every_resource_on_failing_memory, that_returns_null) {
  if (!has_exceptions) GTEST_SKIP() << "some of it says no by throwing alone";
  fail_each_allocation(GetParam().make, [](std::unique_ptr<composition>& r) {
    const bool passed = use(*r, GetParam().any_order, true);
    EXPECT_TRUE(r->invariant());
    return passed;
  });
}

TEST_P(every_resource_on_failing_memory, that_throws) {
  if (!has_exceptions) GTEST_SKIP() << "without exceptions";
  fail_each_allocation(GetParam().make, [](std::unique_ptr<composition>& r) {
    static_cast<void>(use(*r, GetParam().any_order, false));
  });
}

INSTANTIATE_TEST_SUITE_P(torture, every_resource_on_failing_memory, ::testing::ValuesIn(every_resource()),
                         name_of_tortured);

}  // namespace
