// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Any bytes as the variable ASHLAR: what is set is written so that it is read again, and each refused word is one of
// the text.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "fuzz/support.hpp"
#include "malloc/option_words.hpp"

namespace {

using ashlar::drop_in::options;
using ashlar::drop_in::word_result;

struct text_sink {
  std::string all;
  void text(std::string_view words) { all += words; }
  void number(std::size_t value) { all += std::to_string(value); }
};

std::string written(const options& of) {
  text_sink sink;
  for (const ashlar::drop_in::words::known_word& each : ashlar::drop_in::words::known) {
    const std::size_t before = sink.all.size();
    sink.text(each.name);
    sink.text("=");
    const std::size_t start = sink.all.size();
    ashlar_fuzz::expect(ashlar::drop_in::write_option(of, each.name, sink));
    if (sink.all.size() == start) sink.all.resize(before);  // unset: there is no word for it
    else sink.text(",");
  }
  return sink.all;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(static_cast<const char*>(static_cast<const void*>(data)), size);
  options first, second;
  ashlar::drop_in::parse_options(text, first, [&](std::string_view name, std::string_view value, word_result why) {
    ashlar_fuzz::expect(why != word_result::set && text.find(name) != text.npos && text.find(value) != text.npos);
    ashlar_fuzz::expect(name.find(',') == name.npos && value.find(',') == value.npos);
  });
  const std::string again = written(first);  // of several words of `stats` the one that writes most
  ashlar::drop_in::parse_options(again, second, [](auto...) { ashlar_fuzz::expect(false); });
  ashlar_fuzz::expect(written(second) == again && first.max_bytes != 0);
  return 0;
}
