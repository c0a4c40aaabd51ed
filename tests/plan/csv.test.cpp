// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of the CSV reader and writer: round trips, and a table of malformed files with their exact messages.
#include <gtest/gtest.h>

#include <cstdint>
#include <string>

#include <ashlar/plan/csv.hpp>

#include "tests/support/build.hpp"

namespace {

using namespace std::string_literals;
namespace plan = ashlar::plan;

TEST(csv, reads_half_open_lives) {
  const auto r = plan::parse_csv("id,lower,upper,size\n7,1,4,100\n8,4,6,50");
  ASSERT_TRUE(r.ok()) << r.error->text();
  ASSERT_EQ(r.document.content.buffers.size(), 2u);
  EXPECT_EQ(r.document.content.buffers[0], plan::buffer::half_open(7, 100, 1, 4));
  EXPECT_TRUE(r.document.offsets.empty());
}

TEST(csv, reads_the_older_header_as_inclusive) {
  const auto r = plan::parse_csv("id,start,end,size,gaps\n7,1,4,100,2-3\n");
  ASSERT_TRUE(r.ok()) << r.error->text();
  EXPECT_EQ(r.document.content.buffers[0], plan::buffer::inclusive(7, 100, 1, 4));
  EXPECT_EQ(r.document.content.gaps[0], (plan::gap{0, 2, 4, 0, 0}));
}

TEST(csv, accepts_any_column_order_blanks_crlf_and_a_byte_order_mark) {
  const auto r = plan::parse_csv("\xEF\xBB\xBFsize, id ,hint,offset,upper,lower\r\n 10 ,1,x,32,9,0\r\n");
  ASSERT_TRUE(r.ok()) << r.error->text();
  EXPECT_EQ(r.document.content.buffers[0], plan::buffer::half_open(1, 10, 0, 9));
  EXPECT_EQ(r.document.offsets, (std::vector<std::uint64_t>{32}));
}

TEST(csv, reads_gaps_and_their_windows) {
  const auto r = plan::parse_csv("id,lower,upper,size,gaps\n1,0,20,64,2-4 6-8@16:32\n");
  ASSERT_TRUE(r.ok()) << r.error->text();
  ASSERT_EQ(r.document.content.gaps.size(), 2u);
  EXPECT_EQ(r.document.content.gaps[1], (plan::gap{0, 6, 8, 16, 32}));
}

TEST(csv, writes_what_it_reads) {
  const std::string text = "id,lower,upper,size,alignment,gaps\n1,0,20,64,8,2-4 6-8@16:32\n5,3,4,1,1,\n";
  const auto r = plan::parse_csv(text);
  ASSERT_TRUE(r.ok()) << r.error->text();
  EXPECT_EQ(plan::format_csv(r.document.content), text);
}

TEST(csv, ids_may_be_names) {
  const std::string text =
      "id,lower,upper,size\nb1,0,3,4\n007,3,9,4\nattn/w q.0,0,9,4\n-1,5,9,4\n99999999999999999999,0,2,4\n";
  const auto r = plan::parse_csv(text);
  ASSERT_TRUE(r.ok()) << r.error->text();
  EXPECT_EQ(r.document.names, (std::vector<std::string>{"b1", "007", "attn/w q.0", "-1", "99999999999999999999"}));
  for (std::size_t i = 0; i < 5; ++i) EXPECT_EQ(r.document.content.buffers[i].id, i);
  const auto again = plan::parse_csv(plan::format_csv(r.document.content, nullptr, r.document.names));
  ASSERT_TRUE(again.ok()) << again.error->text();
  EXPECT_EQ(again.document.names, r.document.names);
  EXPECT_EQ(again.document.content.buffers, r.document.content.buffers);
}

TEST(csv, ids_that_are_all_numbers_stay_numbers) {
  const auto r = plan::parse_csv("id,lower,upper,size\n007,0,3,4\n18446744073709551615,3,9,4\n");
  ASSERT_TRUE(r.ok()) << r.error->text();
  EXPECT_TRUE(r.document.names.empty());
  EXPECT_EQ(r.document.content.buffers[0].id, 7u);
  EXPECT_EQ(r.document.content.buffers[1].id, ~std::uint64_t{0});
}

TEST(csv, reads_a_file_without_rows) { EXPECT_TRUE(plan::parse_csv("id,lower,upper,size\n").ok()); }

struct bad_file {
  std::string text;
  std::string message;
};

const std::string head = "id,lower,upper,size\n";
const std::string aligned = "id,lower,upper,size,alignment\n";
const std::string gapped = "id,lower,upper,size,gaps\n";

const bad_file bad_files[] = {
    {"", "line 1, column 1: the file is empty"},
    {"\xEF\xBB\xBF", "line 1, column 1: the file is empty"},
    {"\n", "line 1, column 1: unknown column \"\""},
    {"1,2,3,4\n", "line 1, column 1: the header is missing: a first line as \"id,lower,upper,size\""},
    {"weights,0,7,64\n", "line 1, column 1: the header is missing: a first line as \"id,lower,upper,size\""},
    {"id,lower,upper,size,5\n", "line 1, column 21: unknown column \"5\""},
    {"id;lower;upper;size\n", "line 1, column 1: unknown column \"id;lower;upper;size\""},
    {"id,lower,upper,weight\n", "line 1, column 16: unknown column \"weight\""},
    {"ID,lower,upper,size\n", "line 1, column 1: unknown column \"ID\""},
    {"id,lower,upper\n", "line 1, column 1: there is no column \"size\""},
    {"lower,upper,size\n", "line 1, column 1: there is no column \"id\""},
    {"id,upper,size\n", "line 1, column 1: there is no column \"lower\""},
    {"id,lower,size\n", "line 1, column 1: there is no column \"upper\""},
    {"id,id,lower,upper,size\n", "line 1, column 4: a second column \"id\""},
    {"id,lower,upper,size,end\n", "line 1, column 21: a second column \"end\""},
    {"id,lower,upper,size,start\n", "line 1, column 21: a second column \"start\""},
    {head + "\n", "line 2, column 1: the line is empty"},
    {head + "1,0,1,8\n\n2,0,1,8\n", "line 3, column 1: the line is empty"},
    {head + "1,0,1\n", "line 2, column 6, buffer 1: fewer fields than the header has columns"},
    {head + "1\n", "line 2, column 2, buffer 1: fewer fields than the header has columns"},
    {head + "1,0,1,8,9\n", "line 2, column 9, buffer 1: more fields than the header has columns"},
    {head + ",0,1,8\n", "line 2, column 1: the field \"id\" is empty"},
    {head + "1,,1,8\n", "line 2, column 3, buffer 1: the field \"lower\" is empty"},
    {head + "1,0,,8\n", "line 2, column 5, buffer 1: the field \"upper\" is empty"},
    {head + "1,0,1,\n", "line 2, column 7, buffer 1: the field \"size\" is empty"},
    {head + "x,0,1,0\n", "line 2, column 1, buffer x: the size is zero"},
    {head + "x,0,1\n", "line 2, column 6, buffer x: fewer fields than the header has columns"},
    {head + "\xC3\xB6,0,y,8\n", "line 2, column 6, buffer ??: \"y\" is not a whole number"},
    {head + "a,0,1,8\n7,0,1,8\nb,0,1,8\n7,2,3,8\n", "line 5, column 1, buffer 7: another buffer has the same id"},
    {head + "x,0,1,4611686018427387905\n",
     "line 2, column 1, buffer x: the sizes and alignments together exceed 2^62 bytes"},
    {head + "1,-5,1,8\n", "line 2, column 3, buffer 1: \"-5\" is negative"},
    {head + "1,0,1,-8\n", "line 2, column 7, buffer 1: \"-8\" is negative"},
    {head + "1,0,1,+5\n", "line 2, column 7, buffer 1: \"+5\" has a sign"},
    {head + "1,0,1,1e9\n", "line 2, column 7, buffer 1: \"1e9\" is not a whole number"},
    {head + "1,0,1,0x10\n", "line 2, column 7, buffer 1: \"0x10\" is not a whole number"},
    {head + "1,0,1,\"8\"\n", "line 2, column 7, buffer 1: \"\"8\"\" is not a whole number"},
    {head + "1,0,1,8\0\n"s, "line 2, column 7, buffer 1: \"8?\" is not a whole number"},
    {head + "1,0,1,\xC2\xB2\n", "line 2, column 7, buffer 1: \"??\" is not a whole number"},
    {head + "1,0,1,18446744073709551616\n",
     "line 2, column 7, buffer 1: \"18446744073709551616\" does not fit 64 bits"},
    {head + "1,0,1,99999999999999999999999999\n",
     "line 2, column 7, buffer 1: \"999999999999999999999999...\" does not fit 64 bits"},
    {head + "1,0,1,0\n", "line 2, column 1, buffer 1: the size is zero"},
    {head + "1,5,4,8\n", "line 2, column 1, buffer 1: the lifetime of the buffer ends before it begins"},
    {head + "1,5,5,8\n", "line 2, column 1, buffer 1: the lifetime of the buffer is empty"},
    {"id,start,end,size\n1,5,4,8\n", "line 2, column 1, buffer 1: the lifetime of the buffer is empty"},
    {"id,start,end,size\n1,5,18446744073709551615,8\n", "line 2, column 5, buffer 1: the end does not fit 64 bits"},
    {head + "1,0,1,8\n2,0,1,8\n1,2,3,8\n", "line 4, column 1, buffer 1: another buffer has the same id"},
    {head + "1,0,1,4611686018427387905\n",
     "line 2, column 1, buffer 1: the sizes and alignments together exceed 2^62 bytes"},
    {head + "1,0,1,4611686018427387904\n2,0,1,1\n",
     "line 3, column 1, buffer 2: the sizes and alignments together exceed 2^62 bytes"},
    {aligned + "1,0,1,8,0\n", "line 2, column 1, buffer 1: the alignment is zero"},
    {aligned + "1,0,1,8,3\n", "line 2, column 1, buffer 1: the alignment is not a power of two"},
    {aligned + "1,0,1,8,9223372036854775808\n",
     "line 2, column 1, buffer 1: the sizes and alignments together exceed 2^62 bytes"},
    {aligned + "1,0,1,8,\n", "line 2, column 9, buffer 1: the field \"alignment\" is empty"},
    {"id,begin,end,size,offset\n1,0,1,8,\n", "line 2, column 9, buffer 1: the field \"offset\" is empty"},
    {"id,begin,end,size\n1,,1,8\n", "line 2, column 3, buffer 1: the field \"begin\" is empty"},
    {gapped + "1,0,9,8,2\n", "line 2, column 9, buffer 1: \"2\" is not a gap: begin-end or begin-end@low:high"},
    {gapped + "1,0,9,8,2-x\n", "line 2, column 9, buffer 1: \"2-x\" is not a gap: begin-end or begin-end@low:high"},
    {gapped + "1,0,9,8,2-4@1\n", "line 2, column 9, buffer 1: \"2-4@1\" is not a gap: begin-end or begin-end@low:high"},
    {gapped + "1,0,9,8,4-2\n", "line 2, column 9, buffer 1: the gap is not inside the lifetime of its buffer"},
    {gapped + "1,0,9,8,1-2 4-10\n", "line 2, column 13, buffer 1: the gap is not inside the lifetime of its buffer"},
    {gapped + "1,0,9,8,2-4@0:9\n", "line 2, column 9, buffer 1: the window of the gap is not inside its buffer"},
    {gapped + "1,0,9,8,2-4@5:4\n", "line 2, column 9, buffer 1: the window of the gap is not inside its buffer"},
    {gapped + "1,0,9,8,2-5 4-6\n", "line 2, column 1, buffer 1: two gaps of the buffer overlap"},
};

TEST(csv, names_line_column_and_buffer_of_what_is_malformed) {
  EXPECT_GE(std::size(bad_files), 60u);
  for (const bad_file& f : bad_files) {
    const auto r = plan::parse_csv(f.text);
    ASSERT_FALSE(r.ok()) << f.text;
    EXPECT_EQ(r.error->text(), f.message) << f.text;
    EXPECT_TRUE(r.document.content.buffers.empty()) << "a partial plan from " << f.text;
  }
}

TEST(csv, reads_a_long_table) {
  constexpr int rows = ashlar_test::cases_of_build(100'000, 1'000'000);
  std::string text = head;
  for (int i = 0; i < rows; ++i) text += std::to_string(i) + ",0,1,8\n";
  const auto r = plan::parse_csv(text);
  ASSERT_TRUE(r.ok()) << r.error->text();
  EXPECT_EQ(r.document.content.buffers.size(), std::size_t{rows});
}

}  // namespace
