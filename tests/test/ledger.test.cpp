// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of the ledger: its problems and their lines, its failures on demand, the ledger of default-constructed
// allocators; and of the loop that fails each allocation of a scenario in turn.
#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <new>
#include <sstream>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

#include <gtest/gtest.h>

#include <ashlar/detail/support/poison.hpp>
#include <ashlar/test/checking_allocator.hpp>
#include <ashlar/test/fail_each_allocation.hpp>
#include <ashlar/test/ledger.hpp>
#include <ashlar/test/problem.hpp>

#include "tests/support/build.hpp"
#include "tests/support/death.hpp"
#include "tests/support/stress.hpp"

namespace {

using ashlar::test::allocation_call;
using ashlar::test::default_ledger;
using ashlar::test::holdings;
using ashlar::test::ledger;
using ashlar::test::problem;
using ashlar::test::problem_kind;

constexpr int a_type = 0;
constexpr int another_type = 0;
constexpr allocation_call three_words{3, 4, 4, 1, &a_type};

std::vector<problem_kind> kinds_of(const std::vector<problem>& problems) {
  std::vector<problem_kind> kinds;
  for (const problem& each : problems) kinds.push_back(each.kind);
  return kinds;
}

using kinds = std::vector<problem_kind>;

TEST(ledger, correct_use_leaves_nothing_to_tell) {
  ledger book;
  void* const p = book.allocate(three_words);
  EXPECT_EQ(book.balance(), (holdings{1, 12}));
  EXPECT_EQ(book.balance(1), (holdings{1, 12}));
  EXPECT_EQ(book.balance(2), holdings{});
  book.deallocate(p, three_words);
  EXPECT_EQ(book.balance(), holdings{});
  EXPECT_EQ(book.allocations(), 1u);
  EXPECT_TRUE(book.finish().empty());
}

TEST(ledger, identities_are_never_given_twice) {
  ledger book;
  EXPECT_EQ(book.make_identity(), 1u);
  EXPECT_EQ(book.make_identity(), 2u);
}

TEST(ledger, tells_each_difference_between_the_two_calls) {
  const struct {
    allocation_call freed;
    problem_kind kind;
  } cases[] = {
      {{3, 4, 4, 2, &a_type}, problem_kind::cross_free},
      {{2, 4, 4, 1, &a_type}, problem_kind::wrong_count},
      {{3, 4, 8, 1, &another_type}, problem_kind::wrong_alignment},
      {{3, 4, 4, 1, &another_type}, problem_kind::wrong_type},
      {{12, 1, 4, 1, &a_type}, problem_kind::wrong_type},
  };
  for (const auto& each : cases) {
    ledger book;
    void* const p = book.allocate(three_words);
    book.deallocate(p, each.freed);
    EXPECT_EQ(book.balance(), holdings{});
    EXPECT_EQ(book.finish(), (std::vector<problem>{{each.kind, p, three_words, each.freed}}));
  }
}

TEST(ledger, a_wrong_free_for_two_reasons_is_reported_once) {
  ledger book;
  book.deallocate(book.allocate(three_words), {1, 1, 1, 9, nullptr});
  EXPECT_EQ(kinds_of(book.finish()), kinds{problem_kind::cross_free});
}

TEST(ledger, tells_double_interior_and_foreign_frees_apart) {
  ledger book;
  int on_the_stack = 0;
  auto* const freed = static_cast<std::byte*>(book.allocate(three_words));
  auto* const live = static_cast<std::byte*>(book.allocate(three_words));
  book.deallocate(freed, three_words);
  book.deallocate(freed, three_words);
  book.deallocate(live + 4, three_words);
  book.deallocate(&on_the_stack, three_words);
  book.deallocate(nullptr, three_words);
  book.deallocate(live, three_words);
  EXPECT_EQ(kinds_of(book.finish()), (kinds{problem_kind::double_free, problem_kind::interior_free,
                                            problem_kind::foreign_free, problem_kind::null_free}));
}

TEST(ledger, a_block_of_another_ledger_is_foreign_and_leaks_there) {
  ledger book;
  ledger other;
  void* const p = book.allocate(three_words);
  other.deallocate(p, three_words);
  EXPECT_EQ(kinds_of(other.finish()), kinds{problem_kind::foreign_free});
  EXPECT_EQ(kinds_of(book.finish()), kinds{problem_kind::leak});
}

TEST(ledger, notices_writes_beside_a_block_and_after_its_end) {
  ledger book;
  auto* const p = static_cast<std::byte*>(book.allocate(three_words));
  ashlar::detail::mark_readable(p + 12, 1);
  p[12] = std::byte{0};
  book.deallocate(p, three_words);
  ashlar::detail::mark_readable(p, 12);
  p[3] = std::byte{0};
  EXPECT_EQ(kinds_of(book.finish()), (kinds{problem_kind::overrun, problem_kind::written_after_free}));
}

TEST(ledger, notices_a_write_to_a_freed_block_at_the_latest_when_a_mebibyte_was_freed_after_it) {
  ledger book;
  constexpr allocation_call large{1024, 64, 8, 1, nullptr};
  auto* const p = static_cast<std::byte*>(book.allocate(three_words));
  book.deallocate(p, three_words);
  ashlar::detail::mark_readable(p, 12);
  p[3] = std::byte{0};
  for (int i = 0; i < 17; ++i) book.deallocate(book.allocate(large), large);
  EXPECT_EQ(kinds_of(book.problems()), kinds{problem_kind::written_after_free});
  EXPECT_EQ(book.finish().size(), 1u);
}

TEST(ledger, a_leak_is_reported_once_with_its_block) {
  ledger book;
  void* const p = book.allocate(three_words);
  EXPECT_EQ(book.finish(), (std::vector<problem>{{problem_kind::leak, p, three_words, {}}}));
  EXPECT_TRUE(book.finish().empty());
}

TEST(ledger, a_callback_is_called_at_once_and_nothing_is_collected) {
  std::vector<problem_kind> told;
  {
    ledger book([&](const problem& each) {
      told.push_back(each.kind);
      static_cast<void>(book.balance());  // a callback may use the ledger
    });
    void* const p = book.allocate(three_words);
    static_cast<void>(book.allocate(three_words));
    book.deallocate(p, {1, 4, 4, 1, &a_type});
    EXPECT_EQ(told, kinds{problem_kind::wrong_count});
    EXPECT_TRUE(book.problems().empty());
  }
  EXPECT_EQ(told, (kinds{problem_kind::wrong_count, problem_kind::leak}));
}

void end_with_a_leak() {
  ledger book;
  static_cast<void>(book.allocate(three_words));
}

TEST(ledger, prints_untaken_problems_and_aborts_at_its_end) {
  ASHLAR_EXPECT_DEATH(end_with_a_leak(),
                      "ashlar: leak: never freed, pointer 0x*, allocated 3 x 4 bytes at alignment 4 by allocator 1");
}

TEST(ledger, fails_on_demand) {
#if defined(__cpp_exceptions)
  ledger book;
  book.fail_at(1);
  void* const p = book.allocate(three_words);
  EXPECT_THROW(static_cast<void>(book.allocate(three_words)), ashlar::test::injected_failure);
  book.deallocate(book.allocate(three_words), three_words);
  book.fail_from(0);
  EXPECT_THROW(static_cast<void>(book.allocate(three_words)), std::bad_alloc);
  EXPECT_THROW(static_cast<void>(book.allocate(three_words)), std::bad_alloc);
  EXPECT_EQ(book.refusals(), 3u);
  EXPECT_EQ(book.balance(), (holdings{1, 12}));
  book.fail_never();
  book.deallocate(p, three_words);
  book.deallocate(book.allocate(three_words), three_words);
  EXPECT_THROW(static_cast<void>(book.allocate({1, std::size_t{1} << (8 * sizeof(std::size_t) - 1), 8, 1, nullptr})),
               std::bad_alloc);
#endif
}

TEST(ledger, serves_many_threads) {
  ledger book;
  ashlar_test::on_threads(4, [&](std::size_t who) {
    const allocation_call call{2, 8, 8, who + 1, nullptr};
    for (int i = 0; i < 300; ++i) book.deallocate(book.allocate(call), call);
  });
  EXPECT_EQ(book.allocations(), 1200u);
  EXPECT_TRUE(book.finish().empty());
}

TEST(default_ledger, scopes_nest) {
  ledger outer;
  ledger inner;
  const default_ledger in_outer(outer);
  {
    const default_ledger in_inner(inner);
    EXPECT_EQ(&default_ledger::get(), &inner);
  }
  EXPECT_EQ(&default_ledger::get(), &outer);
}

TEST(default_ledger, an_allocator_made_from_nothing_is_unequal_to_all_others) {
  ledger book;
  const default_ledger scope(book);
  using allocator = ashlar::test::checking_allocator<int>;
  EXPECT_EQ(&allocator().book(), &book);
  EXPECT_FALSE(allocator() == allocator());
}

TEST(default_ledger, making_an_allocator_from_nothing_outside_is_misuse) {
  ASHLAR_EXPECT_DEATH(ashlar::test::checking_allocator<int>(),
                      "ashlar: precondition: default-constructed a checking_allocator outside a default_ledger");
}

using ashlar::detail::failure_plan;

std::string next_eight(failure_plan& plan) {
  std::string picture;
  for (int i = 0; i < 8; ++i) picture += plan.fails_next() ? '.' : '#';
  return picture;
}

TEST(failure_plan, nothing_fails_before_a_plan) {
  failure_plan plan;
  EXPECT_EQ(next_eight(plan), "########");
  plan.fail_at(3);
  EXPECT_EQ(next_eight(plan), "###.####");
  plan.fail_from(3);
  EXPECT_EQ(next_eight(plan), "###.....");
  plan.fail_never();
  EXPECT_EQ(next_eight(plan), "########");
  plan.fail_at(failure_plan::never);
  EXPECT_EQ(next_eight(plan), "########");
}

static_assert(std::is_base_of_v<std::bad_alloc, ashlar::test::injected_failure>);

TEST(failure_plan, an_injected_failure_names_its_origin) {
  EXPECT_STREQ(ashlar::test::injected_failure().what(), "ashlar::test::injected_failure");
}

TEST(problem, describes_both_sides_where_they_are_known) {
  void* const p = reinterpret_cast<void*>(0xab0);
  const problem both{problem_kind::cross_free, p, {3, 8, 16, 1, nullptr}, {2, 8, 16, 2, nullptr}};
  EXPECT_EQ(describe(both),
            "ashlar: cross_free: freed through an allocator unequal to the one it came from, pointer 0xab0, "
            "allocated 3 x 8 bytes at alignment 16 by allocator 1, freed 2 x 8 bytes at alignment 16 by allocator 2");
  const problem leak{.kind = problem_kind::leak, .pointer = p, .allocated = {1, 4, 4, 9, nullptr}};
  EXPECT_EQ(describe(leak),
            "ashlar: leak: never freed, pointer 0xab0, allocated 1 x 4 bytes at alignment 4 by allocator 9");
  std::ostringstream out;
  out << leak;
  EXPECT_EQ(out.str(), describe(leak));
}

TEST(problem, every_kind_has_a_sentence_that_begins_with_its_name) {
  for (int kind = 0; kind <= static_cast<int>(problem_kind::leak); ++kind) {
    const auto sentence = sentence_of(static_cast<problem_kind>(kind));
    EXPECT_NE(sentence.find(": "), std::string::npos) << sentence;
  }
  EXPECT_EQ(sentence_of(static_cast<problem_kind>(99)), "problem");
}

using ashlar::test::checking_allocator;

template <class Scenario>
concept can_fail_each = requires(Scenario s) { ashlar::test::fail_each_allocation(s); };
static_assert(can_fail_each<void (*)(ledger&)> == ashlar_test::has_exceptions);
static_assert(!can_fail_each<int>);

#if defined(__cpp_exceptions)

TEST(fail_each_allocation, goes_through_all_of_them) {
  int runs = 0;
  const std::size_t count = ashlar::test::fail_each_allocation([&](ledger& book) {
    ++runs;
    std::list<int, checking_allocator<int>> numbers{checking_allocator<int>(book)};
    for (int i = 0; i < 5; ++i) numbers.push_back(i);
  });
  EXPECT_EQ(count, 5u);
  EXPECT_EQ(runs, 2 * 5 + 1);
}

// Leaks its first block if the second allocation fails.
void leak_on_failure(ledger& book) {
  checking_allocator<int> a(book);
  int* const first = a.allocate(1);
  int* const second = a.allocate(1);
  a.deallocate(second, 1);
  a.deallocate(first, 1);
}

TEST(fail_each_allocation, tells_of_a_leak_on_the_way_out) {
  std::vector<problem> told;
  const auto note = [&](const problem& each) { told.push_back(each); };
  EXPECT_EQ(ashlar::test::fail_each_allocation(leak_on_failure, note), 2u);
  ASSERT_EQ(told.size(), 2u);  // one for "the second fails", one for "all from the second on"
  EXPECT_EQ(told[0].kind, problem_kind::leak);
}

TEST(fail_each_allocation, an_exception_of_the_scenario_itself_is_passed_on) {
  const auto throws = [](ledger&) { throw std::logic_error("mine"); };
  EXPECT_THROW(ashlar::test::fail_each_allocation(throws), std::logic_error);
}

TEST(fail_each_allocation, a_scenario_without_allocations_is_run_once) {
  int runs = 0;
  EXPECT_EQ(ashlar::test::fail_each_allocation([&](ledger&) { ++runs; }), 0u);
  EXPECT_EQ(runs, 1);
}

#endif

}  // namespace
