// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The allocators that a message names can be named.
#include "cli/replay/candidates.hpp"

#include <functional>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace {

using search = std::function<std::vector<ashlar::cli::candidate>(const std::vector<std::string>&)>;

/// Returns: why the search knows no such name; empty if it does, also if this machine lacks the library.
std::string why_unknown(const search& named, const std::string& name) {
  try {
    named({name});
  } catch (const ashlar::cli::unknown_allocator& error) {
    return error.what();
  } catch (const std::runtime_error&) {
  }
  return "";
}

/// Returns: the names in "…; known are A, B, or the path of a library".
std::vector<std::string> names_in(const std::string& message) {
  const std::string before = "; known are ";
  std::istringstream list(message.substr(message.find(before) + before.size()));
  std::vector<std::string> names;
  for (std::string name; std::getline(list >> std::ws, name, ',');)
    if (!name.starts_with("or ")) names.push_back(name);
  return names;
}

TEST(candidates, those_that_a_refusal_names_are_not_refused) {
  for (const search& named : {search(ashlar::cli::named_candidates), search(ashlar::cli::named_libraries)}) {
    const std::vector<std::string> names = names_in(why_unknown(named, "nonesuch"));
    EXPECT_GE(names.size(), 10u);
    for (const std::string& name : names) EXPECT_EQ(why_unknown(named, name), "");
  }
}

TEST(candidates, what_cannot_be_preloaded_is_no_library) {
  for (const char* name : {"glibc", "ashlar", "local_heap", "heap", "null"})
    EXPECT_EQ(why_unknown(ashlar::cli::named_libraries, name),
              std::string(name) + " cannot be preloaded: it is not a library");
}

}  // namespace
