// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of the book of blocks: against a std::map, and the most recently freed blocks.
#include <ashlar/adaptor/tracking.hpp>

#include <array>
#include <cstddef>
#include <map>
#include <random>

#include <gtest/gtest.h>

#include <ashlar/base/resource.hpp>

#include "tests/support/counting_resource.hpp"

namespace {

using ashlar::resource_ref;
using ashlar_test::counting_resource;
using book = ashlar::detail::block_book<ashlar::site::return_address, resource_ref<counting_resource<>>>;

std::array<std::byte, 4096> memory;

book::entry* noted(book& b, std::size_t at, std::size_t bytes) {
  book::entry* const e = b.make();
  e->data = &memory[at];
  e->bytes = e->capacity = bytes;
  b.insert(e);
  return e;
}

TEST(block_book, keeps_what_a_map_keeps) {
  counting_resource<> upstream;
  book b{resource_ref<counting_resource<>>(upstream)};
  std::map<std::size_t, std::size_t> oracle;
  std::mt19937 random(1);
  for (int step = 0; step < 3000; ++step) {
    const std::size_t at = random() % 256 * 16;
    const auto held = oracle.find(at);
    if (held == oracle.end()) {
      const std::size_t bytes = random() % 17;
      noted(b, at, bytes);
      oracle.emplace(at, bytes);
    } else {
      b.remember_as_freed(b.find(&memory[at]), ashlar::site::return_address::capture(&memory));
      oracle.erase(held);
      ASSERT_NE(b.find_freed(&memory[at]), nullptr);
    }
    ASSERT_EQ(b.live(), oracle.size());
    if (step % 64 == 0) ASSERT_TRUE(b.invariant());
  }
  std::size_t bytes = 0;
  auto next = oracle.begin();
  b.for_each([&](const book::entry& e) {
    ASSERT_EQ(e.data, &memory[next->first]);
    bytes += (next++)->second;
  });
  EXPECT_EQ(b.bytes(), bytes);
}

TEST(block_book, finds_the_block_around_a_pointer) {
  counting_resource<> upstream;
  book b{resource_ref<counting_resource<>>(upstream)};
  const book::entry* const e = noted(b, 64, 32);
  for (const std::size_t at : {64U, 65U, 95U}) EXPECT_EQ(b.find_around(&memory[at]), e);
  for (const std::size_t at : {63U, 96U, 0U}) EXPECT_EQ(b.find_around(&memory[at]), nullptr);
  EXPECT_EQ(b.find(&memory[65]), nullptr);
  noted(b, 128, 0);
  EXPECT_NE(b.find_around(&memory[128]), nullptr);
}

TEST(block_book, remembers_a_bounded_number_of_freed_blocks) {
  counting_resource<> upstream;
  book b{resource_ref<counting_resource<>>(upstream)};
  for (std::size_t i = 0; i < 100; ++i) b.remember_as_freed(noted(b, i * 16, 16), {});
  EXPECT_EQ(upstream.balance().blocks, book::most_remembered);
  EXPECT_EQ(b.find_freed(&memory[0]), nullptr);
  EXPECT_NE(b.find_freed(&memory[99 * 16]), nullptr);
  EXPECT_TRUE(b.invariant());
}

TEST(block_book, an_address_that_comes_again_ends_what_was_there) {
  counting_resource<> upstream;
  book b{resource_ref<counting_resource<>>(upstream)};
  noted(b, 0, 16);
  noted(b, 0, 48);
  EXPECT_EQ(b.live(), 1U);
  EXPECT_EQ(b.bytes(), 48U);
  EXPECT_EQ(upstream.balance().blocks, 1U);
}

TEST(block_book, returns_null_without_memory) {
  counting_resource<> upstream;
  book b{resource_ref<counting_resource<>>(upstream)};
  upstream.fail_at(0);
  EXPECT_EQ(b.make(), nullptr);
  EXPECT_TRUE(b.invariant());
}

}  // namespace
