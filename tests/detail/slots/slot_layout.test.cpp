// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests that slots and words of every size are disjoint, lie inside the slab, and are found from either address.
#include <ashlar/detail/slots/slot_layout.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <type_traits>

#include <gtest/gtest.h>

#include <ashlar/base/threads.hpp>
#include <ashlar/detail/slab/cell_guard.hpp>
#include <ashlar/detail/support/bits.hpp>

namespace {

using ashlar::one_thread;
using ashlar::detail::slot_slab_alignment;

template <std::size_t Bytes, std::size_t Alignment, bool IsBeside>
using layout = ashlar::detail::slot_layout<one_thread, Bytes, Alignment, IsBeside>;

template <std::size_t Bytes, std::size_t Alignment, bool IsBeside, std::size_t Expected>
inline constexpr bool costs =
    ashlar::detail::has_guards || layout<Bytes, Alignment, IsBeside>::bytes_per_slot == Expected;

template <std::size_t Bytes, std::size_t Alignment, bool IsBeside>
inline constexpr bool fills_slabs = layout<Bytes, Alignment, IsBeside>::slots_per_slab *
                                        static_cast<double>(layout<Bytes, Alignment, IsBeside>::bytes_per_slot) >
                                    slot_slab_alignment * 0.995;

// The promised bytes behind 15 million pointers.
static_assert(costs<8, 8, false, 12> && costs<8, 8, true, 16>);
static_assert(costs<4, 4, true, 8> && costs<12, 8, true, 16>);
static_assert(fills_slabs<8, 8, false> && fills_slabs<4, 4, true>);
static_assert(layout<1 << 20, 8, false>::slots_per_slab == 1);
static_assert(layout<100'000, 8, false>::slots_per_slab == 2);

// A slab as the resource formats it, in separate memory; only the ends of the memory are touched.
template <class Layout>
class slab_of {
public:
  explicit slab_of(std::uint32_t slots)
      : memory_(::operator new(Layout::slab_bytes(slots) + slot_slab_alignment)),
        start_(ashlar::detail::align_up(memory_, slot_slab_alignment)), slab_(header::in(start_)) {
    slab_->first_slot = Layout::slots_of(slab_);
    slab_->words = Layout::words_of(slab_);
    slab_->factor = header::factor_for(Layout::slot_bytes, Layout::slots_per_slab);
    slab_->slot_bytes = static_cast<std::uint32_t>(Layout::slot_bytes);
    slab_->word_stride = static_cast<std::uint32_t>(Layout::is_beside ? Layout::slot_bytes : Layout::word_bytes);
  }
  ~slab_of() { ::operator delete(memory_); }

  using header = ashlar::detail::slot_slab<one_thread>;
  [[nodiscard]] header& get() { return *slab_; }
  [[nodiscard]] std::byte* start() { return start_; }

private:
  void* memory_;
  std::byte* start_;
  header* slab_;
};

template <class Layout>
void expect_slots_and_words(std::uint32_t slots) {
  slab_of<Layout> made(slots);
  auto& slab = made.get();
  std::byte* end = static_cast<std::byte*>(static_cast<void*>(&slab + 1));
  for (std::uint32_t i = 0; i < slots; ++i) {
    auto* const slot = static_cast<std::byte*>(Layout::slot_at(slab, i));
    auto* const word = static_cast<std::byte*>(static_cast<void*>(&Layout::word_at(slab, i)));
    ASSERT_TRUE(ashlar::detail::is_aligned(slot, Layout::object_alignment)) << i;
    ASSERT_GE(slot, end);
    end = slot + Layout::object_bytes + Layout::guard::bytes;
    if (Layout::is_beside) {
      ASSERT_GE(word, end);
      end = word + sizeof(std::uint32_t);
    } else {
      ASSERT_LE(word + sizeof(std::uint32_t) + ashlar::detail::front_guard, Layout::slot_at(slab, 0));
      ASSERT_GE(static_cast<void*>(word), static_cast<void*>(&slab + 1));
    }
    ASSERT_EQ(slab.slot_at(i), slot);
    ASSERT_EQ(&slab.word_at(i), &Layout::word_at(slab, i));
    ASSERT_EQ(&Layout::word_of(slot), &Layout::word_at(slab, i));
    ASSERT_EQ(Layout::index_of(slab, slot), i);
    ASSERT_EQ(&slab, slab.around(slot));
    const std::size_t last = slots == 1 ? 0 : Layout::object_bytes - 1;
    for (const std::size_t inside : {std::size_t{0}, last / 2, last}) {
      ASSERT_EQ(slab.index_of(slot + inside), i) << inside;
      ASSERT_EQ(slab.around(slot + inside), &slab);
    }
  }
  EXPECT_LE(end, made.start() + Layout::slab_bytes(slots));
}

template <std::size_t Bytes, std::size_t Alignment>
void expect_both_placements() {
  SCOPED_TRACE(Bytes);
  SCOPED_TRACE(Alignment);
  expect_slots_and_words<layout<Bytes, Alignment, true>>(layout<Bytes, Alignment, true>::slots_per_slab);
  expect_slots_and_words<layout<Bytes, Alignment, false>>(layout<Bytes, Alignment, false>::slots_per_slab);
  expect_slots_and_words<layout<Bytes, Alignment, false>>(1);
}

TEST(slot_layout, small_objects) {
  expect_both_placements<1, 1>();
  expect_both_placements<2, 2>();
  expect_both_placements<4, 4>();
  expect_both_placements<8, 8>();
  expect_both_placements<12, 4>();
  expect_both_placements<24, 8>();
  expect_both_placements<48, 16>();
  expect_both_placements<100, 4>();
}

TEST(slot_layout, large_objects) {
  expect_both_placements<1000, 8>();
  expect_both_placements<40'000, 8>();
  expect_both_placements<130'000, 8>();
  expect_both_placements<131'072, 16>();
  expect_both_placements<262'144, 8>();
  expect_both_placements<3'000'000, 8>();
}

TEST(slot_layout, aligned_objects) {
  expect_both_placements<64, 64>();
  expect_both_placements<128, 128>();
  expect_both_placements<4096, 4096>();
  expect_both_placements<65'536, 65'536>();
}

}  // namespace
