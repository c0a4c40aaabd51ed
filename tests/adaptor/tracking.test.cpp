// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of the tracking adaptor: leaks, wrong frees with their sites, a book without memory, and the book itself.
#include <array>
#include <cstddef>
#include <map>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <ashlar/adaptor/tracking.hpp>
#include <ashlar/base/error.hpp>
#include <ashlar/base/lock.hpp>
#include <ashlar/base/resource.hpp>
#include <ashlar/resource/buffer_resource.hpp>
#include <ashlar/resource/new_delete_resource.hpp>
#include <ashlar/resource/null_resource.hpp>

#include "tests/adaptor/roomy.hpp"
#include "tests/death/caught.hpp"
#include "tests/support/counting_resource.hpp"
#include "tests/support/live_blocks.hpp"
#include "tests/support/stress.hpp"

namespace {

using ashlar::new_delete_resource;
using ashlar::resource_ref;
using ashlar::tracking;
using ashlar_test::caught_in;
using ashlar_test::counting_resource;
using counted = resource_ref<counting_resource<>>;
using labelled = tracking<new_delete_resource, ashlar::site::labelled<>>;

using shared = tracking<new_delete_resource, ashlar::site::none, new_delete_resource, ashlar::spin_lock>;
static_assert(ashlar::thread_safe_resource<shared>);
static_assert(!ashlar::thread_safe_resource<tracking<resource_ref<ashlar::buffer_resource>, ashlar::site::none,
                                                     new_delete_resource, ashlar::spin_lock>>);
// The book is state; an empty resource and an empty site add nothing to it.
static_assert(sizeof(tracking<ashlar::null_resource, ashlar::site::none>) ==
              sizeof(ashlar::detail::block_book<ashlar::site::none, new_delete_resource>));

// The leak reported last, in the fields of the default handler.
struct leak_seen {
  std::size_t count = 0;
  std::size_t bytes = 0;
  std::size_t shown = 0;
  std::string sites;
};
leak_seen last_leak;
void see_leak(const ashlar::leaked_blocks& leak) noexcept {
  last_leak = {leak.count, leak.bytes, leak.first.size(), std::string(leak.sites)};
}

template <class F>
leak_seen leaked_in(F f) {
  last_leak = {};
  const ashlar::leaked_blocks::handler before = ashlar::set_leak_handler(&see_leak);
  f();
  ashlar::set_leak_handler(before);
  return last_leak;
}

TEST(tracking, knows_what_is_live) {
  tracking<new_delete_resource> r;
  ashlar_test::live_blocks blocks(r);
  std::mt19937 random(1);
  for (int step = 0; step < 2000; ++step) {
    if (blocks.size() == 0 || random() % 2 == 0) blocks.allocate(random() % 300, 8);
    else blocks.free(random() % blocks.size());
    ASSERT_EQ(r.live(), blocks.size());
    if (step % 64 == 0) ASSERT_TRUE(r.invariant());
  }
  std::map<const void*, std::size_t> expected;
  for (std::size_t i = 0; i < blocks.size(); ++i) expected.emplace(blocks[i].data, blocks[i].bytes);
  auto next = expected.begin();
  std::size_t bytes = 0;
  r.for_each_live([&](const auto& e) {
    EXPECT_EQ(e.data, next->first);
    EXPECT_EQ(e.bytes, (next++)->second);
    bytes += e.bytes;
  });
  EXPECT_EQ(r.live_bytes(), bytes);
  EXPECT_TRUE(r.invariant());
}

TEST(tracking, leaks_are_counted_by_site) {
  std::vector<void*> kept;
  const leak_seen leak = leaked_in([&] {
    labelled r;
    const auto take = [&](std::size_t bytes) { kept.push_back(r.allocate(bytes, 8)); };
    {
      const ashlar::site::label now("first");
      for (int i = 0; i < 20; ++i) take(10);
    }
    const ashlar::site::label now("second");
    take(1000);
  });
  EXPECT_EQ(leak.count, 21U);
  EXPECT_EQ(leak.bytes, 1200U);
  EXPECT_EQ(leak.shown, ashlar::leaked_blocks::most_shown);
  EXPECT_NE(leak.sites.find("first (tracking.test.cpp:"), std::string::npos);
  EXPECT_NE(leak.sites.find("): 20 of 200 bytes"), std::string::npos);
  EXPECT_NE(leak.sites.find("): 1 of 1000 bytes"), std::string::npos);
  new_delete_resource heap;
  for (std::size_t i = 0; i < kept.size(); ++i) heap.deallocate(kept[i], i < 20 ? 10 : 1000, 8);
}

TEST(tracking, sizes_follow_a_block_that_grew_or_became_larger_than_asked_for) {
  tracking<ashlar_test::roomy> r;
  void* const p = r.allocate(40, 8);
  EXPECT_TRUE(r.try_expand(p, 40, 200, 8));
  EXPECT_FALSE(r.try_expand(p, 200, 2000, 8));
  EXPECT_EQ(r.live_bytes(), 200U);
  EXPECT_TRUE(caught_in([&] { r.deallocate(p, 40, 8); }).has_value());
  r.deallocate(p, 200, 8);
  const ashlar::block b = r.allocate_at_least(40, 8);
  EXPECT_TRUE(caught_in([&] { r.deallocate(b.data, 39, 8); }).has_value());
  r.deallocate(b.data, 500, 8);
  r.deallocate(r.allocate(8, 8));
  EXPECT_EQ(r.live(), 0U);
}

TEST(tracking, where_the_book_or_the_upstream_has_no_room_nothing_has_happened) {
  counting_resource<> memory;
  counting_resource<> books;
  tracking<counted, ashlar::site::none, counted> r{ashlar::book_in, counted(books), counted(memory)};
  books.fail_at(0);
  EXPECT_EQ(r.try_allocate(8, 8), nullptr);
  EXPECT_EQ(memory.allocations(), 0U);
  memory.fail_at(0);
  EXPECT_EQ(r.try_allocate(8, 8), nullptr);
  EXPECT_EQ(books.balance().blocks, 0U);
#if defined(__cpp_exceptions)
  books.fail_at(0);
  EXPECT_ANY_THROW(static_cast<void>(r.allocate(8, 8)));
  memory.fail_at(0);
  EXPECT_ANY_THROW(static_cast<void>(r.allocate(8, 8)));
  EXPECT_EQ(books.balance().blocks, 0U);
#endif
  r.deallocate(r.allocate(8, 8), 8, 8);
  EXPECT_EQ(r.live(), 0U);
}

TEST(tracking, threads_share_one_that_has_a_lock) {
  shared r;
  ashlar_test::on_threads(3, [&r](std::size_t) {
    for (std::size_t i = 0; i < 1000; ++i) r.deallocate(r.allocate(i % 64, 8), i % 64, 8);
  });
  EXPECT_EQ(r.live(), 0u);
  EXPECT_TRUE(r.invariant());
}

using book = ashlar::detail::block_book<ashlar::site::return_address, resource_ref<counting_resource<>>>;

std::array<std::byte, 4096> memory;

book::entry* noted(book& b, std::size_t at, std::size_t bytes) {
  book::entry* const e = b.make();
  e->data = &memory[at];
  e->bytes = e->capacity = bytes;
  b.insert(e);
  return e;
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

}  // namespace
