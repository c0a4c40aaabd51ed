// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of the sentences about sites at which nothing is to be changed.
#include "cli/advise/rules.hpp"

#include <cstdint>
#include <string>

#include <gtest/gtest.h>

namespace {

using namespace ashlar::cli;

/// Returns: the evidence of the last rule for 10,000 objects of `sizes` sizes from `size` up, of which `peak` live.
std::string why_nothing(container_kind kind, std::uint64_t size, std::uint64_t sizes, std::uint64_t peak,
                        std::uint64_t alignment = 0) {
  site_features f;
  for (std::uint64_t i = 0; i < 10'000; ++i) f.sizes.record(size + i % sizes * 16);
  f.allocated = {10'000, 10'000 * size};
  f.peak_objects = peak;
  f.peak_bytes = peak * size;
  f.alignment = alignment;
  const program_features program;
  const advice_limits limits;
  site_facts facts{.f = f, .program = program, .limits = limits, .request = {}, .owner = "", .phases = {}};
  facts.request.kind = kind;
  EXPECT_FALSE(rule_named("few_sizes").fires(facts));
  return rule_named("none").evidence(facts);
}

TEST(rules, nothing_has_the_reason_against_a_pool) {
  const auto ends = [](const std::string& text, const std::string& end) { return text.ends_with(end); };
  EXPECT_TRUE(ends(why_nothing(container_kind::string, 31, 1, 5'000), "so no cell fits all of them"));
  EXPECT_TRUE(ends(why_nothing(container_kind::node, 48, 9, 5'000), "9 sizes, but neither an order of deaths nor "
                                                                    "batches, and too many sizes for one pool"));
  EXPECT_TRUE(ends(why_nothing(container_kind::node, 40'000, 1, 5'000), "blocks too large for a pool"));
  EXPECT_TRUE(ends(why_nothing(container_kind::node, 64, 1, 5'000, 64), "an alignment that no pool's cells have"));
}

TEST(rules, a_small_site_with_a_large_share_of_a_small_program_is_too_little_to_matter) {
  site_features f;
  f.allocated = {100, 4'800};
  f.at_program_peak = f.allocated;
  f.peak_bytes = 4'800;
  program_features program;
  program.traces = 1;
  program.allocated = f.allocated;
  program.peak = f.allocated;
  const advice_limits limits;
  const site_facts facts{.f = f, .program = program, .limits = limits, .request = {}, .owner = "", .phases = {}};
  ASSERT_TRUE(rule_named("small").fires(facts));
  EXPECT_EQ(rule_named("small").evidence(facts),
            "its calls take about 2.00 µs, 100 % of all, and hold 100 % of the program's peak: too little to matter");
}

}  // namespace
