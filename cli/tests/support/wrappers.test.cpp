// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Wrappers of the allocator, and functions that only look like one, by planted stacks.
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "cli/support/wrappers.hpp"

namespace {

using namespace ashlar::cli;

/// Stacks of one program; a call is "function" or "function:line".
class wrappers : public testing::Test {
protected:
  /// Effects: 10 objects of `size` bytes are allocated there. `calls`: innermost first.
  void stack(const std::vector<std::string>& calls, std::uint64_t size) {
    std::vector<const source_place*> places;
    for (const std::string& call : calls) places.push_back(&place(call));
    finder.add(places, {.objects = 10, .bytes = 10 * size});
  }

  source_place& place(const std::string& call) {
    const auto [at, is_new] = places_.try_emplace(call);
    source_place& p = at->second;
    if (!is_new) return p;
    const std::size_t colon = call.rfind(':');
    const bool has_line = colon != call.npos && colon != 0 && call[colon - 1] != ':';
    p.function = p.whole = call.substr(0, has_line ? colon : call.npos);
    p.line = has_line ? std::stoi(call.substr(colon + 1)) : 0;
    p.file = has_line ? "a.c" : "";
    p.module = call.starts_with("libc_") ? "libc.so.6" : "prog";
    p.address = 0x1000 * places_.size();
    return p;
  }

  /// Returns: "function through wrapper" of the first call that a developer names, by the stacks before.
  std::string named(const std::vector<std::string>& calls) {
    if (!std::exchange(has_decided_, true)) finder.decide();
    std::vector<const source_place*> all;
    for (const std::string& call : calls) all.push_back(&place(call));
    const program_call found = finder.call_in(all);
    if (found.at == all.size()) return "";
    return all[found.at]->function + (found.through.empty() ? "" : " through " + found.through.back()->function);
  }

  /// Effects: three functions make these calls with sizes of their own.
  void three_callers(std::vector<std::string> calls) {
    const std::size_t inner = calls.size();
    for (unsigned i = 1; i <= 3; ++i) {
      calls.resize(inner);
      calls.insert(calls.end(), {"user" + std::to_string(i), "main"});
      stack(calls, 24U * i);
    }
  }
  void set_code(const std::string& call, std::uint64_t begin, std::uint64_t bytes) {
    place(call).code_begin = begin;
    place(call).code_end = begin + bytes;
  }

  wrapper_finder finder;

private:
  std::map<std::string, source_place> places_;
  bool has_decided_ = false;
};

TEST_F(wrappers, a_function_that_passes_sizes_on_is_one) {
  three_callers({"malloc", "take:7"});
  EXPECT_EQ(named({"malloc", "take:7", "user2", "main"}), "user2 through take");
}

TEST_F(wrappers, a_function_that_makes_one_kind_of_object_is_none) {
  for (const char* const user : {"user1", "user2", "user3"}) stack({"malloc", "make_node:7", user, "main"}, 48);
  for (const char* const user : {"user1", "user2", "user3"}) stack({"malloc", "node_alloc:9", user, "main"}, 48);
  EXPECT_EQ(named({"malloc", "make_node:7", "user1", "main"}), "make_node");
  EXPECT_EQ(named({"malloc", "node_alloc:9", "user1", "main"}), "node_alloc");
}

TEST_F(wrappers, a_function_of_few_callers_needs_a_name) {
  stack({"malloc", "take:7", "user", "main"}, 24);
  stack({"malloc", "xmalloc:9", "user", "main"}, 24);
  EXPECT_EQ(named({"malloc", "take:7", "user", "main"}), "take");
  EXPECT_EQ(named({"malloc", "xmalloc:9", "user", "main"}), "user through xmalloc");
}

TEST_F(wrappers, a_small_function_of_many_sizes_needs_one_caller) {
  set_code("take:7", 0x100, 0x60);
  for (const std::uint64_t size : {8U, 24U, 40U, 56U, 72U, 88U, 104U, 120U})
    stack({"malloc", "take:7", "users:" + std::to_string(size), "main"}, size);
  EXPECT_EQ(named({"malloc", "take:7", "users:8", "main"}), "users through take");
}

TEST_F(wrappers, a_function_that_asks_at_two_places_is_none) {
  three_callers({"malloc", "take:7"});
  stack({"malloc", "take:8", "user1", "main"}, 24);
  EXPECT_EQ(named({"malloc", "take:7", "user1", "main"}), "take");
}

TEST_F(wrappers, a_function_that_calls_others_which_allocate_is_none) {
  three_callers({"malloc", "take:7"});
  stack({"malloc", "parse:3", "take:8", "main"}, 24);
  EXPECT_EQ(named({"malloc", "take:7", "user1", "main"}), "take");
}

TEST_F(wrappers, a_function_with_much_code_is_none) {
  set_code("take:7", 0x100, 0x200);
  three_callers({"malloc", "take:7"});
  set_code("xmalloc:9", 0x400, 0x200);
  three_callers({"malloc", "xmalloc:9"});
  EXPECT_EQ(named({"malloc", "take:7", "user1", "main"}), "take");
  EXPECT_EQ(named({"malloc", "xmalloc:9", "user1", "main"}), "user1 through xmalloc");
}

TEST_F(wrappers, a_function_that_frees_its_blocks_is_none) {
  three_callers({"malloc", "take:7"});
  finder.add_own_frees(place("take:7"), 15);
  EXPECT_EQ(named({"malloc", "take:7", "user1", "main"}), "take");
}

TEST_F(wrappers, a_function_with_a_container_is_none) {
  three_callers({"operator new", "std::vector<…>::push_back", "add:7"});
  EXPECT_EQ(named({"operator new", "std::vector<…>::push_back", "add:7", "user1", "main"}), "add");
}

TEST_F(wrappers, a_recursive_function_and_main_are_none) {
  three_callers({"malloc", "build:7"});
  stack({"malloc", "build:7", "build:9", "user1", "main"}, 100);
  stack({"malloc", "main"}, 100);
  EXPECT_EQ(named({"malloc", "build:7", "user1", "main"}), "build");
  EXPECT_EQ(named({"malloc", "main"}), "main");
}

TEST_F(wrappers, a_wrapper_of_a_wrapper_is_one) {
  three_callers({"malloc", "take:7", "copy:3"});
  three_callers({"malloc", "take:7"});
  EXPECT_EQ(named({"malloc", "take:7", "copy:3", "user1", "main"}), "user1 through copy");
  EXPECT_EQ(named({"malloc", "take:7", "user1", "main"}), "user1 through take");
}

TEST_F(wrappers, a_stripped_function_is_known_by_its_code) {
  place("prog+0x5f388").whole.clear();
  set_code("prog+0x5f388", 0x5f370, 0x30);
  three_callers({"malloc", "prog+0x5f388"});
  EXPECT_EQ(named({"malloc", "prog+0x5f388", "user1", "main"}), "user1 through prog+0x5f388");
}

TEST_F(wrappers, the_c_library_is_passed_over_unless_all_is_its) {
  stack({"malloc", "libc_getdelim", "read_line:4", "main"}, 120);
  EXPECT_EQ(named({"malloc", "libc_getdelim", "read_line:4", "main"}), "read_line through libc_getdelim");
  EXPECT_EQ(named({"malloc", "libc_getdelim"}), "libc_getdelim");
  EXPECT_EQ(named({"malloc", "operator new"}), "");
}

}  // namespace
