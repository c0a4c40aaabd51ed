// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of the secret of a process, and of canaries.
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <set>
#include <string>

#include <gtest/gtest.h>

#include <ashlar/os/random_bits.hpp>

namespace {

using ashlar::detail::canary_byte;
using ashlar::detail::canary_secret;
using ashlar::detail::end_of_changes;
using ashlar::detail::fill_canary;
using ashlar::detail::is_canary;
using ashlar::detail::process_secret;

TEST(process_secret, stays_the_same) {
  EXPECT_EQ(process_secret(), process_secret());
  EXPECT_NE(process_secret(), 0u);
}

#if defined(GTEST_HAS_DEATH_TEST)
// Effects: tells the children of this process a word, which a child that runs this again does not change.
void tell_once(const char* name, const std::string& word) {
  if (std::getenv(name) != nullptr) return;
#if defined(_WIN32)
  ::_putenv_s(name, word.c_str());
#else
  ::setenv(name, word.c_str(), 0);
#endif
}

TEST(process_secret_death, is_another_one_in_each_process) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");  // each child is a program of its own
  constexpr const char* name = "ASHLAR_TEST_SECRET";
  const std::string own = std::to_string(process_secret()) + ' ' + std::to_string(canary_secret::word(0x7000'0000));
  tell_once(name, own);
  for (int i = 0; i < 5; ++i)
    EXPECT_EXIT(std::_Exit(std::getenv(name) == own ? 1 : 0), ::testing::ExitedWithCode(0), "");
}
#endif

TEST(canary_words, differ_at_each_address) {
  std::set<std::uint64_t> words;
  for (std::uintptr_t i = 0; i < 1000; ++i) words.insert(canary_secret::word(0x7000'0000 + 8 * i));
  EXPECT_EQ(words.size(), 1000u);
}

TEST(canary_words, have_no_byte_of_a_text_and_none_that_is_frequent) {
  alignas(8) std::array<std::byte, 8192> memory{};
  std::array<int, 256> seen{};
  for (const std::byte& each : memory) ++seen[canary_secret::byte(&each)];
  for (std::size_t byte = 0; byte < 128; ++byte) EXPECT_EQ(seen[byte], 0);
  for (const int times : seen) EXPECT_LT(times, 640);  // of 64
}

TEST(canary_words, are_of_their_bytes_at_each_address) {
  alignas(8) std::array<std::byte, 24> memory{};
  for (std::size_t first = 0; first < 16; ++first) {
    const std::uint64_t word = canary_secret::word_at(&memory[first]);
    std::array<unsigned char, 8> bytes;
    std::memcpy(bytes.data(), &word, sizeof word);
    for (std::size_t i = 0; i < 8; ++i) ASSERT_EQ(bytes[i], canary_secret::byte(&memory[first + i])) << first;
  }
}

TEST(canaries, fill_their_range_and_see_each_changed_byte) {
  alignas(8) std::array<std::byte, 64> memory{};
  for (std::size_t requested : {0u, 1u, 37u, 1000u})
    for (std::size_t first = 0; first < 16; ++first)
      for (std::size_t last = first; last < 40; ++last) {
        memory.fill(std::byte{});
        std::byte *const from = &memory[first], *const to = &memory[last];
        fill_canary(from, to, requested);
        ASSERT_TRUE(is_canary(from, to, requested));
        ASSERT_EQ(end_of_changes(from, to, requested), from);
        for (std::size_t at = 0; at < memory.size(); ++at) {
          const bool is_inside = first <= at && at < last;
          ASSERT_EQ(memory[at], is_inside ? canary_byte(&memory[at], requested) : std::byte{});
          if (!is_inside) continue;
          memory[at] ^= std::byte{1};
          ASSERT_FALSE(is_canary(from, to, requested));
          ASSERT_EQ(end_of_changes(from, to, requested), &memory[at] + 1);
          memory[at] ^= std::byte{1};
        }
      }
}

TEST(canaries, tell_sizes_apart_up_to_the_period) {
  alignas(8) std::array<std::byte, 64> memory{};
  for (std::size_t size = 0; size < ashlar::detail::canary_period; ++size) {
    fill_canary(memory.data(), memory.data() + 9, size);
    for (std::size_t other = 0; other < 2 * ashlar::detail::canary_period; ++other)
      ASSERT_EQ(is_canary(memory.data(), memory.data() + 9, other), other % ashlar::detail::canary_period == size);
  }
}

}  // namespace
