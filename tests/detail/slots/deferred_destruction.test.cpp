// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests that objects which drop others end one after the other, each exactly once.
#include <ashlar/detail/slots/deferred_destruction.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include <gtest/gtest.h>

#include <ashlar/base/threads.hpp>
#include <ashlar/detail/slots/slot_watch.hpp>
#include <ashlar/face/object_pool_options.hpp>

#include "tests/support/counting_resource.hpp"
#include "tests/support/slot_user.hpp"

namespace {

using ashlar::any_thread;
using ashlar::one_thread;
using ashlar_test::nothing;
using ashlar_test::test_slots;

// A tree in slots: the object with number n owns 2n + 1 and 2n + 2. The end of each ends its children.
template <class Threads>
class tree {
public:
  using place = typename test_slots<Threads>::place;

  explicit tree(std::size_t size) : ended(size), places_(size) {
    slots_.emplace(ashlar::object_pool_options{.growth_count = 16}, upstream);
    for (auto& each : places_) each = slots_->take();
  }

  void end(std::size_t number) {
    const auto end_it = [this](ashlar::detail::slot_slab<Threads>& slab, std::uint32_t index) noexcept {
      const std::size_t which = number_of(slab, index);
      ++ended[which];
      deepest = ++depth > deepest ? depth : deepest;
      for (const std::size_t child : {2 * which + 1, 2 * which + 2})
        if (child < places_.size()) end(child);
      --depth;
      ashlar::detail::poison_slot<false>(slab.slot_at(index), ashlar_test::object_bytes_in(slab));
      return ashlar::detail::slot_word::raw_mark;
    };
    ashlar::detail::destroy_iteratively(*places_[number].in, places_[number].index, end_it);
  }

  [[nodiscard]] std::size_t live() const { return slots_->live(); }
  [[nodiscard]] bool invariant() const { return slots_->invariant(); }
  void end_handle() { slots_.reset(); }

  ashlar_test::counting_resource<> upstream;
  std::vector<int> ended;
  std::size_t depth = 0;
  std::size_t deepest = 0;

private:
  [[nodiscard]] std::size_t number_of(ashlar::detail::slot_slab<Threads>& slab, std::uint32_t index) const {
    std::size_t at = 0;
    while (places_[at].in != &slab || places_[at].index != index) ++at;
    return at;
  }

  std::optional<test_slots<Threads>> slots_;
  std::vector<place> places_;
};

template <class Threads>
class deferred_destruction : public ::testing::Test {};
using policies = ::testing::Types<one_thread, any_thread<>>;
TYPED_TEST_SUITE(deferred_destruction, policies);

TYPED_TEST(deferred_destruction, a_tree_ends_without_nesting) {
  tree<TypeParam> all(500);
  all.end(0);
  EXPECT_EQ(all.ended, std::vector<int>(500, 1));
  EXPECT_EQ(all.deepest, 1u);
  EXPECT_EQ(all.live(), 0u);
  EXPECT_TRUE(all.invariant());
}

TYPED_TEST(deferred_destruction, the_pool_stays_until_the_last_has_ended) {
  tree<TypeParam> all(100);
  all.end_handle();
  all.end(0);
  EXPECT_EQ(all.ended, std::vector<int>(100, 1));
  EXPECT_EQ(all.upstream.balance(), nothing);
}

TYPED_TEST(deferred_destruction, another_pool_has_an_ending_of_its_own) {
  tree<TypeParam> outer(3);
  tree<TypeParam> inner(7);
  std::size_t inner_depth = 0;
  ashlar_test::counting_resource<> upstream;
  test_slots<TypeParam> other({}, upstream);
  const auto slot = other.take();
  ashlar::detail::destroy_iteratively(*slot.in, slot.index, [&](auto& slab, std::uint32_t index) noexcept {
    inner.end(0);
    inner_depth = inner.deepest;
    outer.end(0);
    ashlar::detail::poison_slot<false>(slab.slot_at(index), ashlar_test::object_bytes_in(slab));
    return ashlar::detail::slot_word::raw_mark;
  });
  EXPECT_EQ(inner.ended, std::vector<int>(7, 1));
  EXPECT_EQ(outer.ended, std::vector<int>(3, 1));
  EXPECT_EQ(inner_depth, 1u);
  EXPECT_EQ(other.live(), 0u);
}

}  // namespace
