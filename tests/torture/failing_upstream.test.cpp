// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Every resource with the first, second, third… request to its memory refused: it loses nothing, and works afterwards;
// and with a wrong size: its report has the numbers of the free, and of the allocation where they are kept.
#include <cstddef>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include <gtest/gtest-spi.h>
#include <gtest/gtest.h>

#include <ashlar/base/error.hpp>

#include "tests/compositions/composition.hpp"
#include "tests/death/caught.hpp"
#include "tests/support/build.hpp"
#include "tests/support/counting_resource.hpp"
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

struct extent {
  std::size_t bytes, alignment;
};

class reported_sizes : public ::testing::TestWithParam<tortured> {
protected:
  // The free as `freed` of a block that was allocated as `made`. The report jumps out of the resource, so that no other
  // block is freed, and the resource stays, where a detector of leaks finds it.
  std::optional<ashlar::violation> seen_in(const extent& made, const extent& freed) {
    auto below = std::make_unique<counting_resource<>>();
    std::unique_ptr<composition> r = GetParam().make(*below);
    void* const p = r->try_allocate(made.bytes, made.alignment);
    if (p == nullptr) return {};
    // The upstream counts, and complains of a wrong size that is passed on to it.
    ::testing::TestPartResultArray passed_on;
    const ::testing::ScopedFakeTestPartResultReporter ignored(&passed_on);
    const auto seen = caught_in([&] { r->deallocate(p, freed.bytes, freed.alignment); });
    if (seen.has_value()) r->deallocate(p, made.bytes, made.alignment);
    static auto& kept = *new std::vector<std::pair<composition*, counting_resource<>*>>;
    kept.emplace_back(r.release(), below.release());
    return seen;
  }
};

constexpr extent mistaken[][2] = {
    {{100, 8}, {50, 8}},   {{100, 8}, {300, 8}},    {{40, 8}, {20, 8}},          {{40, 8}, {400, 8}},
    {{33, 8}, {5000, 8}},  {{3000, 8}, {1000, 8}},  {{20'001, 8}, {5001, 8}},    {{90'001, 8}, {300'001, 8}},
    {{24, 8}, {24, 1024}}, {{100, 8}, {100, 4096}}, {{100, 8}, {50, 4096}},      {{100, 1}, {700, 512}},
    {{48, 16}, {49, 16}},  {{1000, 8}, {2000, 8}},  {{150'000, 8}, {70'000, 8}}, {{1, 1}, {2, 1}},
};

TEST_P(reported_sizes, are_of_the_caller) {
  if (!is_checked) GTEST_SKIP() << "looked for from level checked on";
  for (const auto& [made, freed] : mistaken) {
    const auto seen = seen_in(made, freed);
    if (!seen || seen->kind != ashlar::fault::size_mismatch) continue;
    const bool of_alignment = seen->got == freed.alignment && freed.alignment != made.alignment;
    EXPECT_TRUE(of_alignment || seen->got == freed.bytes || (seen->got == 0 && seen->size == freed.bytes))
        << seen->what << ": " << freed.bytes << " at " << freed.alignment << " is shown as " << seen->got;
    const bool is_kept = seen->expected == made.bytes || (of_alignment && seen->expected == made.alignment);
    EXPECT_TRUE(seen->expected == 0 || is_kept || (of_alignment && seen->block_bytes != 0))
        << seen->what << ": " << made.bytes << " at " << made.alignment << " is shown as " << seen->expected;
    EXPECT_TRUE(seen->size == 0 || seen->size == made.bytes || seen->size == freed.bytes) << seen->what << seen->size;
  }
}

INSTANTIATE_TEST_SUITE_P(of, reported_sizes, ::testing::ValuesIn(every_resource()), name_of_tortured);
INSTANTIATE_TEST_SUITE_P(adaptor, reported_sizes, ::testing::ValuesIn(every_adaptor()), name_of_tortured);

}  // namespace
