// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of the calls of a heap, over primitives that count.
#include <ashlar/detail/heap/heap_api.hpp>

#include <cstddef>
#include <cstring>
#include <new>

#include <gtest/gtest.h>

namespace {

namespace detail = ashlar::detail;

// Two places of 64 bytes for blocks.
class two_places : public detail::heap_api<two_places> {
public:
  int resized = 0, moved = 0, live = 0;
  bool resizes = false;

private:
  friend detail::heap_api<two_places>;

  [[nodiscard]] two_places& primitives() noexcept { return *this; }
  [[nodiscard]] const two_places& primitives() const noexcept { return *this; }

  template <detail::failure Failure>
  [[nodiscard]] void* take(std::size_t bytes, std::size_t alignment) noexcept(Failure == detail::or_null) {
    void* const p = bytes <= 64 && live < 2 ? places_[live++] : nullptr;
    if constexpr (Failure == detail::or_throw) return detail::block_or_throw(p, bytes, alignment);
    else return p;
  }
  template <std::size_t Bytes, std::size_t Alignment>
  [[nodiscard]] void* take_known() {
    return take<detail::or_throw>(Bytes, Alignment);
  }
  [[nodiscard]] detail::slice_run take_unzeroed(std::size_t bytes, std::size_t alignment) noexcept {
    return {static_cast<std::byte*>(take<detail::or_null>(bytes, alignment)), false};
  }
  void put(void* p) noexcept { live -= p != nullptr ? 1 : 0; }
  void put(void* p, std::size_t, std::size_t) noexcept { put(p); }
  template <std::size_t, std::size_t>
  void put_known(void* p) noexcept {
    put(p);
  }
  [[nodiscard]] bool expand(void*, std::size_t, std::size_t, std::size_t) noexcept { return ++resized, resizes; }
  [[nodiscard]] bool resize(void*, std::size_t, std::size_t, std::size_t) noexcept { return ++resized, resizes; }
  [[nodiscard]] void* move_pages(void*, std::size_t, std::size_t) noexcept { return ++moved, nullptr; }
  [[nodiscard]] static std::size_t size_of(const void*) noexcept { return 32; }

  alignas(64) std::byte places_[2][64] = {};
};

TEST(heap_api, reallocates_in_place_or_by_a_copy) {
  two_places heap;
  auto* const p = static_cast<std::byte*>(heap.try_reallocate(nullptr, 30));
  std::memset(p, 7, 32);
  heap.resizes = true;
  EXPECT_EQ(heap.reallocate(p, 31), p);
  heap.resizes = false;
  auto* const copy = static_cast<std::byte*>(heap.reallocate(p, 60));
  EXPECT_NE(copy, p);
  EXPECT_EQ(std::memcmp(copy, p, 32), 0);
  EXPECT_EQ(heap.live, 1);
  EXPECT_EQ(heap.resized, 2);
  EXPECT_EQ(heap.moved, 1);
  EXPECT_EQ(heap.try_reallocate(copy, 65), nullptr) << "and the block stays";
  EXPECT_EQ(heap.live, 1);
  static_cast<void>(heap.try_reallocate(copy, 8));
  EXPECT_EQ(heap.moved, 2) << "a smaller block does not move";
}

TEST(heap_api, shrinks_by_its_expansion) {
  two_places heap;
  heap.resizes = true;
  EXPECT_FALSE(heap.try_shrink(nullptr, 20, 21, 16));
  EXPECT_EQ(heap.resized, 0);
  EXPECT_TRUE(heap.try_shrink(nullptr, 20, 20, 16) && heap.try_expand(nullptr, 20, 21, 16));
  EXPECT_EQ(heap.resized, 2);
}

TEST(heap_api, resizes_without_the_size) {
  two_places heap;
  void* const p = heap.allocate(30);
  EXPECT_FALSE(heap.try_resize(p, 31));
  heap.resizes = true;
  EXPECT_TRUE(heap.try_resize(p, 31));
  EXPECT_EQ(heap.resized, 2);
  heap.deallocate(p);
}

TEST(heap_api, clears_and_measures_blocks) {
  two_places heap;
  std::memset(heap.allocate(32), 7, 32);
  heap.deallocate(heap.allocate<8>(), 8);
  heap.live = 0;
  const auto* const p = static_cast<const std::byte*>(heap.allocate_zeroed(31));
  EXPECT_EQ(p[0], std::byte{0});
  EXPECT_EQ(p[30], std::byte{0});
  EXPECT_EQ(p[31], std::byte{7});
  EXPECT_EQ(heap.allocate_at_least(1).size, 32u);
  EXPECT_EQ(heap.try_allocate_zeroed(1), nullptr);
}

#if defined(__cpp_exceptions)
TEST(heap_api, throws_without_memory) {
  two_places heap;
  EXPECT_THROW(static_cast<void>(heap.allocate(65)), std::bad_alloc);
  EXPECT_THROW(static_cast<void>(heap.allocate_zeroed(65)), std::bad_alloc);
  EXPECT_THROW(static_cast<void>(heap.reallocate(nullptr, 65)), std::bad_alloc);
}
#endif

}  // namespace
