// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of the adaptor for profilers: a stand-in for heaptrack sees every block and every end, and the refinements are
// those of the upstream. tests/visibility runs the real tools.
#include <ashlar/adaptor/profiling.hpp>

#include <chrono>
#include <cstddef>
#include <functional>
#include <map>
#include <thread>
#include <type_traits>

#include <gtest/gtest.h>

#include <ashlar/base/resource.hpp>
#include <ashlar/resource/block_pool.hpp>
#include <ashlar/resource/buffer_resource.hpp>
#include <ashlar/resource/inline_buffer.hpp>
#include <ashlar/resource/new_delete_resource.hpp>
#include <ashlar/resource/tlsf_resource.hpp>

#include "tests/adaptor/roomy.hpp"
#include "tests/support/child.hpp"
#include "tests/support/counting_resource.hpp"
#include "tests/support/latch.hpp"

namespace {

// The profile of the stand-in for heaptrack.
std::map<const void*, std::size_t> profile;
std::size_t frees = 0;
std::function<void()> at_free;

}  // namespace

extern "C" {
void heaptrack_malloc(void* p, std::size_t bytes) {
  EXPECT_TRUE(profile.emplace(p, bytes).second) << "told of a block that is live";
}
void heaptrack_realloc(void* p, std::size_t bytes, void* moved_to) {
  EXPECT_EQ(profile.erase(p), 1);
  EXPECT_TRUE(profile.emplace(moved_to, bytes).second);
}
void heaptrack_free(void* p) {
  if (at_free) at_free();
  EXPECT_EQ(profile.erase(p), 1) << "told of the end of no live block";
  ++frees;
}
}

namespace {

using ashlar::profiling;
using ashlar::resource_ref;
using ashlar_test::counting_resource;

static_assert(!std::is_copy_constructible_v<profiling<ashlar::new_delete_resource>>);

class profiling_of_pools : public ::testing::Test {
protected:
  void SetUp() override { frees = 0; }
  void TearDown() override { EXPECT_TRUE(profile.empty()) << "what ended is still in the profile"; }
};

TEST_F(profiling_of_pools, tells_of_each_block_with_its_size) {
  profiling<ashlar::block_pool<>> pool(ashlar::block_pool_options{.cell_bytes = 64});
  void* const small = pool.allocate(10, 1);
  void* const large = pool.try_allocate(5000, 64);
  const ashlar::block whole = pool.allocate_at_least(10, 1);
  EXPECT_EQ(profile, (std::map<const void*, std::size_t>{{small, 10}, {large, 5000}, {whole.data, whole.size}}));
  pool.deallocate(small, 10, 1);
  pool.deallocate(large, 5000, 64);
  EXPECT_EQ(profile.size(), 1);
  pool.deallocate(whole.data, whole.size, 1);
  EXPECT_EQ(frees, 3);
}

TEST_F(profiling_of_pools, tells_of_blocks_that_come_back_without_their_size_and_not_of_null) {
  profiling<ashlar::tlsf_resource<>> blocks;
  blocks.deallocate(blocks.allocate(10, 1));
  blocks.deallocate(nullptr);
  EXPECT_EQ(frees, 1);
}

TEST_F(profiling_of_pools, all_blocks_end_with_a_release_and_with_the_pool) {
  ashlar::inline_buffer<4096> outer;
  profiling<resource_ref<ashlar::buffer_resource>> other{outer};
  void* const kept = other.allocate(8, 8);
  {
    profiling<ashlar::inline_buffer<4096>> buffer;
    for (int i = 0; i < 30; ++i) static_cast<void>(buffer.allocate(100, 1));
    EXPECT_EQ(profile.size(), 31);
    buffer.release();
    EXPECT_EQ(profile.size(), 1) << "but the other's";
    static_cast<void>(buffer.allocate(100, 1));
  }
  EXPECT_EQ(frees, 31);
  other.deallocate(kept, 8, 8);
}

TEST_F(profiling_of_pools, a_block_that_ended_unseen_ends_when_its_address_comes_again) {
  ashlar::inline_buffer<4096> buffer;
  profiling<resource_ref<ashlar::buffer_resource>> r{buffer};
  void* const first = r.allocate(8, 8);
  buffer.release();  // without a call of the adaptor
  EXPECT_EQ(r.allocate(16, 8), first);
  EXPECT_EQ(profile, (std::map<const void*, std::size_t>{{first, 16}}));
  EXPECT_EQ(frees, 1);
  r.deallocate(first, 16, 8);
}

TEST_F(profiling_of_pools, a_child_of_a_fork_continues_after_any_event_of_other_threads) {
  profiling<ashlar::inline_buffer<4096>> other;
  static_cast<void>(other.allocate(8, 8));
  ashlar_test::latch within(1);
  at_free = [&] {
    within.count_down();
    std::this_thread::sleep_for(std::chrono::milliseconds(50));  // the fork happens during this pause
  };
  std::thread thread([&] { other.release(); });
  within.wait();
  EXPECT_TRUE(ashlar_test::child_does([] {
    at_free = nullptr;
    profiling<ashlar::inline_buffer<4096>> mine;
    mine.deallocate(mine.allocate(8, 8), 8, 8);
    return true;
  }));
  thread.join();
  at_free = nullptr;
}

TEST_F(profiling_of_pools, a_block_that_grows_keeps_its_place_in_the_profile) {
  profiling<ashlar_test::roomy> r;
  void* const p = r.allocate(10, 1);
  EXPECT_TRUE(r.try_expand(p, 10, 90, 1));
  EXPECT_EQ(profile[p], 90);
  EXPECT_FALSE(r.try_expand(p, 90, 1001, 1));
  EXPECT_EQ(profile[p], 90);
  r.deallocate(p, 90, 1);
}

}  // namespace
