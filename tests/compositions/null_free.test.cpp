// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A free of null without a size has no effect, at every level, in each resource that finds the size of a block itself.
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include <ashlar/adaptor/chain.hpp>
#include <ashlar/adaptor/fallback.hpp>
#include <ashlar/adaptor/fallback_monitor.hpp>
#include <ashlar/adaptor/guarding.hpp>
#include <ashlar/adaptor/logging.hpp>
#include <ashlar/adaptor/profiling.hpp>
#include <ashlar/adaptor/synchronized.hpp>
#include <ashlar/adaptor/trace_log.hpp>
#include <ashlar/adaptor/tracing.hpp>
#include <ashlar/adaptor/tracking.hpp>
#include <ashlar/base/resource.hpp>
#include <ashlar/heap/bounded_heap.hpp>
#include <ashlar/heap/heap.hpp>
#include <ashlar/heap/local_heap.hpp>
#include <ashlar/heap/owner_heap.hpp>
#include <ashlar/heap/remote_freer.hpp>
#include <ashlar/heap/tiered_heap.hpp>
#include <ashlar/resource/block_pool.hpp>
#include <ashlar/resource/new_delete_resource.hpp>
#include <ashlar/resource/page_resource.hpp>
#include <ashlar/resource/shared_block_pool.hpp>
#include <ashlar/resource/static_arena.hpp>
#include <ashlar/resource/tlsf_resource.hpp>
#include <ashlar/trace/codec.hpp>

namespace {

using ashlar::local_heap;
using ashlar::self_describing_resource;

// Pools of cells take cells, and null is none: `deallocate(cell)` reports it from level `checked` on.
static_assert(!self_describing_resource<ashlar::block_pool<>> &&
              !self_describing_resource<ashlar::shared_block_pool<>>);
static_assert(!self_describing_resource<ashlar::synchronized<ashlar::block_pool<>>>);
static_assert(!self_describing_resource<ashlar::tracking<ashlar::block_pool<>>>);

template <class R>
struct made {
  R resource{};
};

template <class R>
struct in_memory {
  R resource{std::size_t{16} << 20};
};

struct table {
  std::array<std::uint64_t, 1> offsets, sizes;
  std::uint64_t height, alignment;
};
constexpr table plan{{0}, {64}, 64, 64};

struct silence {
  static constexpr bool is_thread_safe = true;
  static void write(std::string_view) noexcept {}
};

struct nowhere {
  static bool write(std::span<const std::byte>) { return true; }
  static bool flush() { return true; }
};

struct traced {
  using log_type = ashlar::trace_log<ashlar::trace::raw_codec, nowhere>;
  log_type log{nowhere{}};
  ashlar::tracing<local_heap<>, log_type> resource{log};
};

struct referred {
  local_heap<> heap;
  ashlar::resource_ref<local_heap<>> resource{heap};
};

template <class Kind>
class null_free : public ::testing::Test {};
using kinds = ::testing::Types<made<local_heap<>>, made<ashlar::owner_heap<>>, made<ashlar::heap<>>,
                               made<ashlar::tiered_heap<ashlar::static_plan<plan>>>, in_memory<ashlar::bounded_heap<>>,
                               made<ashlar::tlsf_resource<>>, referred, made<ashlar::synchronized<local_heap<>>>,
                               made<ashlar::tracking<local_heap<>>>, made<ashlar::guarding<local_heap<>>>,
                               made<ashlar::profiling<local_heap<>>>, made<ashlar::logging<local_heap<>, silence>>,
                               traced, made<ashlar::fallback_monitor<local_heap<>>>,
                               made<ashlar::fallback<local_heap<>, ashlar::heap<>>>, made<ashlar::chain<local_heap<>>>>;
TYPED_TEST_SUITE(null_free, kinds);

template <class R>
void free_null_and_go_on(R& resource) {
  static_assert(self_describing_resource<R>);
  resource.deallocate(nullptr);  // before the first block
  for (const std::size_t bytes : {std::size_t{40}, std::size_t{40'000}}) {
    void* const first = resource.allocate(bytes, 16);
    resource.deallocate(nullptr);
    resource.deallocate(nullptr);
    void* const second = resource.allocate(bytes, 16);
    EXPECT_TRUE(second != nullptr && second != first);
    resource.deallocate(second);
    resource.deallocate(nullptr);
    resource.deallocate(first);
  }
  resource.deallocate(nullptr);
}

TYPED_TEST(null_free, does_nothing) {
  TypeParam kind;
  free_null_and_go_on(kind.resource);
}

TEST(null_freed_elsewhere, does_nothing) {
  ashlar::owner_heap<> owner;
  ashlar::remote_freer<ashlar::page_resource> freer;
  freer.defer_free(owner, nullptr);
  freer.defer_free(owner, owner.allocate(40));
  freer.defer_free(owner, nullptr);
}

TEST(null_traced, is_no_event) {
  traced kind;
  free_null_and_go_on(kind.resource);
  EXPECT_EQ(kind.log.lost(), 0U);
}

}  // namespace
