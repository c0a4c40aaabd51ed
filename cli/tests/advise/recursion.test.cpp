// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The function that owns a batch is found behind a deep recursion and where it is inlined; else the cut of the stacks
// is named.
#include <string>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "cli/tests/command.hpp"

namespace {

using nlohmann::json;

class recursion : public ashlar_test::command_test {
protected:
  /// Returns: the site of a request's leaves.
  json site_of(const std::string& request, const std::string& options) {
    const std::string trace = trace_of(ASHLAR_ADVISE_RECURSION " " + request, request + ".trace", options);
    EXPECT_EQ(ashlar("advise --measure none " + trace + " --json " + file("a.json")), 0) << text("err");
    const json advice = json::parse(text("a.json"));
    return advice["sites"][0];
  }
};

TEST_F(recursion, hides_no_owner_at_the_depth_that_record_has_unasked) {
  for (const std::string request : {"direct", "mutual", "inlined"}) {
    const json site = site_of(request, "");
    const std::string owner = "{anonymous}::" + request + "_request", evidence = site["evidence"];
    EXPECT_EQ(site["function"], "{anonymous}::new_leaf");
    EXPECT_EQ(site["owner"]["function"], owner);
    EXPECT_EQ(site["advice"], "ashlar::arena in " + owner + ", released after each batch");
    EXPECT_EQ(evidence.find("stacks are cut"), evidence.npos) << evidence;
  }
}

TEST_F(recursion, a_cut_stack_that_may_hide_an_owner_is_named) {
  const json site = site_of("direct", "--stacks 2");
  EXPECT_EQ(site["remedy"], "counted_arena");
  const std::string evidence = site["evidence"];
  EXPECT_NE(evidence.find("; stacks are cut at 2 frames,"), evidence.npos) << evidence;
  EXPECT_NE(evidence.find(": record with --stacks 64"), evidence.npos) << evidence;
}

}  // namespace
