// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// One word for one act: a table of the words of all public resources, pools and adaptors.
#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string_view>

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
struct growing_objects : ashlar::object_pool_traits {
  static constexpr std::size_t capacity = ashlar::growing;
};
struct plan_layout {
  std::array<std::uint64_t, 1> offsets, sizes;
  std::uint64_t height, alignment;
};
constexpr plan_layout layout{{0}, {64}, 64, 64};

struct row {
  std::string_view name;
  unsigned expected;
  unsigned found;
  bool is_pure;
};
template <class R>
constexpr row row_of(std::string_view name, unsigned expected) {
  return {name, expected, words_of<R>, knows_no_other<R>};
}

// Every type with memory of an upstream has `held`, except adaptors: the blocks of their upstream are the caller's.
constexpr row table[] = {
    row_of<ashlar::page_resource>("page_resource", nothing),
    row_of<below>("new_delete_resource", nothing),
    row_of<ashlar::null_resource>("null_resource", nothing),
    row_of<ashlar::buffer_resource>("buffer_resource", nothing),
    row_of<ashlar::inline_buffer<64>>("inline_buffer", nothing),
    row_of<ashlar::two_ended_stack>("two_ended_stack", nothing),
    row_of<ashlar::scratch_arena>("scratch_arena", nothing),
    row_of<ashlar::arena<>>("arena", upstream | held),
    row_of<ashlar::inline_arena<64>>("inline_arena", upstream | held),
    row_of<ashlar::frame_arena<>>("frame_arena", upstream | held),
    row_of<ashlar::stack_resource<>>("stack_resource", upstream | held | trims),
    row_of<ashlar::block_pool<>>("block_pool", upstream | held | trims | live),
    row_of<ashlar::fixed_block_pool<64>>("fixed_block_pool", upstream | held | trims | live),
    row_of<ashlar::shared_block_pool<>>("shared_block_pool", upstream | held | trims),
    row_of<ashlar::pool_set<>>("pool_set", upstream | held | trims),
    row_of<ashlar::shared_pool_set<>>("shared_pool_set", upstream | held | trims),
    row_of<ashlar::tlsf_resource<>>("tlsf_resource", upstream | held | trims),
    row_of<ashlar::tlsf_offsets<>>("tlsf_offsets", upstream | held),
    row_of<ashlar::interprocess::basic_shared_memory<ashlar::null_lock>>("shared_memory", live),
    row_of<ashlar::static_arena<plan_layout>>("static_arena", nothing),
    row_of<ashlar::local_heap<>>("local_heap", upstream | held | trims | live),
    row_of<ashlar::owner_heap<>>("owner_heap", upstream | held | trims | live),
    row_of<ashlar::heap<>>("heap", upstream | held | trims | live),
    row_of<ashlar::process_heap_type>("process_heap_type", upstream | held | trims | live),
    row_of<ashlar::tiered_heap<ashlar::static_plan<layout>>>("tiered_heap", upstream | held | trims),
    row_of<ashlar::bounded_heap<>>("bounded_heap", upstream | held | live),
    row_of<ashlar::forwarding<below>>("forwarding", upstream),
    row_of<ashlar::statistics<below>>("statistics", upstream),
    row_of<ashlar::synchronized<below>>("synchronized", nothing),
    row_of<ashlar::guarding<below>>("guarding", upstream),
    row_of<ashlar::tracking<below>>("tracking", upstream | live),
    row_of<ashlar::limiting<below>>("limiting", upstream),
    row_of<ashlar::budget>("budget", nothing),
    row_of<ashlar::shared_budget>("shared_budget", nothing),
    row_of<ashlar::logging<below>>("logging", upstream),
    row_of<ashlar::tracing<below>>("tracing", upstream),
    row_of<ashlar::profiling<below>>("profiling", upstream),
    row_of<ashlar::fallback_monitor<below>>("fallback_monitor", upstream),
    row_of<ashlar::fallback<ashlar::arena<>, below>>("fallback", nothing),
    row_of<ashlar::segregator<ashlar::arena<>, below>>("segregator", nothing),
    row_of<ashlar::chain<ashlar::inline_buffer<64>>>("chain", upstream | held | trims),
    row_of<ashlar::object_pool<thing>>("object_pool", upstream | held | live),
    row_of<ashlar::object_pool<thing, ashlar::with_capacity<4>>>("object_pool, inside", live),
    row_of<ashlar::object_pool<thing, growing_objects>>("object_pool, growing", upstream | held | trims | live),
    row_of<ashlar::ref_pool<thing>>("ref_pool", upstream | held | trims | live),
    row_of<ashlar::intrusive_pool<thing>>("intrusive_pool", upstream | held | trims | live),
    row_of<ashlar::buffer_pool<64>>("buffer_pool", upstream | held | trims | live),
    row_of<ashlar::counted_pool<>>("counted_pool", upstream | held | trims),
    row_of<ashlar::pmr_resource<below>>("pmr_resource", nothing),
    row_of<ashlar::pmr::unsynchronized_pool_resource>("pmr::unsynchronized_pool_resource", upstream | held),
    row_of<ashlar::pmr::synchronized_pool_resource>("pmr::synchronized_pool_resource", upstream | held),
    row_of<ashlar::pmr::monotonic_buffer_resource>("pmr::monotonic_buffer_resource", upstream | held),
};

// A container of objects uses the words of standard containers for these acts.
static_assert(words_of<ashlar::slot_map<thing>> == (upstream | live));
static_assert(requires(ashlar::slot_map<thing>& map) { map.shrink_to_fit(); });

// A bound is `max_bytes`, both as an option and as a query.
static_assert(requires(ashlar::budget& limits) {
  { limits.max_bytes() } -> std::same_as<std::size_t>;
  limits.set_max_bytes(1);
});

// All options use the same names for retained memory, initial size and limit.
static_assert(requires(ashlar::heap_options o) { o.max_bytes, o.retain_bytes; });
static_assert(requires(ashlar::arena_options o) { o.max_bytes, o.initial_bytes; });
static_assert(requires(ashlar::block_pool_options o) { o.max_count, o.retain_slabs; });
static_assert(requires(ashlar::fixed_block_pool_options o) { o.max_count, o.retain_slabs; });
static_assert(requires(ashlar::counted_pool_options o) { o.max_count, o.retain_slabs; });
static_assert(requires(ashlar::pool_set_options o) { o.retain_slabs; });
static_assert(requires(ashlar::object_pool_options o) { o.max_count; });
static_assert(requires(ashlar::intrusive_pool_options o) { o.max_count; });
static_assert(requires(ashlar::slot_map_options o) { o.max_count; });
static_assert(requires(ashlar::tlsf_offsets_options o) { o.max_count; });
static_assert(requires(ashlar::chain_options o) { o.max_count; });

constexpr bool is_spoken() {
  for (const row& each : table)
    if (each.found != each.expected || !each.is_pure) return false;
  return true;
}
static_assert(is_spoken(), "a public type spells an act in its own way; the test of this file names it");

TEST(vocabulary, each_public_type_knows_the_words_of_its_row_and_no_others) {
  for (const row& each : table) {
    EXPECT_EQ(each.found, each.expected) << each.name;
    EXPECT_TRUE(each.is_pure) << each.name;
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

}  // namespace
