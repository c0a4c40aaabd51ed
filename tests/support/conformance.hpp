// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The suite that every resource joins: the laws of the concept, and of each refinement that the resource claims.
#pragma once

#include <cstddef>
#include <memory>
#include <source_location>
#include <string>
#include <type_traits>

#include <gtest/gtest.h>

#include <ashlar/base/resource.hpp>

#include "tests/support/build.hpp"
#include "tests/support/counting_resource.hpp"
#include "tests/support/laws.hpp"
#include "tests/support/subject.hpp"

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
///     const bool tested = conforms<pool_of_24>("block_pool");
///
/// The laws call it through `any_subject`, so that they are compiled once.
struct conformance_defaults {
  static constexpr std::size_t max_alignment = 4096;  ///< every power of two up to it is tried
  static constexpr std::size_t largest = 1000;        ///< bytes of the largest block tried; at least 4
  static constexpr std::size_t most_live = 100;       ///< blocks held at once in the random walk
  static constexpr std::size_t churn_steps = 2000;
  static constexpr int most_served = 200'000;  ///< blocks of the largest size, before it refuses one
  static constexpr bool bounded = false;       ///< it may refuse in the random walk
  static constexpr bool any_order = true;      ///< false: the last block is freed first, always
  static constexpr bool reuses = true;         ///< false: a freed block does not make room for another
  static constexpr bool exhaustible = true;    ///< false: no test makes it refuse
};

/// The upstream of a subject with cells of `Largest` bytes at `Alignment`.
template <std::size_t Largest, std::size_t Alignment>
struct cells_over_counts : conformance_defaults {
  static constexpr std::size_t max_alignment = Alignment;
  static constexpr std::size_t largest = Largest;
  counting_resource<> upstream;
};

/// Subjects of the suite in files that ThreadSanitizer builds: the laws are of one thread, so one subject shows it
/// enough.
template <class First, class... More>
using subjects = std::conditional_t<has_tsan, ::testing::Types<First>, ::testing::Types<First, More...>>;

/// The test of one law on one subject.
class conformance : public ::testing::Test {
public:
  using maker = std::unique_ptr<any_subject> (*)();
  using law = void (*)(any_subject& s, maker make);

  conformance(maker make, law tested) : make_(make), tested_(tested) {}

private:
  void TestBody() override { tested_(*make_(), make_); }

  maker make_;
  law tested_;
};

inline void keeps_blocks_apart_in_a_random_walk(any_subject&, conformance::maker make) {
  for (unsigned seed = 1; seed <= cases_of_build(2U, 5U); ++seed) keeps_blocks_apart(*make(), seed);
}

inline void keeps_the_promises_of_its_refinements(any_subject& s, conformance::maker) {
  if (s.traits.owns) owns_its_blocks_only(s);
  if (s.traits.releases) releases_everything(s);
  if (s.traits.gives_at_least) gives_at_least(s);
  if (s.traits.prefaults) prefaults_without_harm(s);
  if (s.traits.describes_itself) finds_the_size_of_a_block(s);
  if (s.traits.expands) expands_in_place(s);
}

struct named_law {
  const char* name;
  conformance::law tested;
};

inline constexpr named_law laws_of_resources[] = {
    {"aligns_blocks_as_asked", [](any_subject& s, conformance::maker) { aligns_blocks(s); }},
    {"empty_blocks_are_blocks_too", [](any_subject& s, conformance::maker) { keeps_empty_blocks_apart(s); }},
    {"keeps_blocks_apart_in_a_random_walk", keeps_blocks_apart_in_a_random_walk},
    {"equality_is_reflexive_and_means_that_blocks_may_be_exchanged",
     [](any_subject& s, conformance::maker make) { equals_itself(s, *make()); }},
    {"frees_without_throwing",
     [](any_subject& s, conformance::maker) { EXPECT_TRUE(s.traits.frees_without_throwing); }},
    {"refuses_absurd_sizes_and_stays_as_it_was", [](any_subject& s, conformance::maker) { refuses_absurd_sizes(s); }},
    {"refuses_an_alignment_that_is_no_power_of_two",
     [](any_subject& s, conformance::maker) { refuses_bad_alignments(s); }},
    {"works_again_after_exhaustion",
     [](any_subject& s, conformance::maker) {
       if (s.traits.exhaustible && s.traits.may_refuse) recovers_from_exhaustion(s);
     }},
    {"keeps_the_promises_of_its_refinements", keeps_the_promises_of_its_refinements}};

template <class Subject>
[[nodiscard]] std::unique_ptr<any_subject> make_subject() {
  return std::make_unique<subject_of<Subject>>();
}

/// Effects: adds the tests `<suite>.<law>` of one subject.
inline void register_laws(const std::string& suite, conformance::maker make, const std::source_location& from) {
  for (const named_law& each : laws_of_resources)
    ::testing::RegisterTest(suite.c_str(), each.name, nullptr, nullptr, from.file_name(), static_cast<int>(from.line()),
                            [make, tested = each.tested] { return new conformance(make, tested); });
}

/// Effects: adds the suites `<name>/conformance/<number>`, one for each subject. Returns: true, so that it can be the
/// initial value of a constant.
template <class... Subjects>
[[nodiscard]] bool conforms(const std::string& name,
                            const std::source_location from = std::source_location::current()) {
  int number = 0;
  (register_laws(name + "/conformance/" + std::to_string(number++), make_subject<Subjects>, from), ...);
  return true;
}

/// The same for a list of subjects.
template <class... Subjects>
[[nodiscard]] bool conforms(const std::string& name, ::testing::Types<Subjects...>,
                            const std::source_location from = std::source_location::current()) {
  return conforms<Subjects...>(name, from);
}

}  // namespace ashlar_test
