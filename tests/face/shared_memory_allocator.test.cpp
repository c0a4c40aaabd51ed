// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of containers inside shared memory, read through another mapping and after their writer's end.
#include <ashlar/face/shared_memory_allocator.hpp>

#include <cstddef>
#include <deque>
#include <new>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <ashlar/resource/shared_memory.hpp>

#include "tests/support/child.hpp"
#include "tests/support/shared_mapping.hpp"

#if __has_include(<boost/container/map.hpp>)
#include <boost/container/map.hpp>
#include <boost/container/string.hpp>
#define ASHLAR_TEST_HAS_BOOST 1
#else
#define ASHLAR_TEST_HAS_BOOST 0
#endif

namespace {

using ashlar::interprocess::shared_memory;
template <class T>
using allocator = ashlar::interprocess::allocator<T>;

constexpr std::size_t bytes = std::size_t{1} << 20;

static_assert(ashlar::detail::links_by_address<int*> && !ashlar::detail::links_by_address<int>);
static_assert(!ashlar::detail::links_by_address<ashlar::interprocess::offset_ptr<int>>);
static_assert(!std::allocator_traits<allocator<int>>::is_always_equal::value);

struct contents {
  explicit contents(shared_memory& in) : numbers(in), queue(in), nested(in) {}

  std::vector<int, allocator<int>> numbers;
  std::deque<long, allocator<long>> queue;
  std::vector<std::vector<int, allocator<int>>, allocator<std::vector<int, allocator<int>>>> nested;
};

class shared_memory_allocator_test : public ::testing::Test {
protected:
  ashlar_test::shared_file file_{bytes};
  ashlar_test::shared_mapping one_{file_, bytes}, two_{file_, bytes};
  shared_memory& memory_ = *shared_memory::create(one_.at, bytes);
};

TEST_F(shared_memory_allocator_test, another_mapping_reads_what_a_dead_process_wrote) {
  EXPECT_TRUE(ashlar_test::child_does([&] {
    auto* const made = ::new (memory_.allocate(sizeof(contents), alignof(contents))) contents(memory_);
    for (int i = 0; i < 1000; ++i) made->numbers.push_back(i), made->queue.push_front(i);
    for (int i = 0; i < 50; ++i) made->nested.emplace_back(static_cast<std::size_t>(i), i, memory_);
    memory_.set_root(made);
    return true;
  }));
  const auto there = shared_memory::open(two_.at, bytes);
  ASSERT_TRUE(there);
  auto* const seen = static_cast<contents*>(there->root());
  for (int i = 0; i < 1000; ++i) {
    ASSERT_EQ(seen->numbers[static_cast<std::size_t>(i)], i);
    ASSERT_EQ(seen->queue[static_cast<std::size_t>(i)], 999 - i);
  }
  EXPECT_EQ(seen->nested[49].back(), 49);
  EXPECT_TRUE(there->owns(seen->numbers.data()));
  seen->numbers.assign(5000, 1);  // grows in this mapping
  auto* const here = static_cast<contents*>(memory_.root());
  EXPECT_EQ(here->numbers.size(), 5000u);
  EXPECT_EQ(here->numbers.back(), 1);
  seen->~contents();
  there->deallocate(seen);
  EXPECT_TRUE(memory_.invariant());
  EXPECT_EQ(memory_.used(), 0u);
}

TEST_F(shared_memory_allocator_test, moves_and_swaps_take_the_memory_along) {
  ashlar_test::shared_file other_file(bytes);
  ashlar_test::shared_mapping other_map(other_file, bytes);
  shared_memory& other = *shared_memory::create(other_map.at, bytes);
  std::vector<int, allocator<int>> a({1, 2, 3}, memory_), b({4, 5}, other);
  swap(a, b);
  EXPECT_TRUE(other.owns(a.data()) && memory_.owns(b.data()));
  a = std::move(b);
  EXPECT_TRUE(memory_.owns(a.data()) && a.size() == 3);
  const auto copy = a;
  EXPECT_TRUE(copy.get_allocator() == a.get_allocator() && copy == a);
}

#if ASHLAR_TEST_HAS_BOOST
TEST_F(shared_memory_allocator_test, serves_node_containers_of_boost) {
  using text = boost::container::basic_string<char, std::char_traits<char>, allocator<char>>;
  using entry = std::pair<const int, text>;
  using table = boost::container::map<int, text, std::less<int>, allocator<entry>>;
  auto* const made = ::new (memory_.allocate(sizeof(table), alignof(table))) table(memory_);
  for (int i = 0; i < 300; ++i) made->emplace(i, text(static_cast<std::size_t>(i % 60), 'x', memory_));
  memory_.set_root(made);
  const auto there = shared_memory::open(two_.at, bytes);
  auto* const seen = static_cast<table*>(there->root());
  ASSERT_EQ(seen->size(), 300u);
  for (const auto& [key, value] : *seen) EXPECT_EQ(value.size(), static_cast<std::size_t>(key % 60));
  seen->~table();
  there->deallocate(seen);
  EXPECT_EQ(memory_.used(), 0u);
}
#endif

}  // namespace
