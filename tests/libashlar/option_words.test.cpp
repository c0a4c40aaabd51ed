// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests the parser of the variable ASHLAR: each word, units, refusals, and what a privileged program accepts.
#include "malloc/option_words.hpp"

#include <cstddef>
#include <cstdint>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

namespace {

using ashlar::drop_in::options;
using ashlar::drop_in::word_result;
using ashlar::fresh::huge_pages;

struct parsed {
  options of;
  std::vector<std::string> refused;
};

parsed parse(std::string_view text) {
  parsed result;
  ashlar::drop_in::parse_options(text, result.of, [&](std::string_view name, std::string_view value, word_result why) {
    const std::string mark = why == word_result::unknown_name ? "?" : "!";
    result.refused.push_back(mark + std::string(name) + "=" + std::string(value));
  });
  return result;
}

struct text_sink {
  std::string all;
  void text(std::string_view words) { all += words; }
  void number(std::size_t value) { all += std::to_string(value); }
};

std::string written(const options& of, std::string_view name) {
  text_sink sink;
  EXPECT_TRUE(ashlar::drop_in::write_option(of, name, sink)) << name;
  return sink.all;
}

TEST(option_words, defaults_come_from_an_empty_variable) {
  for (const std::string_view text : {"", ",", ",,,"}) {
    EXPECT_EQ(parse(text).of, options{}) << text;
    EXPECT_TRUE(parse(text).refused.empty()) << text;
  }
}

TEST(option_words, sets_each_option) {
  const parsed all = parse(
      "retain=64m,decay=250,max=2g,huge_pages=0,populate=1,stats=exit,abort=0,zero=1,idle=0,deepbind=1,sample=1/500");
  const options expected = {.retain_bytes = std::size_t{64} << 20,
                            .decay_ms = 250,
                            .max_bytes = std::size_t{2} << 30,
                            .huge = huge_pages::refused,
                            .populates = true,
                            .writes_statistics = true,
                            .aborts = false,
                            .zeroes = true,
                            .shares_idle = false,
                            .binds_deeply = true,
                            .sample_interval = 500};
  EXPECT_EQ(all.of, expected);
  EXPECT_TRUE(all.refused.empty());
}

TEST(option_words, takes_the_last_of_two_words) {
  EXPECT_EQ(parse("retain=1,retain=2").of.retain_bytes, 2u);
  EXPECT_FALSE(parse("zero=1,zero=0").of.zeroes);
}

TEST(option_words, names_what_it_does_not_know_and_sets_the_rest) {
  const parsed some = parse("samples=1,keep=64m,decay=1,Retain=5");
  EXPECT_EQ(some.refused, (std::vector<std::string>{"?samples=1", "?keep=64m", "?Retain=5"}));
  EXPECT_EQ(some.of.decay_ms, 1u);
  EXPECT_EQ(some.of.retain_bytes, options{}.retain_bytes);
}

TEST(option_words, refuses_values) {
  std::istringstream words("retain;retain=;retain=m;retain=-1;retain=1x;retain=1mm;retain= 1;retain=1.5m;"
                           "retain=18446744073709551616;retain=16777216t;decay=1k;decay=4294967296;decay=;max=0;max=;"
                           "huge_pages=2;huge_pages=;populate=2;populate=;stats=;stats=signal;stats=nothing;max=no;"
                           "profile_signal=9;profile_signal=19;profile_signal=11;profile_signal=7;profile_signal=5;"
                           "profile_signal=32;profile_signal=33;abort=2;abort=;zero=yes;zero=11;sample=2;sample=1/;"
                           "sample=1/0;sample=;sample=1/1k;sample=1/5000000000;idle=2;deepbind=2");
  for (std::string word; std::getline(words, word, ';');) {
    const parsed one = parse(word);
    ASSERT_EQ(one.refused.size(), 1u) << word;
    EXPECT_EQ(one.refused[0][0], '!') << word;
    EXPECT_EQ(one.of, options{}) << word;
  }
}

TEST(option_words, a_name_alone_is_unknown) {
  EXPECT_EQ(parse("verbose").refused, std::vector<std::string>{"?verbose="});
}

TEST(option_words, has_units_of_1024_in_both_cases) {
  const std::size_t one = 1;
  EXPECT_EQ(parse("retain=0").of.retain_bytes, 0u);
  EXPECT_EQ(parse("retain=3k").of.retain_bytes, 3 * one << 10);
  EXPECT_EQ(parse("retain=3K").of.retain_bytes, 3 * one << 10);
  EXPECT_EQ(parse("retain=3M").of.retain_bytes, 3 * one << 20);
  EXPECT_EQ(parse("retain=3G").of.retain_bytes, 3 * one << 30);
  EXPECT_EQ(parse("retain=3t").of.retain_bytes, 3 * one << 40);
  EXPECT_EQ(parse("retain=18446744073709551615").of.retain_bytes, SIZE_MAX);
}

TEST(option_words, huge_pages_are_refused_or_wanted) {
  EXPECT_EQ(parse("").of.huge, huge_pages::by_system);
  EXPECT_EQ(parse("huge_pages=0").of.huge, huge_pages::refused);
  EXPECT_EQ(parse("huge_pages=1").of.huge, huge_pages::wanted);
  EXPECT_EQ(parse("huge_pages=madvise").of.huge, huge_pages::wanted);
}

TEST(option_words, each_has_a_way_back) {
  EXPECT_EQ(parse("max=1g,max=none,huge_pages=1,huge_pages=system").of, options{});
  EXPECT_EQ(parse("stats=classes,stats=max,stats=profile:x,stats=none").of, options{});
  EXPECT_EQ(written(options{}, "max"), "none");
  EXPECT_EQ(written(options{}, "huge_pages"), "system");
  EXPECT_EQ(written(options{}, "stats"), "none");
}

TEST(option_words, one_allocation_in_some_is_a_sample) {
  EXPECT_EQ(parse("").of.sample_interval, 10'000u);
  EXPECT_EQ(parse("sample=0").of.sample_interval, 0u);
  EXPECT_EQ(parse("sample=1").of.sample_interval, 1u);
  EXPECT_EQ(parse("sample=1/1").of.sample_interval, 1u);
  EXPECT_FALSE(parse("sample=0").of.samples_each());
  EXPECT_TRUE(parse("sample=1/999").of.samples_each());
  EXPECT_FALSE(parse("sample=1/1000").of.samples_each());
  for (const std::string_view value : {"0", "1", "1/2", "1/123456789"})
    EXPECT_EQ(written(parse("sample=" + std::string(value)).of, "sample"), value);
}

TEST(option_words, a_profile_has_a_file) {
  EXPECT_EQ(parse("").of.profile_file[0], '\0');
  const options profiled = parse("stats=exit,stats=profile:/tmp/%p.heap,profile_interval=64k,profile_signal=12").of;
  EXPECT_STREQ(profiled.profile_file.data(), "/tmp/%p.heap");
  EXPECT_TRUE(profiled.writes_statistics);
  EXPECT_EQ(profiled.profile_interval, 65536u);
  EXPECT_EQ(profiled.profile_signal, 12);
  EXPECT_EQ(written(profiled, "stats"), "profile:/tmp/%p.heap");
  EXPECT_EQ(written(profiled, "profile_interval"), "65536");
  EXPECT_EQ(written(profiled, "profile_signal"), "12");
  EXPECT_STREQ(parse("stats=profile:abc,stats=profile:d").of.profile_file.data(), "d");
  EXPECT_TRUE(parse("stats=profile:" + std::string(255, 'x')).refused.empty());
  for (const std::string& word :
       {std::string("stats=profile:"), std::string("stats=profile"), "stats=profile:" + std::string(256, 'x'),
        std::string("profile_interval=0"), std::string("profile_interval=2g"), std::string("profile_signal=65"),
        std::string("profile_signal=0k")})
    EXPECT_EQ(parse(word).refused.size(), 1u) << word;
}

TEST(option_words, writes_what_it_reads) {
  EXPECT_EQ(written(parse("stats=classes").of, "stats"), "classes");
  EXPECT_EQ(written(parse("stats=max").of, "stats"), "max");
  EXPECT_EQ(written(parse("stats=exit,stats=max").of, "stats"), "exit");
  for (const char* name : {"retain", "decay", "max", "huge_pages", "populate", "stats", "abort", "zero", "sample"})
    EXPECT_EQ(parse(std::string(name) + "=" + written(options{}, name)).of, options{}) << name;
  const options some =
      parse("retain=1k,decay=7,max=5m,huge_pages=1,populate=1,stats=exit,abort=0,zero=1,sample=1/7").of;
  std::string text;
  for (const char* name : {"retain", "decay", "max", "huge_pages", "populate", "stats", "abort", "zero", "sample"})
    text += std::string(name) + "=" + written(some, name) + ",";
  EXPECT_EQ(parse(text).of, some);
  text_sink sink;
  EXPECT_FALSE(ashlar::drop_in::write_option(some, "samples", sink));
  EXPECT_TRUE(sink.all.empty());
}

TEST(option_words, a_privileged_program_accepts_what_adds_checks) {
  const options wished = parse("retain=1,decay=1,max=1g,huge_pages=1,populate=1,stats=exit,abort=0,zero=1,sample=1").of;
  options expected;
  expected.zeroes = true;
  expected.sample_interval = 1;
  EXPECT_EQ(ashlar::drop_in::only_checks_of(wished), expected);
  EXPECT_EQ(ashlar::drop_in::only_checks_of(parse("sample=0").of), options{});
}

}  // namespace
