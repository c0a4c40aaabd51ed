// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of the default place of the count for each kind of object.
#include <ashlar/face/ref_ptr.hpp>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <string>

#include <gtest/gtest.h>

#include <ashlar/base/lock.hpp>
#include <ashlar/detail/checks/poison.hpp>

namespace {

using ashlar::one_thread;

struct open_class {
  double value;
};
struct closed_class final {
  double value;
};
union either {
  int a;
  float b;
};
enum class colour { red };

static_assert(ashlar::detail::is_exact_type<int> && ashlar::detail::is_exact_type<double*> &&
              ashlar::detail::is_exact_type<closed_class>);
static_assert(ashlar::detail::is_exact_type<either> && ashlar::detail::is_exact_type<colour> &&
              !ashlar::detail::is_exact_type<open_class>);

struct padded {
  double number;
  int rest;
};
struct own_count {
  std::uint32_t count;
  [[maybe_unused]] friend std::uint32_t& ref_count(own_count& object) { return object.count; }
};
struct derives : own_count {
  double more;
};
struct has_member {
  std::atomic<std::uint32_t> references;
  double value;
};

template <class T, class Placement = ashlar::count::by_padding>
inline constexpr bool is_beside = ashlar::detail::layout_of<T, one_thread, Placement>::is_beside;
template <class T, class Placement = ashlar::count::by_padding>
inline constexpr bool is_own = ashlar::detail::placement_traits<T, Placement>::is_own;

// If slots have guards, all words lie in front of them.
static_assert(ashlar::detail::has_guards ||
              (is_beside<int> && is_beside<float> && !is_beside<std::int64_t> == (alignof(std::int64_t) == 8)));
static_assert(!is_beside<char> && !is_beside<std::int16_t>, "the word would be aligned to four");
static_assert(is_beside<int, ashlar::count::beside> != ashlar::detail::has_guards &&
              !is_beside<int, ashlar::count::in_slab>);
static_assert(is_own<own_count> && is_own<derives> && !is_own<int> && !is_own<std::string>);
static_assert(!is_own<own_count, ashlar::count::in_slab>, "who says where is heard");
static_assert(is_own<has_member, ashlar::count::in_member<&has_member::references>> && !is_own<has_member>);

TEST(count_placement, padding_is_used_where_it_costs_nothing) {
  using layout = ashlar::detail::layout_of<padded, one_thread, ashlar::count::by_padding>;
  // The padding inside a class belongs to the class: a copy of the object would overwrite it.
  EXPECT_EQ(layout::bytes_per_slot, sizeof(padded) + layout::guard::bytes + 4);
}

TEST(count_placement, beside_costs_no_more_than_in_the_slab_where_it_is_chosen) {
  const auto cost = []<class T>(T*) {
    using chosen = ashlar::detail::layout_of<T, one_thread, ashlar::count::by_padding>;
    using beside = ashlar::detail::layout_of<T, one_thread, ashlar::count::beside>;
    using in_slab = ashlar::detail::layout_of<T, one_thread, ashlar::count::in_slab>;
    EXPECT_EQ(chosen::bytes_per_slot, std::min(beside::bytes_per_slot, in_slab::bytes_per_slot));
  };
  cost(static_cast<char*>(nullptr));
  cost(static_cast<short*>(nullptr));
  cost(static_cast<int*>(nullptr));
  cost(static_cast<double*>(nullptr));
  cost(static_cast<padded*>(nullptr));
  cost(static_cast<std::string*>(nullptr));
}

}  // namespace
