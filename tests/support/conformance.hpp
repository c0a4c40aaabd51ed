// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The suite that every resource joins: the laws of the concept, and of each refinement that the resource claims.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <gtest/gtest.h>

#include <ashlar/base/resource.hpp>

#include "tests/support/build.hpp"
#include "tests/support/refinement_laws.hpp"
#include "tests/support/resource_laws.hpp"

namespace ashlar_test {

/// A subject is a default-constructible struct with a member `resource`, and, if it needs memory from outside, a
/// `counting_resource` called `upstream` declared before it. Ten lines:
///
///     struct pool_of_24 : ashlar_test::conformance_defaults {
///       static constexpr std::size_t max_alignment = 8;
///       static constexpr std::size_t largest = 24;
///       counting_resource<> upstream;
///       block_pool<resource_ref<counting_resource<>>> resource{{.cell_bytes = 24}, upstream};
///     };
///     INSTANTIATE_TYPED_TEST_SUITE_P(block_pool, conformance, ::testing::Types<pool_of_24>);
struct conformance_defaults {
  static constexpr std::size_t max_alignment = 4096;  ///< every power of two up to it is tried
  static constexpr std::size_t largest = 1000;        ///< bytes of the largest block tried; at least 4
  static constexpr std::size_t most_live = 100;       ///< blocks held at once in the random walk
  static constexpr std::size_t churn_steps = 2000;
  static constexpr bool bounded = false;     ///< it may refuse in the random walk
  static constexpr bool any_order = true;    ///< false: the last block is freed first, always
  static constexpr bool reuses = true;       ///< false: a freed block does not make room for another
  static constexpr bool exhaustible = true;  ///< false: no test makes it refuse
};

/// Subjects of the suite in files that ThreadSanitizer builds: the laws are of one thread, so one subject shows it
/// enough.
template <class First, class... More>
using subjects = std::conditional_t<has_tsan, ::testing::Types<First>, ::testing::Types<First, More...>>;

template <class Subject>
class conformance : public ::testing::Test {
protected:
  Subject subject_;
  using resource_type = decltype(subject_.resource);
  static_assert(ashlar::resource<resource_type>);
};

TYPED_TEST_SUITE_P(conformance);

TYPED_TEST_P(conformance, aligns_blocks_as_asked) { aligns_blocks(this->subject_); }

TYPED_TEST_P(conformance, empty_blocks_are_blocks_too) { keeps_empty_blocks_apart(this->subject_); }

TYPED_TEST_P(conformance, keeps_blocks_apart_in_a_random_walk) {
  for (unsigned seed = 1; seed <= cases_of_build(2U, 5U); ++seed) {
    TypeParam subject;
    keeps_blocks_apart(subject, seed);
  }
}

TYPED_TEST_P(conformance, equality_is_reflexive_and_means_that_blocks_may_be_exchanged) {
  TypeParam other;
  equals_itself(this->subject_, other);
}

TYPED_TEST_P(conformance, frees_without_throwing) {
  EXPECT_TRUE(noexcept(this->subject_.resource.deallocate(nullptr, std::size_t{}, std::size_t{})));
}

TYPED_TEST_P(conformance, refuses_absurd_sizes_and_stays_as_it_was) { refuses_absurd_sizes(this->subject_); }

TYPED_TEST_P(conformance, refuses_an_alignment_that_is_no_power_of_two) { refuses_bad_alignments(this->subject_); }

TYPED_TEST_P(conformance, works_again_after_exhaustion) {
  if constexpr (TypeParam::exhaustible && may_refuse<typename TestFixture::resource_type>)
    recovers_from_exhaustion(this->subject_);
}

TYPED_TEST_P(conformance, keeps_the_promises_of_its_refinements) {
  using tested = typename TestFixture::resource_type;
  if constexpr (ashlar::owning_resource<tested>) owns_its_blocks_only(this->subject_);
  if constexpr (ashlar::releasable_resource<tested>) releases_everything(this->subject_);
  if constexpr (ashlar::detail::at_least_resource<tested>) gives_at_least(this->subject_);
  if constexpr (ashlar::detail::prefaulting_resource<tested>) prefaults_without_harm(this->subject_);
  if constexpr (ashlar::self_describing_resource<tested>) finds_the_size_of_a_block(this->subject_);
  if constexpr (ashlar::expanding_resource<tested>) expands_in_place(this->subject_);
}

REGISTER_TYPED_TEST_SUITE_P(conformance, aligns_blocks_as_asked, empty_blocks_are_blocks_too,
                            keeps_blocks_apart_in_a_random_walk,
                            equality_is_reflexive_and_means_that_blocks_may_be_exchanged, frees_without_throwing,
                            refuses_absurd_sizes_and_stays_as_it_was, refuses_an_alignment_that_is_no_power_of_two,
                            works_again_after_exhaustion, keeps_the_promises_of_its_refinements);

}  // namespace ashlar_test
