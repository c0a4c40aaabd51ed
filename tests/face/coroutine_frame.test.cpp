// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Frames of coroutines come from the resource that they are passed, and go back to it.
#include <ashlar/face/coroutine_frame.hpp>

#include <coroutine>
#include <exception>
#include <memory>
#include <utility>

#include <gtest/gtest.h>

#include <ashlar/adaptor/statistics.hpp>
#include <ashlar/heap/process_heap.hpp>
#include <ashlar/resource/arena.hpp>
#include <ashlar/resource/page_resource.hpp>
#include <ashlar/resource/pool_set.hpp>
#include <ashlar/resource/stack_resource.hpp>

// Named: in a batch g++ refuses frames whose promise is of an unnamed namespace.
namespace coroutine_frames {

// A coroutine that gives numbers, and ends with its owner.
template <class R>
class numbers {
public:
  struct promise_type : ashlar::coroutine_frame<R> {
    int now = 0;
    numbers get_return_object() { return numbers(std::coroutine_handle<promise_type>::from_promise(*this)); }
    std::suspend_always initial_suspend() noexcept { return {}; }
    std::suspend_always final_suspend() noexcept { return {}; }
    std::suspend_always yield_value(int number) noexcept {
      now = number;
      return {};
    }
    void return_void() noexcept {}
    void unhandled_exception() noexcept { std::terminate(); }
  };

  numbers(const numbers&) = delete;
  numbers& operator=(const numbers&) = delete;
  numbers(numbers&& from) noexcept : of_(std::exchange(from.of_, nullptr)) {}
  ~numbers() {
    if (of_) of_.destroy();
  }

  int next() {
    of_.resume();
    return of_.promise().now;
  }

private:
  explicit numbers(std::coroutine_handle<promise_type> of) : of_(of) {}
  std::coroutine_handle<promise_type> of_;
};

template <class R>
numbers<R> count_from(std::allocator_arg_t /*tag*/, R& /*frames*/, int first) {
  while (true) co_yield first++;
}

template <class R>
struct counter {
  int step;
  numbers<R> count(std::allocator_arg_t /*tag*/, R& /*frames*/) {
    for (int now = 0;; now += step) co_yield now;
  }
};

// A request, as a server has them: a coroutine that waits for another one.
template <class R>
numbers<R> serve(std::allocator_arg_t tag, R& frames, int request) {
  numbers<R> body = count_from(tag, frames, request);
  co_yield body.next() + body.next();
}

template <class R>
class coroutine_frame_in : public testing::Test {
protected:
  R frames;
};
using resources = testing::Types<ashlar::pool_set<ashlar::statistics<ashlar::page_resource>>,
                                 ashlar::stack_resource<ashlar::statistics<ashlar::page_resource>>,
                                 ashlar::arena<ashlar::statistics<ashlar::page_resource>>>;
TYPED_TEST_SUITE(coroutine_frame_in, resources);

TYPED_TEST(coroutine_frame_in, functions_and_members_run) {
  auto from_seven = count_from(std::allocator_arg, this->frames, 7);
  EXPECT_EQ(from_seven.next(), 7);
  EXPECT_EQ(from_seven.next(), 8);
  counter<TypeParam> threes{3};
  auto counted = threes.count(std::allocator_arg, this->frames);
  EXPECT_EQ(counted.next(), 0);
  EXPECT_EQ(counted.next(), 3);
  EXPECT_GT(this->frames.upstream_resource().counters().allocations, 0u);
}

TYPED_TEST(coroutine_frame_in, requests_allocate_nothing_after_the_first) {
  auto request = [&](int number) { EXPECT_EQ(serve(std::allocator_arg, this->frames, number).next(), 2 * number + 1); };
  request(0);
  const auto first = this->frames.upstream_resource().counters().allocations;
  for (int number = 1; number < 1000; ++number) {
    if constexpr (requires { this->frames.reset(); }) this->frames.reset();
    request(number);
  }
  EXPECT_EQ(this->frames.upstream_resource().counters().allocations, first);
}

// A task of a library, with no parameter for memory.
numbers<ashlar::process_heap_resource> odd_numbers() {
  for (int now = 1;; now += 2) co_yield now;
}

TEST(coroutine_frame, of_the_process_needs_no_parameter) {
  auto odd = odd_numbers();
  EXPECT_EQ(odd.next() + odd.next(), 4);
}

}  // namespace coroutine_frames
