// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of scopes where they have no effect: spans without the recorder, no_heap_scope without its hooks.
#include <type_traits>

#include <gtest/gtest.h>

#include <ashlar/os/no_heap_scope.hpp>
#include <ashlar/os/span.hpp>

#include "tests/support/death.hpp"

namespace {

TEST(span, neither_copies_nor_moves) {
  EXPECT_FALSE(std::is_copy_constructible_v<ashlar::span> || std::is_move_constructible_v<ashlar::span>);
}

TEST(span, does_nothing_without_the_recorder) {
  for (int i = 0; i < 3; ++i) {
    const ashlar::span outer("outer");
    const ashlar::span inner("inner");
  }
  ashlar::os::name_thread("tester");
}

using ashlar::allow_heap_scope;
using ashlar::no_heap_scope;

TEST(no_heap_scope, scopes_neither_copy_nor_move) {
  EXPECT_FALSE(std::is_copy_constructible_v<no_heap_scope> || std::is_move_constructible_v<no_heap_scope>);
  EXPECT_FALSE(std::is_copy_constructible_v<allow_heap_scope> || std::is_move_constructible_v<allow_heap_scope>);
}

TEST(no_heap_scope, a_program_without_the_hooks_can_ask) {
  EXPECT_FALSE(ashlar::no_heap_scope::hooks_work());
  const allow_heap_scope allowed;  // no effect outside of a no_heap_scope
}

TEST(no_heap_scope_death, a_scope_without_the_hooks_is_misuse_at_every_level) {
  ASHLAR_EXPECT_DEATH(const no_heap_scope quiet,
                      "ashlar: precondition: made a no_heap_scope in a program whose heap has no hooks: link "
                      "ashlar::no_heap_hooks, or compile malloc/no_heap_hooks.cpp into it");
}

TEST(no_heap_scope_death, the_default_handler_names_the_request_and_its_caller) {
  static const int code = 0;
  ASHLAR_EXPECT_DEATH(ashlar::no_heap_scope::abort_on_use({"malloc", 24, &code}, nullptr),
                      "ashlar: heap use: malloc of 24 bytes in a no_heap_scope, caller 0x*");
  ASHLAR_EXPECT_DEATH(ashlar::no_heap_scope::abort_on_use({"malloc or new", 24, nullptr}, nullptr),
                      "ashlar: heap use: malloc or new of 24 bytes in a no_heap_scope");
}

}  // namespace
