// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of heaps on huge pages, by the calls that they make: a purge splits none, free memory gathers, and what a trim
// has split becomes whole.
#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <map>
#include <set>
#include <type_traits>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <ashlar/base/bits.hpp>
#include <ashlar/detail/heap/segment.hpp>
#include <ashlar/heap/heap.hpp>
#include <ashlar/heap/local_heap.hpp>
#include <ashlar/os/huge_pages.hpp>
#include <ashlar/os/pages.hpp>
#include <ashlar/resource/page_resource.hpp>

namespace {

using ashlar::is_aligned;
using ashlar::detail::segment_bytes;
using ashlar::detail::unit_bytes;

constexpr std::size_t mib = std::size_t{1} << 20;

/// The calls of `Tag` that give memory back or make pages huge.
template <class Tag>
struct recorded_calls : ashlar::os::system_calls {
  static inline std::size_t whole = 0, parts = 0;  ///< discards of whole huge pages, and of others
  static inline std::vector<void*> unmapped, collapsed;
  static inline bool collapses = true;

  static void clear() {
    whole = parts = 0;
    unmapped.clear(), collapsed.clear();
    collapses = true;
  }
  [[nodiscard]] static bool discard(void* p, std::size_t bytes) noexcept {
    const bool is_whole = is_aligned(p, unit_bytes) && bytes % unit_bytes == 0;
    ++(is_whole ? whole : parts);
    return ashlar::os::system_calls::discard(p, bytes);
  }
  [[nodiscard]] static bool unmap(void* p, std::size_t bytes) noexcept {
    unmapped.push_back(p);
    return ashlar::os::system_calls::unmap(p, bytes);
  }
  [[nodiscard]] static bool collapse(void* p, std::size_t bytes) noexcept {
    EXPECT_TRUE(is_aligned(p, unit_bytes) && bytes == unit_bytes);
    const auto* const home = ashlar::detail::segment::of(p);
    EXPECT_LE(ashlar::address_of(p) + bytes, ashlar::address_of(home) + home->head.bytes) << "memory of others";
    collapsed.push_back(p);
    errno = EINVAL;  // as before Linux 6.1
    return collapses;
  }
};

struct none_set_aside {
  static constexpr std::size_t page_bytes = unit_bytes;
  [[nodiscard]] static void* map(std::size_t) noexcept { return nullptr; }
};

template <class Calls, class Fresh>
using with_policy = ashlar::basic_page_resource<Fresh, ashlar::os::basic_pages<Calls>>;

/// @{ The kinds of upstreams: calls, the resource, and what its heap may do to a huge page.
struct small_pages {
  using calls = recorded_calls<small_pages>;
  using upstream = with_policy<calls, ashlar::fresh::populated>;
  static constexpr bool is_huge = false;
};
struct huge_pages {
  using calls = recorded_calls<huge_pages>;
  using upstream = with_policy<calls, ashlar::fresh::huge>;
  static constexpr bool is_huge = calls::has_huge_pages;
};
struct resident_huge_pages {
  using calls = recorded_calls<resident_huge_pages>;
  using upstream = with_policy<calls, ashlar::fresh::resident<ashlar::fresh::huge>>;
  static constexpr bool is_huge = calls::has_huge_pages;
};
struct pages_set_aside {
  using calls = recorded_calls<pages_set_aside>;
  using upstream = ashlar::basic_page_resource<
      ashlar::fresh::plain,
      ashlar::os::basic_pages<ashlar::os::huge_page_calls<ashlar::os::basic_pages<calls>, none_set_aside>>>;
  static constexpr bool is_huge = true;
};
// With a wish of its own, apart from the process heap's.
struct unguarded_wish : ashlar::fresh::by_wish {
  static constexpr bool wants_guards = false;
};
template <ashlar::fresh::huge_pages Wish>
struct wished_pages {
  using calls = recorded_calls<wished_pages>;
  using upstream = with_policy<calls, unguarded_wish>;
  static constexpr bool is_huge = calls::has_huge_pages && Wish == ashlar::fresh::huge_pages::wanted;
  static constexpr ashlar::fresh::huge_pages wish = Wish;
};
/// @}

template <class Kind>
struct heap_on : ::testing::Test {
  heap_on() {
    if constexpr (requires { Kind::wish; }) ashlar::fresh::by_wish::set_wish(Kind::wish);
    Kind::calls::clear();
    errno = 77;
  }
  ~heap_on() override {
    EXPECT_EQ(errno, 77);
    ashlar::fresh::by_wish::set_wish(ashlar::fresh::huge_pages::by_system);
  }
};
using kinds = ::testing::Types<small_pages, huge_pages, resident_huge_pages, pages_set_aside,
                               wished_pages<ashlar::fresh::huge_pages::wanted>,
                               wished_pages<ashlar::fresh::huge_pages::by_system>>;
TYPED_TEST_SUITE(heap_on, kinds);

template <class Kind>
struct heap_on_huge : heap_on<Kind> {};
using huge_kinds =
    ::testing::Types<huge_pages, resident_huge_pages, pages_set_aside, wished_pages<ashlar::fresh::huge_pages::wanted>>;
TYPED_TEST_SUITE(heap_on_huge, huge_kinds);

/// Blocks that a test makes and frees, at random by a fixed seed.
template <class Heap>
class load {
public:
  explicit load(Heap& heap) : heap_(heap) {}
  ~load() { fall_to(0); }
  load(const load&) = delete;
  load& operator=(const load&) = delete;

  void rise_to(std::size_t bytes, std::size_t most_bytes) {
    while (live_ < bytes) {
      const std::size_t more = 16 + next_() % most_bytes;
      blocks_.push_back({static_cast<std::byte*>(std::memset(heap_.allocate(more), mark_of(more), more)), more});
      live_ += more;
    }
  }
  void fall_to(std::size_t bytes) {
    while (live_ > bytes) {
      std::swap(blocks_[next_() % blocks_.size()], blocks_.back());
      const auto [data, held] = blocks_.back();
      EXPECT_TRUE(is_intact(data, held));
      heap_.deallocate(data);
      live_ -= held;
      blocks_.pop_back();
    }
  }
  [[nodiscard]] bool are_intact() const {
    for (const auto& [data, bytes] : blocks_)
      if (!is_intact(data, bytes)) return false;
    return true;
  }

private:
  [[nodiscard]] static int mark_of(std::size_t bytes) { return static_cast<int>(bytes % 251); }
  [[nodiscard]] static bool is_intact(const std::byte* data, std::size_t bytes) {
    return data[0] == std::byte(mark_of(bytes)) && data[bytes - 1] == data[0];
  }

  Heap& heap_;
  std::minstd_rand next_{17};
  std::vector<std::pair<std::byte*, std::size_t>> blocks_;
  std::size_t live_ = 0;
};

// Cells, and then spans too: purges by time, without a window, and a trim that retains memory.
TYPED_TEST(heap_on, gives_whole_huge_pages_back_or_nothing) {
  using calls = typename TypeParam::calls;
  for (const std::size_t most_bytes : {std::size_t{1000}, std::size_t{300'000}}) {
    ashlar::local_heap<typename TypeParam::upstream> heap({.retain_bytes = mib, .decay_ms = 0});
    load blocks(heap);
    for (int turn = 0; turn != 3; ++turn) {
      blocks.rise_to(40 * mib, most_bytes);
      blocks.fall_to(2 * mib);
      heap.trim(2 * mib);
      ASSERT_TRUE(heap.invariant());
    }
    EXPECT_EQ(calls::parts == 0, TypeParam::is_huge) << most_bytes;
    EXPECT_TRUE(blocks.are_intact());
  }
  EXPECT_NE(calls::whole + calls::unmapped.size(), 0u);
}

TYPED_TEST(heap_on, of_many_threads_gives_whole_huge_pages_back_or_nothing) {
  using calls = typename TypeParam::calls;
  {
    ashlar::heap<typename TypeParam::upstream> heap({.retain_bytes = mib, .decay_ms = 0});
    load blocks(heap);
    blocks.rise_to(40 * mib, 30'000);
    blocks.fall_to(mib);
    EXPECT_EQ(calls::parts == 0, TypeParam::is_huge);
    EXPECT_TRUE(heap.invariant() && blocks.are_intact());
  }
  EXPECT_NE(calls::unmapped.size(), 0u);
}

// As is documented: all that is free, of huge pages too where the system takes parts of them.
TYPED_TEST(heap_on, gives_all_that_is_free_back_to_a_trim_to_nothing) {
  using calls = typename TypeParam::calls;
  ashlar::local_heap<typename TypeParam::upstream> heap({.retain_bytes = 64 * mib, .decay_ms = 3'600'000});
  load blocks(heap);
  blocks.rise_to(32 * mib, 30'000);
  blocks.fall_to(8 * mib);
  calls::clear();
  const std::size_t given = heap.trim();
  const bool takes_parts = !std::is_same_v<TypeParam, pages_set_aside>;
  EXPECT_EQ(given > 12 * mib, takes_parts) << given;
  EXPECT_EQ(calls::parts != 0, takes_parts);
  EXPECT_TRUE(heap.invariant() && blocks.are_intact());
}

// A part of each segment is live, and traffic goes on: the emptiest is the first to go, though it is none of the last.
TYPED_TEST(heap_on_huge, lets_the_emptiest_segment_become_free) {
  using calls = typename TypeParam::calls;
  if (!calls::has_huge_pages) GTEST_SKIP() << "this system has none";
  constexpr std::size_t cell = 1000;
  ashlar::local_heap<typename TypeParam::upstream> heap({.retain_bytes = 0, .decay_ms = 0});
  std::map<void*, std::vector<void*>, std::greater<>>
      live;  // by segments; the latest freed may wait in the thread cache
  std::vector<void*> made;
  for (std::size_t i = 0; i != 64 * mib / cell; ++i) {
    made.push_back(heap.allocate(cell));
    live[ashlar::align_down(made.back(), segment_bytes)].push_back(made.back());
  }
  void* const emptiest = ashlar::align_down(made[made.size() / 2], segment_bytes);
  std::minstd_rand next(5);
  const auto free_any = [&](std::vector<void*>& of) {
    std::swap(of[next() % of.size()], of.back());
    heap.deallocate(of.back());
    of.pop_back();
  };
  constexpr std::size_t few = 400, many = 1600;  // of 4000; the last segment has any
  std::set<void*> fuller;
  for (auto& [home, cells] : live) {
    if (home == emptiest) continue;
    if (cells.size() >= many) fuller.insert(home);
    while (cells.size() > many) free_any(cells);
  }
  while (live[emptiest].size() > few) free_any(live[emptiest]);  // the last, so its slabs are the first in the lists
  calls::clear();
  for (int turn = 0; turn != 400 && std::ranges::count(calls::unmapped, emptiest) == 0; ++turn) {
    std::size_t freed = 0;
    for (auto& [home, cells] : live)
      for (std::size_t i = (cells.size() + 9) / 10; i != 0; --i, ++freed) free_any(cells);
    for (; freed != 0; --freed) {
      void* const p = heap.allocate(cell);
      live[ashlar::align_down(p, segment_bytes)].push_back(p);
    }
  }
  EXPECT_EQ(std::ranges::count(calls::unmapped, emptiest), 1);
  EXPECT_TRUE(std::ranges::none_of(calls::unmapped, [&](void* each) { return fuller.contains(each); }));
  EXPECT_TRUE(heap.invariant());
  for (auto& [home, cells] : live)
    while (!cells.empty()) free_any(cells);
}

// What the system splits for a trim becomes whole once it is dense again, and not before.
TEST(heap_on_huge_pages, makes_split_pages_whole_as_they_fill) {
  using calls = huge_pages::calls;
  if (!calls::has_huge_pages) GTEST_SKIP() << "this system has none";
  for (const bool collapses : {true, false}) {  // a refusal changes nothing
    ashlar::local_heap<huge_pages::upstream> heap({.retain_bytes = 64 * mib, .decay_ms = 3'600'000});
    load blocks(heap);
    blocks.rise_to(32 * mib, 30'000);
    calls::clear();
    calls::collapses = collapses;
    blocks.fall_to(8 * mib);
    heap.trim();
    EXPECT_NE(calls::parts, 0u);
    blocks.rise_to(12 * mib, 30'000);
    EXPECT_LT(calls::collapsed.size(), 4u) << "most are not dense";
    errno = 77;
    blocks.rise_to(32 * mib, 30'000);
    EXPECT_EQ(errno, 77);
    EXPECT_GT(calls::collapsed.size(), 7u) << "of sixteen";
    EXPECT_LE(calls::collapsed.size(), 20u) << "each once";
    EXPECT_TRUE(heap.invariant() && blocks.are_intact());
  }
}

// Its pages were small before it had 2 MiB.
TEST(heap_on_huge_pages, makes_the_first_one_whole_once_the_segment_has_grown) {
  using calls = huge_pages::calls;
  if (!calls::has_huge_pages) GTEST_SKIP() << "this system has none";
  calls::clear();
  ashlar::local_heap<huge_pages::upstream> heap;
  const auto& first = *ashlar::detail::segment::of(heap.allocate(100'000));
  while (heap.held_bytes() <= 2 * segment_bytes) ASSERT_NE(heap.try_allocate(100'000), nullptr);
  EXPECT_EQ(calls::collapsed.size(), first.head.bytes >= unit_bytes ? 1u : 0u) << first.head.bytes;
}

}  // namespace
