// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of the chain: the creation of resources, the one that serves, the owner of each free, and the end of empty
// ones.
#include <algorithm>
#include <cstddef>
#include <new>
#include <span>
#include <vector>

#include <gtest/gtest.h>

#include <ashlar/adaptor/chain.hpp>
#include <ashlar/base/resource.hpp>
#include <ashlar/detail/checks/poison.hpp>
#include <ashlar/resource/block_pool.hpp>
#include <ashlar/resource/buffer_resource.hpp>
#include <ashlar/resource/new_delete_resource.hpp>

#include "tests/support/conformance.hpp"
#include "tests/support/counting_resource.hpp"
#include "tests/support/death.hpp"
#include "tests/support/skills.hpp"

namespace {

using namespace ashlar_test;
using ashlar::buffer_resource;
using ashlar::chain;
using ashlar::chain_options;
using ashlar::new_delete_resource;
using ashlar::resource_ref;

using counted = resource_ref<counting_resource<>>;
using buffers = chain<buffer_resource, counted>;

// Makes pools of five cells; `made` counts them.
struct pool_maker {
  counting_resource<>* below = nullptr;
  int* made = nullptr;

  [[nodiscard]] ashlar::block_pool<counted> operator()() const {
    ++*made;
    return ashlar::block_pool<counted>({.cell_bytes = 32, .slab_bytes = 1024, .max_count = 5}, counted(*below));
  }
};
using pools = chain<ashlar::block_pool<counted>, counted, pool_maker>;

struct growing_buffers : conformance_defaults {
  static constexpr bool any_order = false;
  static constexpr bool reuses = false;
  counting_resource<> upstream;
  buffers resource{{.room_bytes = 8 * 1024}, {}, counted(upstream)};
};

// At most two buffers, with blocks freed in any order: empty buffers are released before they refuse.
struct two_buffers : conformance_defaults {
  static constexpr std::size_t max_alignment = 16;
  static constexpr std::size_t largest = 200;
  static constexpr bool bounded = true;
  static constexpr bool reuses = false;
  counting_resource<> upstream;
  buffers resource{{.max_count = 2, .room_bytes = 4096}, {}, counted(upstream)};
};

TEST(chain, makes_one_more_where_none_has_room_up_to_its_bound) {
  counting_resource<> below;
  int made = 0;
  pools cells({.max_count = 3}, {&below, &made}, counted(below));
  EXPECT_EQ(below.allocations(), 0U);
  std::vector<void*> held;
  while (void* const cell = cells.try_allocate(32, 8)) {
    held.push_back(cell);
    EXPECT_EQ(cells.count(), (held.size() + 4) / 5);
    ASSERT_TRUE(cells.invariant());
  }
  EXPECT_EQ(held.size(), 15U);
#if defined(__cpp_exceptions)
  EXPECT_THROW(static_cast<void>(cells.allocate(32, 8)), std::bad_alloc);
#endif
  EXPECT_EQ(made, 3);
  for (void* const cell : held) EXPECT_TRUE(cells.owns(cell));
  EXPECT_FALSE(cells.owns(&cells));
  cells.deallocate(held[7], 32, 8);
  void* const again = cells.allocate(32, 8);  // from the middle resource
  EXPECT_TRUE(ashlar::detail::has_guards || again == held[7]) << "where cells rest, another of its slab comes first";
  cells.deallocate(again, 32, 8);
  held.erase(held.begin() + 7);
  for (void* const cell : held) cells.deallocate(cell, 32, 8);
  EXPECT_EQ(cells.count(), 1U);
}

TEST(chain, retains_the_chosen_number_of_empty_resources) {
  for (const std::size_t spare : {std::size_t{0}, std::size_t{1}, std::size_t{2}, ashlar::max_size}) {
    counting_resource<> below;
    int made = 0;
    pools cells({.retain_count = spare}, {&below, &made}, counted(below));
    std::vector<void*> held(20);
    for (void*& each : held) each = cells.allocate(32, 8);
    EXPECT_EQ(cells.count(), 4U);
    for (void* const each : held) {
      cells.deallocate(each, 32, 8);
      EXPECT_LE(cells.empty(), spare);
      ASSERT_TRUE(cells.invariant());
    }
    EXPECT_EQ(cells.count(), std::min(spare, std::size_t{4}));
    const std::size_t bytes = below.balance().bytes;
    EXPECT_EQ(cells.trim() != 0, spare != 0);
    EXPECT_EQ(cells.count(), 0U);
    EXPECT_EQ(below.balance(), nothing) << bytes;
  }
}

// A buffer loses blocks that are not freed in order until it is released.
TEST(chain, an_empty_buffer_is_released_before_it_refuses_or_at_once) {
  for (const bool renew : {false, true}) {
    counting_resource<> below;
    buffers bytes({.max_count = 1, .room_bytes = 64, .renew_empty = renew}, {}, counted(below));
    void* const a = bytes.allocate(32, 1);
    void* const b = bytes.allocate(32, 1);
    bytes.deallocate(a, 32, 1);
    EXPECT_EQ(bytes.try_allocate(1, 1), nullptr);
    bytes.deallocate(b, 32, 1);
    bytes.for_each_resource([renew](buffer_resource& each) { EXPECT_EQ(each.used(), renew ? 0U : 32U); });
    void* const whole = bytes.allocate(64, 1);
    EXPECT_EQ(whole, a);
    bytes.deallocate(whole, 64, 1);
    EXPECT_EQ(below.allocations(), 1U);
  }
}

TEST(chain, what_no_resource_can_serve_is_refused_and_leaves_none_behind) {
  counting_resource<> below;
  int made = 0;
  buffers bytes({.room_bytes = 64}, {}, counted(below));
  pools cells({}, {&below, &made}, counted(below));
  for (int round = 0; round < 3; ++round) {
    EXPECT_EQ(bytes.try_allocate(65, 1), nullptr);
    EXPECT_EQ(cells.try_allocate(33, 1), nullptr);
#if defined(__cpp_exceptions)
    EXPECT_THROW(static_cast<void>(bytes.allocate(65, 1)), std::bad_alloc);
    EXPECT_THROW(static_cast<void>(cells.allocate(33, 1)), std::bad_alloc);
#endif
    EXPECT_EQ(bytes.count() + cells.count(), 0U);
    EXPECT_TRUE(bytes.invariant() && cells.invariant());
  }
  EXPECT_EQ(below.balance(), nothing);
}

#if defined(__cpp_exceptions)

TEST(chain, a_maker_that_throws_costs_nothing) {
  counting_resource<> below;
  bool throws = true;
  const auto make = [&throws](std::span<std::byte> room) -> buffer_resource {
    if (throws) throw injected_failure();
    return buffer_resource(room);
  };
  chain moody(chain_options{.max_count = 1, .room_bytes = 100}, make, counted(below));
  EXPECT_THROW(static_cast<void>(moody.allocate(10, 1)), injected_failure);
  EXPECT_EQ(moody.try_allocate(10, 1), nullptr);
  EXPECT_EQ(below.balance(), nothing);
  EXPECT_EQ(moody.count(), 0U);
  throws = false;
  void* const p = moody.allocate(10, 1);
  EXPECT_EQ(moody.count(), 1U);
  moody.deallocate(p, 10, 1);
}

#endif

// A maker that uses its own chain, at most three levels deep.
struct nesting_maker {
  struct book {
    void* from = nullptr;
    void* (*allocate)(void* from) = nullptr;
    std::vector<void*> blocks;
    int depth = 0;
  };
  book* notes = nullptr;

  [[nodiscard]] buffer_resource operator()(std::span<std::byte> room) const {
    if (++notes->depth < 3) notes->blocks.push_back(notes->allocate(notes->from));
    --notes->depth;
    return buffer_resource(room);
  }
};

TEST(chain, is_in_order_while_a_maker_runs) {
  using nesting = chain<buffer_resource, counted, nesting_maker>;
  for (const std::size_t most : {std::size_t{2}, std::size_t{10}}) {
    counting_resource<> below;
    nesting_maker::book notes;
    nesting bytes({.max_count = most, .room_bytes = 64}, {&notes}, counted(below));
    notes.from = &bytes;
    notes.allocate = [](void* from) { return static_cast<nesting*>(from)->try_allocate(64, 1); };
    void* const p = bytes.allocate(64, 1);
    EXPECT_EQ(bytes.count(), std::min(most, std::size_t{3}));
    EXPECT_TRUE(bytes.invariant());
    bytes.deallocate(p, 64, 1);
    for (void* const each : notes.blocks)
      if (each != nullptr) bytes.deallocate(each, 64, 1);
    EXPECT_TRUE(bytes.invariant());
  }
}

TEST(chain, a_pointer_without_an_owner_ends_the_process) {
  counting_resource<> below;
  buffers bytes({.room_bytes = 100}, {}, counted(below));
  int local = 0;
  ASHLAR_EXPECT_LAST_WORDS(bytes.deallocate(&local, sizeof local, alignof(int)),
                           "ashlar: invalid_free: freed a pointer that no resource of this chain owns, pointer 0x*, "
                           "resource 0x*");
  ASHLAR_EXPECT_LAST_WORDS(buffers({.max_count = 0}, {}, counted(below)),
                           "ashlar: precondition: made a chain with a max_count of 0");
  ASHLAR_EXPECT_LAST_WORDS(buffers({.room_bytes = ashlar::max_size}, {}, counted(below)),
                           "ashlar: precondition: room_bytes is larger than any block");
}

const bool tested = conforms<growing_buffers, two_buffers>("chain_of_buffers");

}  // namespace
