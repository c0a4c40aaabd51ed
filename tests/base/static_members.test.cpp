// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Every public type with a default constructor as a static member of a class, a plain member and a variable.
#include <array>
#include <cstddef>
#include <cstdint>
#include <list>
#include <type_traits>

#include <gtest/gtest.h>

#include <ashlar/adaptor/tracing.hpp>
#include <ashlar/ashlar.hpp>

namespace {

struct thing {
  int a = 0;
};
struct counted {
  std::uint32_t count = 0;
};
struct growing_objects : ashlar::object_pool_traits {
  static constexpr std::size_t capacity = ashlar::growing;
};
struct table {
  std::array<std::uint64_t, 1> offsets, sizes;
  std::uint64_t height, alignment;
};
constexpr table layout{{0}, {64}, 64, 64};

#define ASHLAR_EACH_RESOURCE(X)                                                                                   \
  X(arena, ashlar::arena<>)                                                                                       \
  X(inline_arena, ashlar::inline_arena<1024>)                                                                     \
  X(frame_arena, ashlar::frame_arena<>)                                                                           \
  X(page_resource, ashlar::page_resource)                                                                         \
  X(resident_pages, ashlar::basic_page_resource<ashlar::fresh::resident<>>)                                       \
  X(new_delete_resource, ashlar::new_delete_resource)                                                             \
  X(inline_buffer, ashlar::inline_buffer<1024>)                                                                   \
  X(stack_resource, ashlar::stack_resource<>)                                                                     \
  X(fixed_block_pool, ashlar::fixed_block_pool<32, 8>)                                                            \
  X(tlsf_resource, ashlar::tlsf_resource<>)                                                                       \
  X(pool_set, ashlar::pool_set<>)                                                                                 \
  X(shared_pool_set, ashlar::shared_pool_set<>)                                                                   \
  X(local_heap, ashlar::local_heap<>)                                                                             \
  X(owner_heap, ashlar::owner_heap<>)                                                                             \
  X(heap, ashlar::heap<>)                                                                                         \
  X(tiered_heap, ashlar::tiered_heap<ashlar::static_plan<layout>>)                                                \
  X(statistics, ashlar::statistics<ashlar::new_delete_resource>)                                                  \
  X(synchronized, ashlar::synchronized<ashlar::new_delete_resource>)                                              \
  X(guarding, ashlar::guarding<ashlar::new_delete_resource>)                                                      \
  X(tracking, ashlar::tracking<ashlar::new_delete_resource>)                                                      \
  X(profiling, ashlar::profiling<ashlar::pool_set<>>)                                                             \
  X(fallback_monitor, ashlar::fallback_monitor<ashlar::new_delete_resource>)                                      \
  X(fallback, ashlar::fallback<ashlar::arena<>, ashlar::new_delete_resource>)                                     \
  X(segregator, ashlar::segregator<ashlar::pool_set<>, ashlar::new_delete_resource, ashlar::fixed_threshold<64>>) \
  X(chain, ashlar::chain<ashlar::inline_buffer<1024>>)                                                            \
  X(pmr_resource, ashlar::pmr_resource<ashlar::pool_set<>>)                                                       \
  X(pmr_pool, ashlar::pmr::unsynchronized_pool_resource)                                                          \
  X(pmr_shared_pool, ashlar::pmr::synchronized_pool_resource)                                                     \
  X(pmr_monotonic, ashlar::pmr::monotonic_buffer_resource)

#define ASHLAR_EACH_OTHER(X)                                                            \
  X(scratch_arena, ashlar::scratch_arena)                                               \
  X(locked_pages, ashlar::basic_page_resource<ashlar::fresh::locked<>>)                 \
  X(null_resource, ashlar::null_resource)                                               \
  X(labelled, ashlar::site::labelled<>)                                                 \
  X(logging, ashlar::logging<ashlar::new_delete_resource>)                              \
  X(budget, ashlar::budget)                                                             \
  X(shared_budget, ashlar::shared_budget)                                               \
  X(pool_allocator, ashlar::pool_allocator<int>)                                        \
  X(stateless_allocator, ashlar::stateless_allocator<int, ashlar::new_delete_resource>) \
  X(resource_delete, ashlar::resource_delete<int, ashlar::new_delete_resource>)         \
  X(slot_map, ashlar::slot_map<thing>)                                                  \
  X(slot_handle, ashlar::slot_handle<thing>)                                            \
  X(bounded_objects, ashlar::object_pool<thing, ashlar::with_capacity<16>>)             \
  X(objects, ashlar::object_pool<thing, growing_objects>)                               \
  X(object_handle, ashlar::object_pool<thing>::handle)                                  \
  X(ref_ptr, ashlar::ref_ptr<thing>)                                                    \
  X(ref_pool, ashlar::ref_pool<thing>)                                                  \
  X(intrusive_pool, ashlar::intrusive_pool<counted>)                                    \
  X(buffer_pool, ashlar::buffer_pool<256>)                                              \
  X(buffer_view, ashlar::buffer_view<256>)                                              \
  X(counted_pool, ashlar::counted_pool<>)                                               \
  X(problem, ashlar::plan::problem)                                                     \
  X(arena_options, ashlar::arena_options)                                               \
  X(block_pool_options, ashlar::block_pool_options)                                     \
  X(fixed_block_pool_options, ashlar::fixed_block_pool_options)                         \
  X(pool_set_options, ashlar::pool_set_options)                                         \
  X(tlsf_resource_options, ashlar::tlsf_resource_options)                               \
  X(tlsf_offsets_options, ashlar::tlsf_offsets_options)                                 \
  X(heap_options, ashlar::heap_options)                                                 \
  X(chain_options, ashlar::chain_options)                                               \
  X(object_pool_options, ashlar::object_pool_options)                                   \
  X(intrusive_pool_options, ashlar::intrusive_pool_options)                             \
  X(counted_pool_options, ashlar::counted_pool_options)                                 \
  X(slot_map_options, ashlar::slot_map_options)                                         \
  X(list, std::list<int, ashlar::pool_allocator<int, ashlar::thread_cached>>)

#define ASHLAR_AS_STATIC(name, ...) [[maybe_unused]] static inline __VA_ARGS__ name;
#define ASHLAR_AS_MEMBER(name, ...) __VA_ARGS__ name;
#define ASHLAR_AS_VALUE(name, ...) __VA_ARGS__ name{};

/// g++ 12 does not see a default constructor here that consists of a default argument for the options.
struct as_static {
  ASHLAR_EACH_RESOURCE(ASHLAR_AS_STATIC)
  ASHLAR_EACH_OTHER(ASHLAR_AS_STATIC)
};
struct as_member {
  ASHLAR_EACH_RESOURCE(ASHLAR_AS_MEMBER)
  ASHLAR_EACH_OTHER(ASHLAR_AS_MEMBER)
};
struct as_value {
  ASHLAR_EACH_RESOURCE(ASHLAR_AS_VALUE)
  ASHLAR_EACH_OTHER(ASHLAR_AS_VALUE)
};
namespace as_variable {
ASHLAR_EACH_RESOURCE(ASHLAR_AS_MEMBER)
}  // namespace as_variable

/// Allocates a block of the resource and deallocates it.
template <class Resource>
void expect_service(Resource& r, const char* name) {
  void* const p = r.allocate(8, 8);
  EXPECT_NE(p, nullptr) << name;
  r.deallocate(p, 8, 8);
}

#define ASHLAR_SERVES_AS_STATIC(name, ...) expect_service(as_static::name, #name);
#define ASHLAR_SERVES_AS_MEMBER(name, ...) expect_service(all.name, #name);
#define ASHLAR_SERVES_AS_VARIABLE(name, ...) expect_service(as_variable::name, #name);

// Blocks and markers point into these.
template <class R>
concept stays_where_it_is = (!std::is_copy_constructible_v<R> && !std::is_move_constructible_v<R> &&
                             !std::is_copy_assignable_v<R> && !std::is_move_assignable_v<R>);
template <class... R>
constexpr bool stay_where_they_are = (stays_where_it_is<R> && ...);
static_assert(
    stay_where_they_are<ashlar::arena<>, ashlar::inline_arena<1024>, ashlar::frame_arena<>, ashlar::scratch_arena,
                        ashlar::buffer_resource, ashlar::inline_buffer<1024>, ashlar::stack_resource<>,
                        ashlar::two_ended_stack, ashlar::block_pool<>, ashlar::fixed_block_pool<32>,
                        ashlar::shared_block_pool<>, ashlar::pool_set<>, ashlar::shared_pool_set<>,
                        ashlar::tlsf_resource<>, ashlar::local_heap<>, ashlar::owner_heap<>, ashlar::heap<>>);

TEST(static_members, serve){ASHLAR_EACH_RESOURCE(ASHLAR_SERVES_AS_STATIC)}

TEST(static_members, serve_as_plain_members_too) {
  {
    as_member all;
    ASHLAR_EACH_RESOURCE(ASHLAR_SERVES_AS_MEMBER)
  }
  as_value all;
  ASHLAR_EACH_RESOURCE(ASHLAR_SERVES_AS_MEMBER)
}

TEST(static_members, serve_as_variables_too) { ASHLAR_EACH_RESOURCE(ASHLAR_SERVES_AS_VARIABLE) }

}  // namespace
