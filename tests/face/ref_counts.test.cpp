// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests that a count which would overflow ends the process, and that references to ended objects are reported.
#include <ashlar/face/ref_ptr.hpp>

#include <atomic>
#include <cstdint>
#include <optional>
#include <thread>
#include <utility>

#include <gtest/gtest.h>

#include <ashlar/base/lock.hpp>
#include <ashlar/detail/checks/poison.hpp>
#include <ashlar/detail/slots/slot_word.hpp>
#include <ashlar/face/intrusive_pool.hpp>
#include <ashlar/face/ref_pool.hpp>
#include <ashlar/face/ref_ptr.hpp>

#include "tests/support/build.hpp"
#include "tests/support/death.hpp"

namespace {

using ashlar::any_thread;
using ashlar::one_thread;

const char* const overflow = "ashlar: precondition: counted more than 2^30 - 1 references to one object";

struct open_class {
  double value = 1;
};
struct counts_itself {
  std::uint32_t count = 77;  // meaningless until the object is made
  friend std::uint32_t& ref_count(counts_itself& object) { return object.count; }
};
struct shared_counts_itself {
  std::atomic<std::uint32_t> count;
  friend std::atomic<std::uint32_t>& ref_count(shared_counts_itself& object) { return object.count; }
};

template <class T, class Threads>
void store_count(T* object, std::uint32_t to) {
  auto& count = ashlar::detail::ref_counts<T, Threads, ashlar::count::by_padding>::count_of(object);
  if constexpr (requires { count = to; }) count = to;
  else count.store(to);
}

// As with this number of pointers, which are too many for a test's memory.
template <class T, class Threads>
void expect_overflow_ends_the_process() {
  ashlar::ref_pool<T, Threads> pool;
  auto object = pool.make();
  store_count<T, Threads>(object.get(), ashlar::detail::slot_word::max_count - 1);
  auto last = object;
  EXPECT_EQ(last.use_count(), ashlar::detail::slot_word::max_count);
  ASHLAR_EXPECT_DEATH(auto one_too_many = object, overflow);
  store_count<T, Threads>(object.get(), 2);
}

TEST(ref_counts, trap_before_they_overflow) {
  expect_overflow_ends_the_process<int, one_thread>();
  expect_overflow_ends_the_process<double, one_thread>();
  expect_overflow_ends_the_process<open_class, one_thread>();
  expect_overflow_ends_the_process<counts_itself, one_thread>();
  expect_overflow_ends_the_process<int, any_thread<>>();
  expect_overflow_ends_the_process<double, any_thread<>>();
  expect_overflow_ends_the_process<open_class, any_thread<>>();
  expect_overflow_ends_the_process<shared_counts_itself, any_thread<>>();
}

TEST(ref_counts, an_object_has_its_own_count_where_it_brings_one) {
  ashlar::ref_pool<counts_itself> pool;
  const auto a = pool.make();
  EXPECT_EQ(a->count, 1u);
  const auto b = a;
  EXPECT_EQ(a->count, 2u);
  EXPECT_EQ(b.use_count(), 2u);
}

class ref_counts_faults : public ::testing::Test {
protected:
  void SetUp() override {
    if (!ashlar_test::is_checked) GTEST_SKIP() << "looked for from level checked on";
  }
};

TEST_F(ref_counts_faults, references_to_what_is_gone) {
  ashlar::ref_pool<int> pool;
  const auto other = pool.make(1);
  int* const gone = pool.make(2).get();
  const char* const words = "ashlar: double_free: referred to an object that was destroyed, pointer 0x*";
  ASHLAR_EXPECT_DEATH(ashlar::drop_reference(gone), words);
  ASHLAR_EXPECT_DEATH(ashlar::add_reference(gone), words);
  ASHLAR_EXPECT_DEATH(static_cast<void>(ashlar::ref_ptr<int>::adopt(gone)), words);
}

// The slot is still in transit: in the list to which other threads push.
TEST_F(ref_counts_faults, references_to_what_went_in_another_thread) {
  ashlar::ref_pool<int, any_thread<>> pool;
  auto object = pool.make(1);
  int* const gone = object.get();
  std::thread([&object] { object.reset(); }).join();
  const char* const words = "ashlar: double_free: referred to an object that was destroyed, pointer 0x*";
  ASHLAR_EXPECT_DEATH(ashlar::drop_reference<any_thread<>>(gone), words);
  ASHLAR_EXPECT_DEATH(ashlar::add_reference<any_thread<>>(gone), words);
  ASHLAR_EXPECT_DEATH(std::thread([gone] { ashlar::drop_reference<any_thread<>>(gone); }).join(), words);
}

TEST_F(ref_counts_faults, objects_of_a_pool_that_has_ended) {
  std::optional<ashlar::ref_pool<int>> pool(std::in_place);
  int* const gone = pool->make(1).get();
  pool.reset();
  ASHLAR_EXPECT_DEATH(ashlar::drop_reference(gone),
                      "ashlar: invalid_free: referred to a pointer that is not of an object of a pool, pointer 0x*");
}

TEST_F(ref_counts_faults, null_pointers) {
  const ashlar::ref_ptr<int> null;
  ASHLAR_EXPECT_DEATH(static_cast<void>(*null), "ashlar: precondition: dereferenced a null ref_ptr");
}

TEST_F(ref_counts_faults, casts_to_a_class_with_another_placement_of_the_count) {
  if (ashlar::detail::has_guards)
    GTEST_SKIP() << "where slots have guards, counts of all placements lie in front of them";
  struct base {
    int a = 1;
  };
  struct last final : base {};
  ashlar::ref_pool<last, one_thread, ashlar::count::in_slab> pool;
  const ashlar::ref_ptr<base> object = pool.make();
  ASHLAR_EXPECT_DEATH(static_cast<void>(ashlar::static_pointer_cast<last>(object)),
                      "ashlar: precondition: cast a pointer to a class with another placement of the count");
}

}  // namespace
