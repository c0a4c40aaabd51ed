// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The sentences about sites at which nothing is to be changed, and about allocations without a call stack.
#include "cli/advise/rules.hpp"

#include <cstdint>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "cli/advise/advice.hpp"

namespace {

using namespace ashlar::cli;

TEST(rules, nothing_has_the_reason_against_a_pool) {
  struct row {
    container_kind kind;
    std::uint64_t size, sizes, alignment;
    const char* end;
  };
  for (const row& r :
       std::vector<row>{{container_kind::string, 31, 1, 0, "so no cell fits all of them"},
                        {container_kind::node, 48, 9, 0,
                         "9 sizes, but neither an order of deaths nor batches, and too many sizes for one pool"},
                        {container_kind::node, 40'000, 1, 0, "blocks too large for a pool"},
                        {container_kind::node, 64, 1, 64, "an alignment that no pool's cells have"}}) {
    site_features f;
    for (std::uint64_t i = 0; i < 10'000; ++i) f.sizes.record(r.size + i % r.sizes * 16);
    f.allocated = {10'000, 10'000 * r.size};
    f.peak_objects = 5'000;
    f.peak_bytes = 5'000 * r.size;
    f.alignment = r.alignment;
    const program_features program;
    const advice_limits limits;
    site_facts facts{.f = f, .program = program, .limits = limits, .request = {}, .owner = ""};
    facts.request.kind = r.kind;
    EXPECT_FALSE(rule_named("few_sizes").fires(facts)) << r.end;
    EXPECT_TRUE(rule_named("none").evidence(facts).ends_with(r.end)) << rule_named("none").evidence(facts);
  }
}

TEST(rules, a_small_site_with_a_large_share_of_a_small_program_is_too_little_to_matter) {
  site_features f;
  f.allocated = f.at_program_peak = {100, 4'800};
  f.peak_bytes = 4'800;
  program_features program;
  program.traces = 1;
  program.allocated = program.peak = f.allocated;
  const advice_limits limits;
  const site_facts facts{.f = f, .program = program, .limits = limits, .request = {}, .owner = ""};
  ASSERT_TRUE(rule_named("small").fires(facts));
  EXPECT_EQ(rule_named("small").evidence(facts),
            "its calls take about 2.00 µs, 100 % of all, and hold 100 % of the program's peak: too little to matter");
}

TEST(missing_stacks, are_counted_in_english_with_their_cause) {
  const std::string unwinder =
      ": the recorder could not unwind the program there: before its start, or over a C library without an unwinder.";
  const std::string five = "5 of 9 allocations have no call stacks, and cannot be advised on";
  const std::string none = "No allocation has a call stack, so there are no call sites to advise on";
  struct row {
    stack_counts counts;
    std::string sentence;
  };
  for (const row& r :
       std::vector<row>{{{.without = 0, .allocations = 0}, ""},
                        {{.without = 1, .allocations = 100}, ""},
                        {{.without = 1, .allocations = 99},
                         "1 of 99 allocations has no call stack, and cannot be advised on" + unwinder},
                        {{.without = 1'234, .allocations = 2'000},
                         "1,234 of 2,000 allocations have no call stacks, and cannot be advised on" + unwinder},
                        {{.without = 1, .allocations = 1}, none + unwinder},
                        {{.unasked = {"a.trace"}, .without = 5, .allocations = 9},
                         five + ": a.trace was recorded without stacks; `ashlar record --stacks 16` has them."},
                        {{.unasked = {"a.trace", "b.trace"}, .without = 9, .allocations = 9},
                         none + ": 2 traces were recorded without stacks; `ashlar record --stacks 16` has them."},
                        {{.is_table_full = true, .without = 5, .allocations = 9},
                         five + ": a recorder keeps 786,432 different stacks, and the program has more."}})
    EXPECT_EQ(missing_stacks(r.counts), r.sentence);
}

}  // namespace
