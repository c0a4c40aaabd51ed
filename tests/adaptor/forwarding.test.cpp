// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of plain adaptors: the base, which has the refinements that concern no single block, and the one with a lock.
#include <atomic>
#include <cstddef>
#include <type_traits>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <ashlar/adaptor/forwarding.hpp>
#include <ashlar/adaptor/synchronized.hpp>
#include <ashlar/base/lock.hpp>
#include <ashlar/base/resource.hpp>
#include <ashlar/detail/thread/fork_safe_lock.hpp>
#include <ashlar/resource/block_pool.hpp>
#include <ashlar/resource/new_delete_resource.hpp>
#include <ashlar/resource/null_resource.hpp>

#include "tests/support/counting_resource.hpp"
#include "tests/support/skills.hpp"
#include "tests/support/stress.hpp"

namespace {

using ashlar::forwarding;
using ashlar::resource_ref;
using ashlar_test::counting_resource;

// The smallest adaptor.
template <ashlar::resource R>
struct plain : forwarding<R> {
  using forwarding<R>::forwarding;
  using forwarding<R>::upstream_resource;

  void* allocate(std::size_t bytes, std::size_t alignment) { return upstream_resource().allocate(bytes, alignment); }
  void deallocate(void* p, std::size_t bytes, std::size_t alignment) noexcept {
    upstream_resource().deallocate(p, bytes, alignment);
  }
  friend bool operator==(const plain& a, const plain& b) noexcept {
    return a.upstream_resource() == b.upstream_resource();
  }
};

static_assert(ashlar_test::passes_on < plain,
              ashlar_test::can_own | ashlar_test::can_release | ashlar_test::can_prefault >);
static_assert(std::is_empty_v<plain<plain<ashlar::new_delete_resource>>>);
static_assert(sizeof(plain<resource_ref<counting_resource<>>>) == sizeof(void*));
static_assert(!std::is_constructible_v<forwarding<ashlar::null_resource>>, "no resource by itself");

// An upstream constructed from another of its type.
struct nested : ashlar::new_delete_resource {
  int depth = 0;
  nested() = default;
  explicit nested(int d) : depth(d) {}
};

TEST(forwarding, a_copy_is_a_copy_and_not_made_from_the_arguments) {
  plain<nested> five(5);
  const plain<nested> copy(five);
  const plain<nested> moved(std::move(five));
  EXPECT_EQ(copy.upstream_resource().depth, 5);
  EXPECT_EQ(moved.upstream_resource().depth, 5);
  plain<resource_ref<plain<nested>>> outer(five);  // refers to an adaptor of the same kind
  EXPECT_EQ(&outer.upstream_resource().get(), &five);
}

using ashlar::block_pool;
using ashlar::synchronized;

// An empty resource adds nothing to the lock, and an empty lock has no size.
static_assert(sizeof(synchronized<ashlar::new_delete_resource>) ==
              sizeof(ashlar::detail::fork_safe_lock<ashlar::spin_lock>));
static_assert(sizeof(synchronized<resource_ref<block_pool<>>, ashlar::null_lock>) == sizeof(void*));

TEST(synchronized, threads_share_a_bounded_pool_and_its_bound_is_exact) {
  constexpr std::size_t bound = 8;
  synchronized<block_pool<>> tickets(ashlar::block_pool_options{.cell_bytes = 64, .max_count = bound});
  std::atomic<std::size_t> held = 0;
  ashlar_test::on_threads(4, [&](std::size_t) {
    for (int i = 0; i < 5000; ++i) {
      std::vector<void*> mine;
      for (int n = 0; n < 5; ++n) {
        void* const ticket = tickets.try_allocate(64, 8);
        if (ticket == nullptr) break;
        EXPECT_LE(++held, bound);
        mine.push_back(ticket);
      }
      held -= mine.size();
      for (void* ticket : mine) tickets.deallocate(ticket, 64, 8);
    }
  });
  EXPECT_EQ(tickets.with_upstream([](auto& pool) { return pool.live(); }), 0U);
  std::vector<void*> all;
  while (void* const ticket = tickets.try_allocate(64, 8)) all.push_back(ticket);
  EXPECT_EQ(all.size(), bound);
  for (void* ticket : all) tickets.deallocate(ticket, 64, 8);
}

}  // namespace
