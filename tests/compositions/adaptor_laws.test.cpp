// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The laws of adaptors: each obeys the laws of a resource over any upstream, has exactly the refinements of the
// upstream that its row promises, and equals no other of its kind if it keeps accounts. And each on each other one.
#include <cstddef>
#include <memory>
#include <new>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <ashlar/base/lock.hpp>
#include <ashlar/base/resource.hpp>
#include <ashlar/resource/block_pool.hpp>
#include <ashlar/resource/new_delete_resource.hpp>

#include "tests/compositions/adaptors.hpp"
#include "tests/compositions/composition.hpp"
#include "tests/support/able_resource.hpp"
#include "tests/support/build.hpp"
#include "tests/support/conformance.hpp"
#include "tests/support/counting_resource.hpp"
#include "tests/support/fail_each_allocation.hpp"
#include "tests/support/live_blocks.hpp"
#include "tests/support/skills.hpp"

namespace {

using namespace ashlar_test;

// Cells with room for what an adaptor puts beside a block.
struct cells : ashlar::block_pool<ashlar::resource_ref<counting_resource<>>> {
  explicit cells(counting_resource<>& below)
      : block_pool({.cell_bytes = 256, .cell_alignment = 16, .slab_bytes = 8192}, below) {}
};

template <class A>
struct subject : conformance_defaults {
  static constexpr bool reuses = false;
  static constexpr std::size_t most_live = 60;
  counting_resource<> upstream;
  A resource{upstream};
};

template <class A>
struct over_cells : subject<A> {
  static constexpr std::size_t max_alignment = 16;
  static constexpr std::size_t largest = 64;
};

#define ASHLAR_CONFORMS(label, ...)                                                                                    \
  const bool label##_tested = conforms(#label, subjects<subject<adaptor_named::label<able_resource<>>>,                \
                                                        subject<adaptor_named::label<able_resource<!has_exceptions>>>, \
                                                        over_cells<adaptor_named::label<cells>>>{});
ASHLAR_EACH_ADAPTOR(ASHLAR_CONFORMS)
#undef ASHLAR_CONFORMS

// With a lock it is for any thread, over any upstream.
template <template <class> class A, skills PassesOn>
constexpr bool passes_on_with_a_lock =
    skills_of<A<skilled<0>>> == can_share && skills_of<A<skilled<PassesOn>>> == (PassesOn | can_share);

// Of every upstream; those of frees without a size, by adaptors that find the size; the rest.
constexpr skills basic = can_try | can_own | can_release | can_expand | can_prefault;
constexpr skills sizeless = can_describe | can_at_least;

// The maker of a chain makes its resources, so its type is that of the upstream here.
template <class R>
using chain = ashlar::chain<R, ashlar::new_delete_resource>;
template <class R>
using limiting = ashlar::limiting<R>;
template <class R>
using limiting_among_threads = ashlar::limiting<R, ashlar::shared_budget>;
template <class R>
using tracking_among_threads = ashlar::tracking<R, ashlar::site::none, ashlar::new_delete_resource, ashlar::spin_lock>;

static_assert(passes_on<ashlar::fallback_monitor, every_skill>);
static_assert(passes_on<adaptor_named::logging, every_skill>);
static_assert(passes_on_with_a_lock<adaptor_named::synchronized, every_skill>);
static_assert(passes_on < adaptor_named::profiling, basic | sizeless | can_share >);
static_assert(passes_on < adaptor_named::guarding, basic | can_describe | can_share >);
static_assert(passes_on<adaptor_named::statistics, basic>, "a block must be freed with its size, to be counted");
static_assert(passes_on<limiting, basic>);
static_assert(passes_on < limiting_among_threads, basic | can_share >);
static_assert(passes_on < adaptor_named::tracing, basic | sizeless >);
static_assert(passes_on < adaptor_named::tracking, basic | sizeless >);
static_assert(passes_on < tracking_among_threads, basic | sizeless | can_share >);
static_assert(passes_on < chain, basic | can_describe, can_own >);

#define ASHLAR_DECLARE_KIND(label, ...)         \
  struct label##_kind {                         \
    static constexpr const char* name = #label; \
    template <class R>                          \
    using on = adaptor_named::label<R>;         \
  };
ASHLAR_EACH_ADAPTOR(ASHLAR_DECLARE_KIND)
#undef ASHLAR_DECLARE_KIND

struct entry {
  const char* outer;
  const char* inner;
  composition_maker over_null;      // the memory below refuses by null
  composition_maker over_throwing;  // …by exception only
};

template <class Outer, class Inner>
entry pair_of() {
  composition_maker throwing = nullptr;
#if defined(__cpp_exceptions)
  throwing = &make_composition<typename Outer::template on<typename Inner::template on<able_resource<false>>>>;
#endif
  return {Outer::name, Inner::name,
          &make_composition<typename Outer::template on<typename Inner::template on<able_resource<true>>>>, throwing};
}

template <class Outer>
void add_pairs_of(std::vector<entry>& all) {
#define ASHLAR_ADD_PAIR(label, ...) all.push_back(pair_of<Outer, label##_kind>());
  ASHLAR_EACH_ADAPTOR(ASHLAR_ADD_PAIR)
#undef ASHLAR_ADD_PAIR
}

const std::vector<entry>& every_pair() {
  static const std::vector<entry> all = [] {
    std::vector<entry> found;
#define ASHLAR_ADD_PAIRS(label, ...) add_pairs_of<label##_kind>(found);
    ASHLAR_EACH_ADAPTOR(ASHLAR_ADD_PAIRS)
#undef ASHLAR_ADD_PAIRS
    return found;
  }();
  return all;
}

struct request {
  std::size_t bytes;
  std::size_t alignment;
};

// On both sides of 64, the rounding of the memory below, and of 100, the limit of the segregator.
constexpr request requests[] = {{10, 1}, {100, 8}, {0, 1}, {64, 64}, {101, 16}, {5, 128}, {300, 8}, {99, 4}};

// After a refusal the block is unchanged; after a success it has its new size.
void resize(composition& r, live_blocks<composition>& blocks, std::size_t index, std::size_t wanted) {
  const auto old = blocks.forget(index);
  const bool yes = r.try_expand(old.data, old.bytes, wanted, old.alignment);
  blocks.hold(old.data, yes ? wanted : old.bytes, old.alignment);
}

// Returns: whether all requests were served. Frees everything in any case, in a mixed order.
template <class Allocate>
bool use(composition& r, Allocate allocate) {
  live_blocks<composition> blocks(r);
  for (const request& each : requests) {
    if (!allocate(blocks, each)) return false;
    EXPECT_TRUE(!r.traits.owns || r.owns(blocks[blocks.size() - 1].data));
    if (blocks.size() == 5) blocks.free(1), blocks.free(2);
  }
  for (const std::size_t wanted : {std::size_t{20}, std::size_t{120}, ashlar::max_size}) resize(r, blocks, 1, wanted);
  EXPECT_TRUE(blocks.all_intact() && r.invariant());
  EXPECT_EQ(r.try_allocate(ashlar::max_block_bytes, 1), nullptr);
  return true;
}

bool use_by_null(std::unique_ptr<composition>& r) {
  return use(*r, [](auto& blocks, const request& each) { return blocks.try_allocate(each.bytes, each.alignment); });
}

void use_by_throwing(std::unique_ptr<composition>& r) {
  use(*r, [](auto& blocks, const request& each) { return blocks.allocate(each.bytes, each.alignment), true; });
}

// Runs the scenario with failures at every call, twice on one object. The invariant behind a `unique_ptr` is checked
// here, after the scenario.
void survives(composition_maker make) {
  fail_each_allocation(make, [](std::unique_ptr<composition>& r) {
    const bool passed = use_by_null(r);
    EXPECT_TRUE(r->invariant());
    return passed;
  });
  if constexpr (has_exceptions) fail_each_allocation(make, [](std::unique_ptr<composition>& r) { use_by_throwing(r); });
}

// All blocks are taken back at once while they are live, and again afterwards.
void releases(composition_maker make) {
  counting_resource<> below;
  const std::unique_ptr<composition> r = make(below);
  for (int round = 0; round < 2; ++round) {
    for (const request& each : requests) ASSERT_NE(r->try_allocate(each.bytes, each.alignment), nullptr);
    ASSERT_TRUE(r->traits.releases);  // as the resources below can
    r->release();
    EXPECT_TRUE(r->invariant());
    EXPECT_LE(below.balance().blocks, 4U);  // of tables and chains, not of blocks
  }
}

class pairs : public ::testing::TestWithParam<entry> {};

TEST_P(pairs, survive_each_refusal) {
  survives(GetParam().over_null);
  if (GetParam().over_throwing != nullptr) survives(GetParam().over_throwing);
}

TEST_P(pairs, release_everything) {
  releases(GetParam().over_null);
  if (GetParam().over_throwing != nullptr) releases(GetParam().over_throwing);
}

std::string name_of_pair(const ::testing::TestParamInfo<entry>& info) {
  return std::string(info.param.outer) + "_on_" + info.param.inner;
}

INSTANTIATE_TEST_SUITE_P(pairs, pairs, ::testing::ValuesIn(every_pair()), name_of_pair);

}  // namespace
