// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of the monotonic buffer resource, side by side with the standard's.
#include <array>
#include <cstddef>
#include <memory_resource>
#include <string>
#include <type_traits>
#include <vector>

#include <gtest/gtest.h>

#include <ashlar/base/resource.hpp>
#include <ashlar/face/pmr_monotonic.hpp>
#include <ashlar/face/pmr_resource.hpp>

#include "tests/support/build.hpp"
#include "tests/support/counting_resource.hpp"
#include "tests/support/death.hpp"

namespace {

using ashlar_test::counting_resource;
using ours = ashlar::pmr::monotonic_buffer_resource;
using standard = std::pmr::monotonic_buffer_resource;
using shared = ashlar::resource_ref<counting_resource<>>;

// The standard's resource and ours must behave equally: each test runs on both.
template <class Monotonic>
class pmr_monotonic : public ::testing::Test {
protected:
  counting_resource<> counted;  // reports blocks that come back with another size or alignment, or never
  ashlar::pmr_resource<shared> upstream{shared(counted)};
  alignas(16) std::array<std::byte, 256> buffer;

  bool is_in_buffer(const void* p) const { return p >= buffer.data() && p < buffer.data() + buffer.size(); }
};

using both = ::testing::Types<ours, standard>;
TYPED_TEST_SUITE(pmr_monotonic, both);

TYPED_TEST(pmr_monotonic, has_these_constructors_and_none_allocates) {
  using m = TypeParam;
  static_assert(std::is_default_constructible_v<m> && !std::is_copy_constructible_v<m> &&
                !std::is_copy_assignable_v<m>);
  static_assert(!std::is_convertible_v<std::pmr::memory_resource*, m> && !std::is_convertible_v<std::size_t, m>);
  static_assert(std::is_base_of_v<std::pmr::memory_resource, m> && !std::is_final_v<m>);
  std::pmr::memory_resource* const before = std::pmr::set_default_resource(&this->upstream);
  m by_default, of_size(100), over(&this->upstream), of_size_over(100, &this->upstream);
  m on(this->buffer.data(), 256), on_over(this->buffer.data(), 256, &this->upstream), on_none(nullptr, 0);
  std::pmr::set_default_resource(before);
  for (m* const each : {&by_default, &of_size, &over, &of_size_over, &on, &on_over, &on_none})
    EXPECT_EQ(each->upstream_resource(), &this->upstream);
  EXPECT_EQ(this->counted.allocations(), 0u);
  static_cast<void>(on_none.allocate(1));
  EXPECT_EQ(this->counted.allocations(), 1u);
}

TYPED_TEST(pmr_monotonic, uses_all_of_the_buffer_before_it_asks) {
  TypeParam m(this->buffer.data(), this->buffer.size(), &this->upstream);
  for (int i = 0; i < 256; ++i) EXPECT_TRUE(this->is_in_buffer(m.allocate(1, 1)));
  EXPECT_EQ(this->counted.allocations(), 0u);
  EXPECT_FALSE(this->is_in_buffer(m.allocate(1, 1)));
  EXPECT_EQ(this->counted.allocations(), 1u);
  m.release();
  EXPECT_EQ(this->counted.balance(), ashlar_test::nothing);
  EXPECT_EQ(m.allocate(1, 1), this->buffer.data());
}

TYPED_TEST(pmr_monotonic, asks_for_at_least_the_first_size_and_for_more_each_time) {
  TypeParam m(10'000, &this->upstream);
  for (int i = 0; i < 1000; ++i) static_cast<void>(m.allocate(10, 1));
  EXPECT_EQ(this->counted.allocations(), 1u);
  for (int i = 0; i < 100'000; ++i) static_cast<void>(m.allocate(10, 2));
  EXPECT_LE(this->counted.allocations(), 15u);
  EXPECT_LE(this->counted.balance().bytes, 3'100'000u);
  m.release();
  const std::size_t before = this->counted.allocations();
  for (int i = 0; i < 1000; ++i) static_cast<void>(m.allocate(10, 1));
  EXPECT_EQ(this->counted.allocations(), before + 1);
}

#if defined(__cpp_exceptions)
// Even if the first request upstream fails.
TYPED_TEST(pmr_monotonic, passes_an_exception_on_and_works_again) {
  TypeParam m(64, &this->upstream);
  this->counted.fail_from(0);
  EXPECT_THROW(static_cast<void>(m.allocate(100'000, 8)), ashlar_test::injected_failure);
  this->counted.fail_never();
  EXPECT_NE(m.allocate(100'000, 8), nullptr);
  volatile std::size_t absurd = ashlar::max_size - 10;  // keeps the compiler from refusing it
  EXPECT_THROW(static_cast<void>(m.allocate(absurd, 1)), std::bad_alloc);
  EXPECT_NE(m.allocate(100, 8), nullptr);
}
#endif

TEST(pmr_monotonic_extension, reset_keeps_the_memory) {
  counting_resource<> counted;
  ashlar::pmr_resource<shared> upstream{shared(counted)};
  ours m(&upstream);
  const auto frame = [&] {
    std::pmr::vector<std::pmr::string> lines(&m);
    for (int i = 0; i < 500; ++i) lines.emplace_back("a string that is too long to be stored in place");
  };
  for (int i = 0; i < 2; ++i) frame(), m.reset();
  const std::size_t before = counted.allocations();
  for (int i = 0; i < 20; ++i) frame(), m.reset();
  EXPECT_EQ(counted.allocations(), before);
  EXPECT_EQ(counted.balance().blocks, 1u);
  EXPECT_TRUE(m.invariant());
  EXPECT_GT(m.blocks().capacity(), 0u);
}

TEST(pmr_monotonic_extension, no_upstream_is_misuse) {
  ASHLAR_EXPECT_DEATH(ours(static_cast<std::pmr::memory_resource*>(nullptr)),
                      "ashlar: precondition: made a monotonic_buffer_resource with a null upstream");
}

TYPED_TEST(pmr_monotonic, equals_itself_alone) {
  TypeParam a, b;
  EXPECT_TRUE(a.is_equal(a));
  EXPECT_FALSE(a.is_equal(b) || b == a);
}

}  // namespace
