// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of buffers and of views of their parts: a view keeps its buffer alive, and no other one.
#include <ashlar/face/byte_buffer.hpp>

#include <cstddef>
#include <cstring>
#include <span>
#include <string_view>
#include <type_traits>
#include <vector>

#include <gtest/gtest.h>

#include <ashlar/base/bits.hpp>
#include <ashlar/base/lock.hpp>

#include "tests/support/death.hpp"

namespace {

using ashlar::any_thread;
using ashlar::one_thread;

std::span<const std::byte> bytes_of(std::string_view text) { return std::as_bytes(std::span(text)); }

template <class View>
std::string_view text_of(const View& view) {
  return {reinterpret_cast<const char*>(view.data()), view.size()};
}

template <class Threads>
class byte_buffer : public ::testing::Test {
protected:
  using pool_type = ashlar::buffer_pool<64, Threads>;
  using view_type = ashlar::buffer_view<64, Threads>;
  pool_type buffers;
};
using policies = ::testing::Types<one_thread, any_thread<>>;
TYPED_TEST_SUITE(byte_buffer, policies);

TYPED_TEST(byte_buffer, handles_are_one_word_and_views_two_numbers_more) {
  static_assert(sizeof(ashlar::buffer_ptr<64, TypeParam>) == sizeof(void*));
  static_assert(sizeof(typename TestFixture::view_type) == sizeof(void*) + 8);
  static_assert(std::is_nothrow_copy_constructible_v<typename TestFixture::view_type>);
}

TYPED_TEST(byte_buffer, a_new_view_has_the_whole_buffer) {
  const auto view = this->buffers.view();
  EXPECT_EQ(view.size(), 64u);
  EXPECT_TRUE(ashlar::is_aligned(view.data(), alignof(std::max_align_t)));
  EXPECT_EQ(view.buffer().use_count(), 1u);
  EXPECT_EQ(view.room_in_front() + view.room_behind(), 0u);
  std::memset(view.data(), 7, view.size());
  EXPECT_EQ(view[63], std::byte{7});
}

TYPED_TEST(byte_buffer, parts_share_the_bytes_and_keep_them) {
  auto whole = this->buffers.copy(bytes_of("header and payload"));
  auto header = whole.take_front(6);
  auto payload = whole.last(7);
  EXPECT_EQ(text_of(header), "header");
  EXPECT_EQ(text_of(whole), " and payload");
  EXPECT_EQ(text_of(payload), "payload");
  EXPECT_EQ(payload.buffer().use_count(), 3u);
  payload[0] = std::byte{'P'};
  EXPECT_EQ(text_of(whole), " and Payload");
  whole = {};
  header = {};
  EXPECT_EQ(this->buffers.live(), 1u);
  EXPECT_EQ(text_of(payload.slice(1, 3)), "ayl");
  payload = {};
  EXPECT_TRUE(this->buffers.empty());
}

TYPED_TEST(byte_buffer, grows_into_the_room_around_it) {
  typename TestFixture::view_type message(this->buffers.make(), 16, 0);
  EXPECT_EQ(message.append(bytes_of("body")), 4u);
  EXPECT_EQ(message.room_in_front(), 16u);
  message.extend(2, 0);
  message[0] = message[1] = std::byte{'>'};
  EXPECT_EQ(text_of(message), ">>body");
  const std::vector<std::byte> more(100);
  EXPECT_EQ(message.append(more), 64u - 20);
  EXPECT_EQ(message.room_behind(), 0u);
}

TYPED_TEST(byte_buffer, views_compare_by_their_bytes) {
  EXPECT_EQ(this->buffers.copy(bytes_of("same")), this->buffers.copy(bytes_of("same")));
  EXPECT_NE(this->buffers.copy(bytes_of("same")), this->buffers.copy(bytes_of("other")));
  EXPECT_EQ(typename TestFixture::view_type(), this->buffers.copy({}));
}

TYPED_TEST(byte_buffer, an_exhausted_pool_gives_an_empty_view) {
  ashlar::buffer_pool<64, TypeParam, ashlar::null_when_exhausted> one({.max_count = 1});
  const auto view = one.view();
  const auto none = one.view();
  EXPECT_EQ(none.size(), 0u);
  EXPECT_EQ(none.data(), nullptr);
  EXPECT_TRUE(one.copy(bytes_of("x")).empty());
  EXPECT_EQ(none.begin(), none.end());
}

TYPED_TEST(byte_buffer, cuts_nothing_that_is_not_there) {
  auto view = this->buffers.copy(bytes_of("four"));
  const char* const words = "ashlar: precondition: cut a part out of a buffer view that lies beyond the view";
  ASHLAR_EXPECT_DEATH(static_cast<void>(view.slice(0, 5)), words);
  ASHLAR_EXPECT_DEATH(static_cast<void>(view.slice(5, 0)), words);
  ASHLAR_EXPECT_DEATH(static_cast<void>(view.slice(2, ashlar::max_size)), words);
  ASHLAR_EXPECT_DEATH(static_cast<void>(view.last(5)), words);
  ASHLAR_EXPECT_DEATH(static_cast<void>(view.take_front(5)), words);
  ASHLAR_EXPECT_DEATH(view.extend(1, 0), "ashlar: precondition: extended a buffer view past its buffer");
  const std::vector<std::byte> more(65);
  ASHLAR_EXPECT_DEATH(static_cast<void>(this->buffers.copy(more)),
                      "ashlar: precondition: copied more bytes than a buffer has");
}

}  // namespace
