// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The laws of adaptors: each obeys the laws of a resource over any upstream, has exactly the refinements of the
// upstream that its row promises, and equals no other of its kind if it keeps accounts.
#include <cstddef>

#include <gtest/gtest.h>

#include <ashlar/base/lock.hpp>
#include <ashlar/base/resource.hpp>
#include <ashlar/resource/block_pool.hpp>
#include <ashlar/resource/new_delete_resource.hpp>

#include "tests/compositions/adaptors.hpp"
#include "tests/support/able_resource.hpp"
#include "tests/support/conformance.hpp"
#include "tests/support/counting_resource.hpp"
#include "tests/support/skills.hpp"

namespace {

using namespace ashlar_test;

// Cells with room for what an adaptor puts beside a block.
struct cells : ashlar::block_pool<ashlar::resource_ref<counting_resource<>>> {
  explicit cells(counting_resource<>& below)
      : block_pool({.cell_bytes = 256, .cell_alignment = 16, .slab_bytes = 8192}, below) {}
};

template <class A>
struct subject : conformance_defaults {
  static constexpr bool reuses = false;
  static constexpr std::size_t most_live = 60;
  counting_resource<> upstream;
  A resource{upstream};
};

template <class A>
struct over_cells : subject<A> {
  static constexpr std::size_t max_alignment = 16;
  static constexpr std::size_t largest = 64;
};

#define ASHLAR_CONFORMS(label, ...)                                                                                    \
  const bool label##_tested = conforms(#label, subjects<subject<adaptor_named::label<able_resource<>>>,                \
                                                        subject<adaptor_named::label<able_resource<!has_exceptions>>>, \
                                                        over_cells<adaptor_named::label<cells>>>{});
ASHLAR_EACH_ADAPTOR(ASHLAR_CONFORMS)
#undef ASHLAR_CONFORMS

// With a lock it is for any thread, over any upstream.
template <template <class> class A, skills PassesOn>
constexpr bool passes_on_with_a_lock =
    skills_of<A<skilled<0>>> == can_share && skills_of<A<skilled<PassesOn>>> == (PassesOn | can_share);

// Of every upstream; those of frees without a size, by adaptors that find the size; the rest.
constexpr skills basic = can_try | can_own | can_release | can_expand | can_prefault;
constexpr skills sizeless = can_describe | can_at_least;

// The maker of a chain makes its resources, so its type is that of the upstream here.
template <class R>
using chain = ashlar::chain<R, ashlar::new_delete_resource>;
template <class R>
using limiting = ashlar::limiting<R>;
template <class R>
using limiting_among_threads = ashlar::limiting<R, ashlar::shared_budget>;
template <class R>
using tracking_among_threads = ashlar::tracking<R, ashlar::site::none, ashlar::new_delete_resource, ashlar::spin_lock>;

static_assert(passes_on<ashlar::fallback_monitor, every_skill>);
static_assert(passes_on<adaptor_named::logging, every_skill>);
static_assert(passes_on_with_a_lock<adaptor_named::synchronized, every_skill>);
static_assert(passes_on < adaptor_named::profiling, basic | sizeless | can_share >);
static_assert(passes_on < adaptor_named::guarding, basic | can_describe | can_share >);
static_assert(passes_on<adaptor_named::statistics, basic>, "a block must be freed with its size, to be counted");
static_assert(passes_on<limiting, basic>);
static_assert(passes_on < limiting_among_threads, basic | can_share >);
static_assert(passes_on < adaptor_named::tracing, basic | sizeless >);
static_assert(passes_on < adaptor_named::tracking, basic | sizeless >);
static_assert(passes_on < tracking_among_threads, basic | sizeless | can_share >);
static_assert(passes_on < chain, basic | can_describe, can_own >);

}  // namespace
