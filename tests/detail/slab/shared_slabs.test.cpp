// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of slabs shared by threads: the lock that their upstream never meets, and frees that serve before it is asked.
#include <cstddef>
#include <functional>
#include <type_traits>
#include <vector>

#include <gtest/gtest.h>

#include <ashlar/base/error.hpp>
#include <ashlar/base/lock.hpp>
#include <ashlar/detail/slab/cached_pool.hpp>
#include <ashlar/detail/slab/shared_slabs.hpp>
#include <ashlar/resource/page_resource.hpp>
#include <ashlar/resource/shared_block_pool.hpp>

#include "tests/support/counting_resource.hpp"
#include "tests/support/serialised_ref.hpp"

namespace {

using ashlar::or_throw;
using ashlar_test::serialised_ref;

// Freed cells are cached, noted and sent; a cell that was lost on the way would be missing in the end.
TEST(shared_slabs, serve_all_frees_before_they_ask_the_upstream) {
  ashlar_test::counting_resource<> upstream;
  ashlar::shared_block_pool<serialised_ref<>> pool(
      {.cell_bytes = 32, .slab_bytes = 4096, .retain_slabs = ashlar::never_release}, upstream);
  std::vector<void*> cells(30'000);
  for (void*& each : cells) each = pool.allocate();
  for (void* const each : cells) pool.deallocate(each);
  upstream.fail_from(0);
  for (void*& each : cells) ASSERT_NE(each = pool.try_allocate(), nullptr);
  pool.release();
}

// An upstream that takes the lock of the slabs: a call under that lock would hang, or be caught.
struct needs_the_lock_free {
  static constexpr bool is_thread_safe = true;
  static inline std::function<bool()> is_free;  // NOLINT: state of a test

  void* allocate(std::size_t bytes, std::size_t alignment) {
    check();
    return ashlar::page_resource().allocate(bytes, alignment);
  }
  void deallocate(void* p, std::size_t bytes, std::size_t alignment) noexcept {
    check();
    ashlar::page_resource().deallocate(p, bytes, alignment);
  }
  static void check() { EXPECT_TRUE(is_free()) << "the upstream was called under the lock"; }
  bool operator==(const needs_the_lock_free&) const noexcept = default;
};

TEST(shared_slabs, never_calls_its_upstream_under_the_lock) {
  ashlar::detail::shared_slabs<ashlar::detail::dynamic_geometry, needs_the_lock_free, ashlar::spin_lock> slabs(
      ashlar::detail::dynamic_geometry(ashlar::detail::make_slab_geometry({.cell_bytes = 32, .slab_bytes = 4096})), 0,
      {});
  needs_the_lock_free::is_free = [&] {
    const bool was_free = slabs.lock().try_lock();
    if (was_free) slabs.lock().unlock();
    return was_free;
  };
  slabs.deallocate(slabs.allocate<or_throw>());
  slabs.reserve(1000);
  EXPECT_GT(slabs.trim(), 0u);
  static_cast<void>(slabs.allocate<or_throw>());
  slabs.release();
}

using slabs_type = ashlar::detail::shared_slabs<ashlar::detail::dynamic_geometry, serialised_ref<>, ashlar::spin_lock>;
using cache_type = ashlar::detail::cell_cache<slabs_type>;

// Constant-initialised: a thread-local cache needs no guard.
[[maybe_unused]] constinit thread_local cache_type of_this_thread;
static_assert(std::is_trivially_destructible_v<cache_type>);
static_assert(sizeof(cache_type) <= 9 * 1024, "one for each thread and pool");

}  // namespace
