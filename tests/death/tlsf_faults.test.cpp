// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of misuse of a tlsf_resource: bad frees, wrong sizes, and every byte of its tags and links overwritten.

#include <array>
#include <cstddef>
#include <cstring>
#include <new>
#include <string>

#include <gtest/gtest.h>

#include <ashlar/base/error.hpp>
#include <ashlar/detail/support/poison.hpp>
#include <ashlar/resource/null_resource.hpp>
#include <ashlar/resource/tlsf_resource.hpp>

#include "tests/death/caught.hpp"
#include "tests/death/last_words.hpp"
#include "tests/support/build.hpp"
#include "tests/support/pattern.hpp"

namespace {

using ashlar::fault;
using ashlar::detail::tlsf_block;
using ashlar_test::caught_in;

using in_buffer = ashlar::tlsf_resource<ashlar::null_resource, ashlar::tlsf_small>;
constexpr bool is_hardened = ashlar::checking_level >= ashlar::checking::hardened;

class tlsf_faults : public ::testing::Test {
protected:
  void SetUp() override {
    if (!ashlar_test::is_checked) GTEST_SKIP() << "looked for from level checked on";
  }
  ~tlsf_faults() override { r_.release(); }

  void* take(std::size_t bytes = 100) { return r_.allocate(bytes, 1); }

  // Starts again with a new resource, even over destroyed tags: at `hardened` a release would report them.
  void start_again() {
    ashlar::detail::mark_live(memory_.data(), memory_.size());
    ::new (static_cast<void*>(place_.data())) in_buffer(memory_);
  }

  template <class F>
  void expect_fault(fault kind, const void* p, F f) {
    const auto seen = caught_in(f);
    ASSERT_TRUE(seen.has_value());
    EXPECT_EQ(ashlar::name_of(seen->kind), ashlar::name_of(kind)) << seen->what;
    EXPECT_EQ(seen->pointer, p) << seen->what;
    EXPECT_EQ(seen->resource, &r_);
  }

  alignas(16) std::array<std::byte, 16384> memory_;
  alignas(in_buffer) std::array<std::byte, sizeof(in_buffer)> place_{};
  in_buffer& r_ = *::new (static_cast<void*>(place_.data())) in_buffer(memory_);
};

TEST_F(tlsf_faults, each_prints_one_line_alone) {
  void* const p = take();
  void* const q = take();
  ASHLAR_EXPECT_LAST_WORDS((r_.deallocate(p), r_.deallocate(p)),
                           "ashlar: double_free: freed a block that is free, pointer 0x*, resource 0x*");
  ASHLAR_EXPECT_LAST_WORDS((r_.deallocate(p), r_.deallocate(q), r_.deallocate(q)),
                           "ashlar: double_free: freed a block that is free and coalesced, pointer 0x*, "
                           "resource 0x*");
  ASHLAR_EXPECT_LAST_WORDS(r_.deallocate(this), "ashlar: invalid_free: freed a pointer that is not of this resource, "
                                                "pointer 0x*, resource 0x*");
  ASHLAR_EXPECT_LAST_WORDS(r_.deallocate(p, 99 + 200, 1),
                           "ashlar: size_mismatch: freed a block with another size than it was allocated with, pointer "
                           "0x*, resource 0x*, block of 104 bytes" +
                               std::string(is_hardened ? ", expected 100" : "") + ", got 299");
}

TEST_F(tlsf_faults, an_old_pointer_is_refused_after_release) {
  void *const p = take(), *const q = take();
  r_.release();
  for (void* const each : {p, q}) EXPECT_TRUE(caught_in([&] { r_.deallocate(each); }).has_value());
}

TEST_F(tlsf_faults, another_size_is_a_mismatch_and_at_hardened_every_other) {
  for (const std::size_t bytes : {0u, 1u, 24u, 25u, 100u, 1000u}) {
    void* const p = r_.allocate(bytes, 1);
    const std::size_t usable = r_.usable_size(p);
    expect_fault(fault::size_mismatch, p, [&] { r_.deallocate(p, usable + 1, 1); });
    expect_fault(fault::size_mismatch, p, [&] { r_.deallocate(p, ashlar::detail::max_size, 1); });
    if (bytes > 100) expect_fault(fault::size_mismatch, p, [&] { r_.deallocate(p, bytes / 2, 1); });
    expect_fault(fault::size_mismatch, p, [&] { r_.deallocate(p, bytes, 16384); });
    if (is_hardened && bytes != 0) {
      EXPECT_EQ(usable, bytes);
      for (const std::size_t other : {bytes - 1, bytes + 1}) {
        const auto seen = caught_in([&] { r_.deallocate(p, other, 1); });
        ASSERT_TRUE(seen && seen->kind == fault::size_mismatch);
        EXPECT_TRUE(seen->expected == bytes && seen->got == other);
      }
    }
    r_.deallocate(p, bytes, 1);
  }
}

void overwrite(std::byte* at, std::size_t bytes, std::byte flip) {
  ashlar::detail::mark_readable(at, bytes);
  for (std::size_t i = 0; i < bytes; ++i) at[i] ^= flip;
}

TEST_F(tlsf_faults, a_header_that_was_overwritten_names_the_block_in_front) {
  for (std::size_t byte = 0; byte < tlsf_block::header_bytes; ++byte)
    for (const int flip : {1, 0x80, 0xFF}) {
      void* const p = take(24);
      auto* const q = static_cast<std::byte*>(take(24));
      overwrite(q - 1 - byte, 1, static_cast<std::byte>(flip));
      expect_fault(fault::overflow, p, [&] { r_.deallocate(p); });
      expect_fault(fault::overflow, p, [&] { r_.deallocate(q); });
      start_again();
    }
}

TEST_F(tlsf_faults, an_overflow_by_one_is_seen_at_hardened) {
  if (!is_hardened) GTEST_SKIP() << "looked for at level hardened";
  for (std::size_t bytes = 1; bytes <= 300; ++bytes) {
    auto* const p = static_cast<std::byte*>(take(bytes));
    overwrite(p + bytes, 1, std::byte{0x22});
    const auto seen = caught_in([&] { r_.deallocate(p, bytes, 1); });
    ASSERT_TRUE(seen.has_value()) << bytes;
    EXPECT_TRUE(seen->kind == fault::overflow || seen->kind == fault::size_mismatch) << seen->what;
    EXPECT_TRUE(caught_in([&] { static_cast<void>(r_.try_expand(p, bytes, 1, 1)); }).has_value());
    start_again();
  }
}

// Each byte of a link or tag of a free block, overwritten: a report or no effect, and never a forged pointer.
TEST_F(tlsf_faults, any_byte_of_a_free_block_overwritten_traps_or_does_nothing) {
  int traps = 0;
  const std::array<std::size_t, 3> parts = {0, sizeof(void*), 2 * sizeof(void*)};
  for (const std::size_t part : parts)
    for (std::size_t byte = 0; byte < sizeof(void*); ++byte) {
      std::array<void*, 9> p;
      for (void*& each : p) each = take(100);
      for (const std::size_t at : {1u, 3u, 5u, 7u}) r_.deallocate(p[at]);
      auto* const victim = static_cast<std::byte*>(p[5]);  // has a neighbour in its list at either side
      const std::size_t stride = tlsf_block::stride_for(100 + ashlar::detail::tlsf_slack::bytes);
      const std::size_t footer = stride - tlsf_block::header_bytes - tlsf_block::footer_bytes;
      overwrite((part == 2 * sizeof(void*) ? victim + footer : victim + part) + byte, 1, std::byte{0x10});
      const auto seen = caught_in([&] {
        for (int i = 0; i < 4; ++i) {
          void* const got = r_.try_allocate(100, 1);
          const bool is_real = got == p[1] || got == p[3] || got == p[5] || got == p[7];
          EXPECT_TRUE(is_real) << "a forged pointer";
        }
      });
      if (seen) EXPECT_EQ(seen->kind, fault::corrupt_link);
      const auto in_front = seen ? seen : caught_in([&] { r_.deallocate(p[6]); });
      traps += in_front ? 1 : 0;
      start_again();
    }
  EXPECT_EQ(traps, static_cast<int>(parts.size() * sizeof(void*)));
}

TEST_F(tlsf_faults, a_free_neighbour_that_was_written_to_is_seen_when_it_is_joined) {
  for (const bool from_behind : {false, true}) {
    void *const p = take(100), *const q = take(100);
    static_cast<void>(take(100));
    r_.deallocate(from_behind ? p : q);
    std::byte* const victim = static_cast<std::byte*>(from_behind ? p : q);
    overwrite(victim, 2 * sizeof(void*), std::byte{0x41});
    expect_fault(fault::corrupt_link, victim, [&] { r_.deallocate(from_behind ? q : p); });
    start_again();
  }
}

}  // namespace
