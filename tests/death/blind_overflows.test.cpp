// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Writes past the end of a block by who knows the source but no secret: each resource with canaries notices them.
#include <array>
#include <cstddef>
#include <cstring>
#include <functional>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <ashlar/adaptor/guarding.hpp>
#include <ashlar/base/config.hpp>
#include <ashlar/base/lock.hpp>
#include <ashlar/detail/checks/poison.hpp>
#include <ashlar/detail/support/poison.hpp>
#include <ashlar/face/object_pool.hpp>
#include <ashlar/face/ref_pool.hpp>
#include <ashlar/face/ref_ptr.hpp>
#include <ashlar/heap/local_heap.hpp>
#include <ashlar/resource/block_pool.hpp>
#include <ashlar/resource/new_delete_resource.hpp>
#include <ashlar/resource/pool_set.hpp>
#include <ashlar/resource/shared_block_pool.hpp>
#include <ashlar/resource/shared_pool_set.hpp>
#include <ashlar/resource/stack_resource.hpp>
#include <ashlar/resource/tlsf_resource.hpp>
#include <ashlar/resource/two_ended_stack.hpp>

#include "tests/death/caught.hpp"
#include "tests/support/build.hpp"
#include "tests/support/pool_traits.hpp"
#if !defined(_WIN32)
#include "tests/support/child.hpp"
#endif

namespace {

using ashlar::checking;

constexpr std::size_t blocks = 40;

struct alignas(8) cargo {
  std::array<std::byte, 48> bytes = {};
};

// A resource with blocks of one size, freed from the last one to the first.
struct kind {
  const char* name;
  checking level;  // from which on there are canaries
  std::size_t bytes;
  std::function<std::byte*()> take;
  std::function<void(std::byte*)> give;
  bool are_objects = false;

  friend std::ostream& operator<<(std::ostream& out, const kind& of) { return out << of.name; }
};

template <class Resource, class... Args>
[[nodiscard]] kind sized(const char* name, checking level, std::size_t bytes, Args... args) {
  const auto r = std::make_shared<Resource>(args...);
  return {name, level, bytes, [=] { return static_cast<std::byte*>(r->allocate(bytes, 8)); },
          [=](std::byte* p) { r->deallocate(p, bytes, 8); }};
}

template <class Pool>
[[nodiscard]] kind objects(const char* name) {
  const auto pool = std::make_shared<Pool>();
  return {name,
          checking::hardened,
          sizeof(cargo),
          [=] { return reinterpret_cast<std::byte*>(pool->acquire()); },
          [=](std::byte* p) { pool->release(reinterpret_cast<cargo*>(p)); },
          true};
}

template <class Threads>
using object_pool = ashlar::object_pool<cargo, ashlar_test::object_traits<ashlar::growing, ashlar::construct_on_acquire,
                                                                          ashlar::throw_when_exhausted, Threads>>;

[[nodiscard]] kind counted_objects() {
  const auto pool = std::make_shared<ashlar::ref_pool<cargo, ashlar::one_thread>>();
  return {"ref_pool",
          checking::hardened,
          sizeof(cargo),
          [=] { return reinterpret_cast<std::byte*>(pool->make().release()); },
          [=](std::byte* p) { ashlar::drop_reference<ashlar::one_thread>(reinterpret_cast<cargo*>(p)); },
          true};
}

[[nodiscard]] kind front_of_two_ended_stack() {
  alignas(16) static std::array<std::byte, 8192> memory;
  const auto stack = std::make_shared<ashlar::two_ended_stack>(memory);
  return {"two_ended_stack", checking::hardened, 37,
          [=] { return static_cast<std::byte*>(stack->front().allocate(37, 8)); },
          [=](std::byte* p) { stack->front().deallocate(p, 37, 8); }};
}

[[nodiscard]] std::vector<kind> kinds() {
  using namespace ashlar;
  const block_pool_options cells = {.cell_bytes = 64};
  return {
      sized<block_pool<>>("block_pool, guards", checking::hardened, 64, cells),
      sized<block_pool<>>("block_pool, slack of a byte", checking::hardened, 63, cells),
      sized<block_pool<>>("block_pool, slack", checking::hardened, 37, cells),
      sized<shared_block_pool<>>("shared_block_pool", checking::hardened, 37, cells),
      sized<pool_set<>>("pool_set", checking::hardened, 37),
      sized<pool_set<>>("pool_set, large", checking::checked, 200'000),
      sized<shared_pool_set<>>("shared_pool_set", checking::hardened, 37),
      sized<shared_pool_set<>>("shared_pool_set, large", checking::checked, 200'000),
      sized<stack_resource<>>("stack_resource", checking::hardened, 37),
      front_of_two_ended_stack(),
      sized<tlsf_resource<>>("tlsf_resource", checking::hardened, 37),
      objects<object_pool<one_thread>>("object_pool, one_thread"),
      objects<object_pool<any_thread<>>>("object_pool, any_thread"),
      counted_objects(),
      sized<local_heap<>>("local_heap", checking::hardened, 37),
      sized<local_heap<>>("local_heap, large", checking::hardened, 200'000),
      sized<guarding<new_delete_resource>>("guarding", checking::fast, 37),
  };
}

using eight_bytes = std::array<std::byte, 8>;

// Exchanges bytes with memory. Hidden from tools: only the canaries can detect it.
ASHLAR_TEST_UNSEEN void exchange(std::byte* at, std::size_t count, eight_bytes& with) {
  volatile std::byte* const to = at;
  for (std::size_t i = 0; i < count; ++i) {
    const std::byte before = to[i];
    to[i] = with[i];
    with[i] = before;
  }
}

// Writes bytes past the end of a block and frees it. Returns: whether that is reported.
bool is_noticed(const kind& of, std::byte* p, std::size_t count, eight_bytes bytes) {
  exchange(p + of.bytes, count, bytes);
  if (!ashlar_test::caught_in([&] { of.give(p); }).has_value()) return false;
  exchange(p + of.bytes, count, bytes);
  if (!of.are_objects) of.give(p);  // an object is free as its guards are looked at
  return true;
}

// Returns: how many overflows by `count` bytes of this value, of 40 blocks, are noticed.
std::size_t noticed(const kind& of, std::size_t count, unsigned value) {
  eight_bytes bytes;
  bytes.fill(static_cast<std::byte>(value));
  std::array<std::byte*, blocks> taken;
  for (std::byte*& each : taken) each = of.take(), std::memset(each, 0, of.bytes);
  std::size_t seen = 0;
  for (std::size_t i = blocks; i-- != 0;) seen += is_noticed(of, taken[i], count, bytes) ? 1U : 0U;
  return seen;
}

class blind_overflows : public ::testing::TestWithParam<kind> {
protected:
  void SetUp() override {
    if (ashlar::checking_level < GetParam().level) GTEST_SKIP() << "no canaries at this level";
    if (ashlar::detail::always_marked && GetParam().level != checking::fast) GTEST_SKIP() << "the tool sees the write";
  }
};

// One in 128 writes of a byte passes, and one in 16'384 of two: 7 of 40 do once in ten million runs.
TEST_P(blind_overflows, are_noticed) {
  const kind& of = GetParam();
  for (const unsigned value : {0x00u, 0x01u, 0x0Au, 0x20u, 0x41u, 0x7Fu})
    for (const std::size_t count : {1u, 2u, 8u})
      EXPECT_EQ(noticed(of, count, value), blocks) << count << " of " << value;
  for (const unsigned value : {0x80u, 0xA9u, 0xCDu, 0xEEu, 0xFDu, 0xFFu}) {
    for (const std::size_t count : {1u, 2u})
      EXPECT_GT(noticed(of, count, value), blocks - 7) << count << " of " << value;
    EXPECT_EQ(noticed(of, 8, value), blocks) << value;
  }
}

// A canary that was read beside one block is none beside another.
TEST_P(blind_overflows, by_the_canary_of_another_block_are_noticed) {
  const kind& of = GetParam();
  std::byte *const one = of.take(), *const other = of.take();
  eight_bytes copied = {}, again;
  exchange(one + of.bytes, 8, copied);
  exchange(one + of.bytes, 8, again = copied);
  EXPECT_TRUE(is_noticed(of, other, 8, copied));
  of.give(one);
}

#if !defined(_WIN32)
// So the secret stays the same there.
TEST_P(blind_overflows, are_none_in_the_child_of_a_fork) {
  const kind& of = GetParam();
  std::byte* const p = of.take();
  EXPECT_TRUE(ashlar_test::child_does([&] { return !ashlar_test::caught_in([&] { of.give(p); }).has_value(); }));
  of.give(p);
}
#endif

INSTANTIATE_TEST_SUITE_P(all, blind_overflows, ::testing::ValuesIn(kinds()), [](const auto& of) {
  std::string name;
  for (const char* at = of.param.name; *at != '\0'; ++at)
    if (*at != ' ') name += *at == ',' ? '_' : *at;
  return name;
});

}  // namespace
