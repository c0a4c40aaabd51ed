// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Pools of counted objects request memory when they grow and at no other time, from any malloc.
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <utility>

#include <ashlar/base/lock.hpp>
#include <ashlar/base/options.hpp>
#include <ashlar/face/byte_buffer.hpp>
#include <ashlar/face/intrusive_pool.hpp>
#include <ashlar/face/ref_pool.hpp>
#include <ashlar/face/ref_ptr.hpp>
#include <ashlar/os/no_heap_scope.hpp>
#include <ashlar/resource/new_delete_resource.hpp>

#include "tests/support/pool_traits.hpp"

namespace {

struct base {
  int number = 0;
};
template <class Threads>
struct object : base {
  ashlar::ref_ptr<object, Threads> next;
  void recycle() noexcept { next.reset(); }
};

void expect(bool condition, const char* what) {
  if (condition) return;
  std::fprintf(stderr, "%s\n", what);
  std::exit(1);
}

// Makes and drops as many objects as possible, in a list, by a base, and again.
template <class Pool>
void work(Pool& pool, std::size_t count) {
  for (int round = 0; round < 3; ++round) {
    typename Pool::pointer head;
    for (std::size_t i = 0; i < count; ++i) {
      auto fresh = pool.make();
      fresh->next = std::move(head);
      head = std::move(fresh);
    }
  }
}

template <class Threads, class Lifetime>
void expect_no_malloc(const char* what) {
  constexpr std::size_t reserved = 5000;
  using node = object<Threads>;
  ashlar::intrusive_pool<node, ashlar_test::intrusive_traits<Lifetime, ashlar::throw_when_exhausted, Threads,
                                                             ashlar::count::by_padding, ashlar::new_delete_resource>>
      pool({.growth_count = reserved});
  pool.reserve(reserved);
  const std::size_t slots = pool.capacity();  // whole slabs
  const ashlar::no_heap_scope mallocs(&ashlar::no_heap_scope::count_use);
  work(pool, slots);
  expect(mallocs.uses() == 0, what);
  work(pool, slots + 1);
  expect(mallocs.uses() != 0, "who grows asks for memory");
}

}  // namespace

int main() {
  using kept = ashlar::keep_constructed<ashlar::reset_with<&object<ashlar::one_thread>::recycle>>;
  using shared_kept = ashlar::keep_constructed<ashlar::reset_with<&object<ashlar::any_thread<>>::recycle>>;
  expect_no_malloc<ashlar::one_thread, ashlar::construct_on_acquire>("one thread, constructed");
  expect_no_malloc<ashlar::one_thread, kept>("one thread, kept");
  expect_no_malloc<ashlar::any_thread<>, ashlar::construct_on_acquire>("any thread, constructed");
  expect_no_malloc<ashlar::any_thread<>, shared_kept>("any thread, kept");

  const ashlar::no_heap_scope mallocs(&ashlar::no_heap_scope::count_use);
  ashlar::ref_pool<double> numbers;  // over pages: malloc is never called
  ashlar::buffer_pool<256> buffers;
  auto view = buffers.view();
  for (int i = 0; i < 100'000; ++i) {
    const auto number = numbers.make(i);
    const auto copy = number;
    view = view.first(view.size()).slice(0, 1 + static_cast<std::size_t>(i % 2));
    view = buffers.view();
  }
  expect(mallocs.uses() == 0, "a pool over pages called malloc");
  std::puts("no malloc but for growth");
  return 0;
}
