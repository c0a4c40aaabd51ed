// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A table of all public types: one word for one act, and each as a static member, a plain member and a variable.
#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <list>
#include <string_view>
#include <type_traits>

#include <gtest/gtest.h>

#include <ashlar/adaptor/tracing.hpp>
#include <ashlar/ashlar.hpp>

namespace {

using below = ashlar::new_delete_resource;

struct visitor {
  template <class... Args>
  void operator()(Args&&...) const noexcept {}
};

// The words of the public face. A type has a row in the table with its words, and has no other of them.
enum word : unsigned {
  nothing = 0,
  upstream = 1,  // upstream_resource()
  held = 2,      // held_bytes()
  trims = 4,     // trim(retain_bytes = 0)
  live = 8,      // for_each_live(f)
};

template <class R>
concept knows_upstream = requires(const R& r) { r.upstream_resource(); };
template <class R>
concept knows_held = requires(const R& r) {
  { r.held_bytes() } noexcept -> std::same_as<std::size_t>;
};
template <class R>
concept knows_trim = requires(R& r, std::size_t retain_bytes) {
  { r.trim() } noexcept -> std::same_as<std::size_t>;
  { r.trim(retain_bytes) } noexcept -> std::same_as<std::size_t>;
};
template <class R>
concept knows_live = requires(R& r) { r.for_each_live(visitor()); };

template <class R>
constexpr unsigned words_of = (knows_upstream<R> ? upstream : 0u) | (knows_held<R> ? held : 0u) |
                              (knows_trim<R> ? trims : 0u) | (knows_live<R> ? live : 0u);

// Other spellings of the same acts.
template <class R>
concept knows_another_upstream = requires(R& r) { r.upstream(); } || requires(R& r) { r.parent_resource(); };
template <class R>
concept knows_another_held =
    requires(R& r) { r.held(); } || requires(R& r) { r.bytes_held(); } || requires(R& r) { r.slabs_held(); };
template <class R>
concept knows_another_trim = requires(R& r) { r.shrink_to_fit(); } || requires(R& r) { r.purge(); } ||
                             requires(R& r) { r.shrink(); } || (requires(R& r) { r.trim(); } && !knows_trim<R>);
template <class R>
concept knows_another_visit = requires(R& r) { r.visit(visitor()); } || requires(R& r) { r.for_each(visitor()); };
template <class R>
concept knows_another_limit =
    requires(R& r) { r.limit(); } || requires(R& r) { r.most(); } || requires(R& r) { r.set_limit(std::size_t{}); };
template <class R>
concept knows_another_retain = requires(R& r) { r.keep(ashlar::never_release); } || requires(R& r) { r.keep(1); };

template <class R>
constexpr bool knows_no_other = !knows_another_upstream<R> && !knows_another_held<R> && !knows_another_trim<R> &&
                                !knows_another_visit<R> && !knows_another_limit<R> && !knows_another_retain<R>;

struct thing {
  std::uint32_t number = 0;
};
struct plan_layout {
  std::array<std::uint64_t, 1> offsets, sizes;
  std::uint64_t height, alignment;
};
constexpr plan_layout layout{{0}, {64}, 64, 64};

// Resources with a default constructor, and their words. Every type with memory of an upstream has `held`, except
// adaptors: the blocks of their upstream are the caller's.
#define ASHLAR_EACH_RESOURCE(X)                                                                      \
  X(arena, upstream | held, ashlar::arena<>)                                                         \
  X(inline_arena, upstream | held, ashlar::inline_arena<1024>)                                       \
  X(frame_arena, upstream | held, ashlar::frame_arena<>)                                             \
  X(page_resource, nothing, ashlar::page_resource)                                                   \
  X(resident_pages, nothing, ashlar::basic_page_resource<ashlar::fresh::resident<>>)                 \
  X(new_delete_resource, nothing, below)                                                             \
  X(inline_buffer, nothing, ashlar::inline_buffer<1024>)                                             \
  X(stack_resource, upstream | held | trims, ashlar::stack_resource<>)                               \
  X(fixed_block_pool, upstream | held | trims | live, ashlar::fixed_block_pool<32, 8>)               \
  X(tlsf_resource, upstream | held | trims, ashlar::tlsf_resource<>)                                 \
  X(pool_set, upstream | held | trims, ashlar::pool_set<>)                                           \
  X(shared_pool_set, upstream | held | trims, ashlar::shared_pool_set<>)                             \
  X(local_heap, upstream | held | trims | live, ashlar::local_heap<>)                                \
  X(owner_heap, upstream | held | trims | live, ashlar::owner_heap<>)                                \
  X(heap, upstream | held | trims | live, ashlar::heap<>)                                            \
  X(tiered_heap, upstream | held | trims, ashlar::tiered_heap<ashlar::static_plan<layout>>)          \
  X(statistics, upstream, ashlar::statistics<below>)                                                 \
  X(synchronized, nothing, ashlar::synchronized<below>)                                              \
  X(guarding, upstream, ashlar::guarding<below>)                                                     \
  X(tracking, upstream | live, ashlar::tracking<below>)                                              \
  X(profiling, upstream, ashlar::profiling<ashlar::pool_set<>>)                                      \
  X(fallback_monitor, upstream, ashlar::fallback_monitor<below>)                                     \
  X(fallback, nothing, ashlar::fallback<ashlar::arena<>, below>)                                     \
  X(segregator, nothing, ashlar::segregator<ashlar::pool_set<>, below, ashlar::fixed_threshold<64>>) \
  X(chain, upstream | held | trims, ashlar::chain<ashlar::inline_buffer<1024>>)                      \
  X(pmr_resource, nothing, ashlar::pmr_resource<ashlar::pool_set<>>)                                 \
  X(pmr_pool, upstream | held, ashlar::pmr::unsynchronized_pool_resource)                            \
  X(pmr_shared_pool, upstream | held, ashlar::pmr::synchronized_pool_resource)                       \
  X(pmr_monotonic, upstream | held, ashlar::pmr::monotonic_buffer_resource)

// Other types with a default constructor, and their words.
#define ASHLAR_EACH_OTHER(X)                                                       \
  X(offset_arena, upstream | held, ashlar::offset_arena<>)                         \
  X(scratch_arena, nothing, ashlar::scratch_arena)                                 \
  X(locked_pages, nothing, ashlar::basic_page_resource<ashlar::fresh::locked<>>)   \
  X(null_resource, nothing, ashlar::null_resource)                                 \
  X(logging, upstream, ashlar::logging<below>)                                     \
  X(budget, nothing, ashlar::budget)                                               \
  X(shared_budget, nothing, ashlar::shared_budget)                                 \
  X(bounded_objects, live, ashlar::object_pool<thing, ashlar::with_capacity<16>>)  \
  X(objects, upstream | held | trims | live, ashlar::object_pool<thing>)           \
  X(ref_pool, upstream | held | trims | live, ashlar::ref_pool<thing>)             \
  X(intrusive_pool, upstream | held | trims | live, ashlar::intrusive_pool<thing>) \
  X(buffer_pool, upstream | held | trims | live, ashlar::buffer_pool<256>)         \
  X(counted_pool, upstream | held | trims, ashlar::counted_pool<>)                 \
  X(labelled, nothing, ashlar::site::labelled<>)                                   \
  X(pool_allocator, nothing, ashlar::pool_allocator<int>)                          \
  X(stateless_allocator, nothing, ashlar::stateless_allocator<int, below>)         \
  X(resource_delete, nothing, ashlar::resource_delete<int, below>)                 \
  X(slot_handle, nothing, ashlar::slot_handle<thing>)                              \
  X(object_handle, nothing, ashlar::object_pool<thing>::handle)                    \
  X(ref_ptr, nothing, ashlar::ref_ptr<thing>)                                      \
  X(buffer_view, nothing, ashlar::buffer_view<256>)                                \
  X(problem, nothing, ashlar::plan::problem)                                       \
  X(arena_options, nothing, ashlar::arena_options)                                 \
  X(offset_arena_options, nothing, ashlar::offset_arena_options)                   \
  X(block_pool_options, nothing, ashlar::block_pool_options)                       \
  X(fixed_block_pool_options, nothing, ashlar::fixed_block_pool_options)           \
  X(pool_set_options, nothing, ashlar::pool_set_options)                           \
  X(tlsf_resource_options, nothing, ashlar::tlsf_resource_options)                 \
  X(tlsf_offsets_options, nothing, ashlar::tlsf_offsets_options)                   \
  X(heap_options, nothing, ashlar::heap_options)                                   \
  X(chain_options, nothing, ashlar::chain_options)                                 \
  X(object_pool_options, nothing, ashlar::object_pool_options)                     \
  X(intrusive_pool_options, nothing, ashlar::intrusive_pool_options)               \
  X(counted_pool_options, nothing, ashlar::counted_pool_options)                   \
  X(slot_map_options, nothing, ashlar::slot_map_options)

// Containers, which use the words of the standard for these acts.
#define ASHLAR_EACH_CONTAINER(X)                \
  X(slot_map, nothing, ashlar::slot_map<thing>) \
  X(list, nothing, std::list<int, ashlar::pool_allocator<int, ashlar::thread_cached>>)

// Types without a default constructor.
#define ASHLAR_EACH_WITH_ARGUMENTS(X)                                                  \
  X(buffer_resource, nothing, ashlar::buffer_resource)                                 \
  X(two_ended_stack, nothing, ashlar::two_ended_stack)                                 \
  X(block_pool, upstream | held | trims | live, ashlar::block_pool<>)                  \
  X(shared_block_pool, upstream | held | trims, ashlar::shared_block_pool<>)           \
  X(tlsf_offsets, upstream | held, ashlar::tlsf_offsets<>)                             \
  X(shared_memory, live, ashlar::interprocess::basic_shared_memory<ashlar::null_lock>) \
  X(static_arena, nothing, ashlar::static_arena<plan_layout>)                          \
  X(process_heap_type, upstream | held | trims | live, ashlar::process_heap_type)      \
  X(bounded_heap, upstream | held | live, ashlar::bounded_heap<>)                      \
  X(forwarding, upstream, ashlar::forwarding<below>)                                   \
  X(limiting, upstream, ashlar::limiting<below>)                                       \
  X(tracing, upstream, ashlar::tracing<below>)                                         \
  X(object_pool, upstream | held | live, ashlar::object_pool<thing, ashlar::with_capacity<ashlar::dynamic_capacity>>)

struct row {
  std::string_view name;
  unsigned expected;
  unsigned found;
  bool is_pure;
};

#define ASHLAR_ROW(name, words, ...) {#name, words, words_of<__VA_ARGS__>, knows_no_other<__VA_ARGS__>},
constexpr row table[] = {ASHLAR_EACH_RESOURCE(ASHLAR_ROW) ASHLAR_EACH_OTHER(ASHLAR_ROW)
                             ASHLAR_EACH_WITH_ARGUMENTS(ASHLAR_ROW)};

static_assert(words_of<ashlar::slot_map<thing>> == (upstream | live));
static_assert(requires(ashlar::slot_map<thing>& map) { map.shrink_to_fit(); });

// A bound is `max_bytes`, both as an option and as a query.
static_assert(requires(ashlar::budget& limits) {
  { limits.max_bytes() } -> std::same_as<std::size_t>;
  limits.set_max_bytes(1);
});

TEST(vocabulary, each_public_type_knows_the_words_of_its_row_and_no_others) {
  for (const row& each : table) {
    EXPECT_EQ(each.found, each.expected) << each.name;
    EXPECT_TRUE(each.is_pure) << each.name << " spells an act in its own way";
  }
}

// The table detects a type with other words.
struct stranger {
  std::size_t shrink_to_fit();
  void upstream();
};
static_assert(!knows_no_other<stranger> && words_of<stranger> == nothing);
struct half {
  void trim();
};
static_assert(!knows_no_other<half> && words_of<half> == nothing);

#define ASHLAR_AS_STATIC(name, words, ...) [[maybe_unused]] static inline __VA_ARGS__ name;
#define ASHLAR_AS_MEMBER(name, words, ...) __VA_ARGS__ name;
#define ASHLAR_AS_VALUE(name, words, ...) __VA_ARGS__ name{};

/// g++ 12 does not see a default constructor here that consists of a default argument for the options.
struct as_static {
  ASHLAR_EACH_RESOURCE(ASHLAR_AS_STATIC)
  ASHLAR_EACH_OTHER(ASHLAR_AS_STATIC)
  ASHLAR_EACH_CONTAINER(ASHLAR_AS_STATIC)
};

struct as_member {
  ASHLAR_EACH_RESOURCE(ASHLAR_AS_MEMBER)
  ASHLAR_EACH_OTHER(ASHLAR_AS_MEMBER)
  ASHLAR_EACH_CONTAINER(ASHLAR_AS_MEMBER)
};

struct as_value {
  ASHLAR_EACH_RESOURCE(ASHLAR_AS_VALUE)
  ASHLAR_EACH_OTHER(ASHLAR_AS_VALUE)
  ASHLAR_EACH_CONTAINER(ASHLAR_AS_VALUE)
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

#define ASHLAR_SERVES_AS_STATIC(name, words, ...) expect_service(as_static::name, #name);
#define ASHLAR_SERVES_AS_MEMBER(name, words, ...) expect_service(all.name, #name);
#define ASHLAR_SERVES_AS_VARIABLE(name, words, ...) expect_service(as_variable::name, #name);

// Blocks, objects, markers and handles point into these.
template <class R>
concept stays_where_it_is = (!std::is_copy_constructible_v<R> && !std::is_move_constructible_v<R> &&
                             !std::is_copy_assignable_v<R> && !std::is_move_assignable_v<R>);
template <class... R>
constexpr bool stay_where_they_are = (stays_where_it_is<R> && ...);

static_assert(stay_where_they_are<
              ashlar::arena<>, ashlar::inline_arena<1024>, ashlar::frame_arena<>, ashlar::scratch_arena,
              ashlar::buffer_resource, ashlar::inline_buffer<1024>, ashlar::stack_resource<>, ashlar::two_ended_stack,
              ashlar::block_pool<>, ashlar::fixed_block_pool<32>, ashlar::shared_block_pool<>, ashlar::pool_set<>,
              ashlar::shared_pool_set<>, ashlar::tlsf_resource<>, ashlar::local_heap<>, ashlar::owner_heap<>,
              ashlar::heap<>, ashlar::object_pool<thing>, ashlar::object_pool<thing, ashlar::with_capacity<16>>,
              ashlar::object_pool<thing, ashlar::with_capacity<ashlar::dynamic_capacity>>, ashlar::ref_pool<thing>,
              ashlar::intrusive_pool<thing>, ashlar::counted_pool<>, ashlar::slot_map<thing>,
              ashlar::pmr::unsynchronized_pool_resource, ashlar::pmr::monotonic_buffer_resource>);

TEST(public_types, serve_as_static_members){ASHLAR_EACH_RESOURCE(ASHLAR_SERVES_AS_STATIC)}

TEST(public_types, serve_as_plain_members) {
  {
    as_member all;
    ASHLAR_EACH_RESOURCE(ASHLAR_SERVES_AS_MEMBER)
  }
  as_value all;
  ASHLAR_EACH_RESOURCE(ASHLAR_SERVES_AS_MEMBER)
}

TEST(public_types, serve_as_variables) { ASHLAR_EACH_RESOURCE(ASHLAR_SERVES_AS_VARIABLE) }

}  // namespace
