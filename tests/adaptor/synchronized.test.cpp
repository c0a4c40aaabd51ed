// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of the locking adaptor: the laws of its upstream, its refinements, and threads that share a bounded pool.
#include <atomic>
#include <cstddef>
#include <memory_resource>
#include <mutex>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <ashlar/adaptor/synchronized.hpp>
#include <ashlar/base/lock.hpp>
#include <ashlar/base/resource.hpp>
#include <ashlar/detail/thread/fork_safe_lock.hpp>
#include <ashlar/resource/block_pool.hpp>
#include <ashlar/resource/buffer_resource.hpp>
#include <ashlar/resource/inline_buffer.hpp>
#include <ashlar/resource/new_delete_resource.hpp>
#include <ashlar/resource/null_resource.hpp>
#include <ashlar/resource/page_resource.hpp>
#include <ashlar/resource/shared_block_pool.hpp>

#include "tests/support/conformance.hpp"
#include "tests/support/counting_resource.hpp"

namespace {

using ashlar::block_pool;
using ashlar::resource_ref;
using ashlar::synchronized;
using ashlar_test::counting_resource;

template <class R, class S = synchronized<R>>
constexpr bool has_exactly_the_refinements_of =
    ashlar::try_resource<S> == ashlar::try_resource<R> && ashlar::owning_resource<S> == ashlar::owning_resource<R> &&
    ashlar::releasable_resource<S> == ashlar::releasable_resource<R> &&
    ashlar::expanding_resource<S> == ashlar::expanding_resource<R> &&
    ashlar::detail::prefaulting_resource<S> == ashlar::detail::prefaulting_resource<R> &&
    ashlar::self_describing_resource<S> == ashlar::self_describing_resource<R> && ashlar::thread_safe_resource<S>;

static_assert(has_exactly_the_refinements_of<ashlar::new_delete_resource>);
static_assert(has_exactly_the_refinements_of<ashlar::null_resource>);
static_assert(has_exactly_the_refinements_of<ashlar::page_resource>);
static_assert(has_exactly_the_refinements_of<block_pool<>>);
static_assert(has_exactly_the_refinements_of<resource_ref<ashlar::buffer_resource>>);
static_assert(has_exactly_the_refinements_of<resource_ref<std::pmr::memory_resource>>);
static_assert(has_exactly_the_refinements_of<ashlar_test::throwing_only<>>);

// An empty resource adds nothing to the lock, and an empty lock has no size.
static_assert(sizeof(synchronized<ashlar::new_delete_resource>) ==
              sizeof(ashlar::detail::fork_safe_lock<ashlar::spin_lock>));
static_assert(sizeof(synchronized<resource_ref<block_pool<>>, ashlar::null_lock>) == sizeof(void*));

struct locked_upstream : ashlar_test::conformance_defaults {
  static constexpr bool reuses = false;
  counting_resource<> upstream;
  synchronized<resource_ref<counting_resource<>>, std::mutex> resource{upstream};
};

struct locked_pool : ashlar_test::conformance_defaults {
  static constexpr std::size_t max_alignment = 16;
  static constexpr std::size_t largest = 48;
  static constexpr bool bounded = true;
  counting_resource<> upstream;
  synchronized<block_pool<resource_ref<counting_resource<>>>> resource{
      ashlar::block_pool_options{.cell_bytes = 48, .slab_bytes = 1024, .max_count = 60}, upstream};
};

struct locked_buffer : ashlar_test::conformance_defaults {
  static constexpr std::size_t max_alignment = 64;
  static constexpr bool bounded = true;
  static constexpr bool any_order = false;
  ashlar::inline_buffer<64 * 1024> buffer;
  synchronized<resource_ref<ashlar::buffer_resource>> resource{resource_ref<ashlar::buffer_resource>(buffer)};
};

TEST(synchronized, threads_share_a_bounded_pool_and_its_bound_is_exact) {
  constexpr std::size_t bound = 8;
  synchronized<block_pool<>> tickets(ashlar::block_pool_options{.cell_bytes = 64, .max_count = bound});
  std::atomic<std::size_t> held = 0;
  std::atomic<std::size_t> refused = 0;
  std::vector<std::thread> team;
  for (int t = 0; t < 4; ++t)
    team.emplace_back([&] {
      for (int i = 0; i < 5000; ++i) {
        std::vector<void*> mine;
        for (int n = 0; n < 5; ++n) {
          void* const ticket = tickets.try_allocate(64, 8);
          if (ticket == nullptr) {
            ++refused;
            break;
          }
          EXPECT_LE(++held, bound);
          mine.push_back(ticket);
        }
        held -= mine.size();
        for (void* ticket : mine) tickets.deallocate(ticket, 64, 8);
      }
    });
  for (std::thread& each : team) each.join();
  EXPECT_EQ(tickets.with_upstream([](auto& pool) { return pool.live(); }), 0U);
  std::vector<void*> all;
  while (void* const ticket = tickets.try_allocate(64, 8)) all.push_back(ticket);
  EXPECT_EQ(all.size(), bound);
  for (void* ticket : all) tickets.deallocate(ticket, 64, 8);
}

TEST(synchronized, makes_an_upstream_fit_for_a_pool_that_threads_share) {
  counting_resource<> books;
  synchronized<resource_ref<counting_resource<>>> upstream(books);
  ashlar::shared_block_pool<resource_ref<decltype(upstream)>> pool({.cell_bytes = 24, .slab_bytes = 4096}, upstream);
  std::vector<std::thread> team;
  for (int t = 0; t < 3; ++t)
    team.emplace_back([&] {
      std::vector<void*> cells(2000);
      for (void*& each : cells) each = pool.allocate();
      for (void* each : cells) pool.deallocate(each);
    });
  for (std::thread& each : team) each.join();
  EXPECT_EQ(pool.live(), 0U);
}

using locked = ashlar_test::subjects<locked_upstream, locked_pool, locked_buffer>;

}  // namespace

namespace ashlar_test {
const bool tested = conforms("synchronized", locked{});
}  // namespace ashlar_test
