// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// JSON for whoever takes it: commas where they belong, strings escaped, nothing allocated.
#pragma once

#include <concepts>
#include <cstddef>
#include <string_view>

#include <ashlar/base/config.hpp>
#include <ashlar/base/expects.hpp>
#include <ashlar/detail/support/text_writer.hpp>

namespace ashlar {
inline namespace ASHLAR_ABI {
namespace detail {

/// Writes one value, which may be an object or an array of others.
///
///   json_writer json(out);
///   json.begin_object().member("blocks", 3).key("sizes").begin_array().value(48).value(64).end_array().end_object();
///   json.finish();                                                                 {"blocks":3,"sizes":[48,64]}
///
/// Text is taken to be UTF-8. Thread safety: none.
template <text_sink Out>
class json_writer {
public:
  /// Expects: `out` outlives the writer.
  explicit json_writer(Out& out) noexcept : out_(out) {}

  json_writer& begin_object() { return open("{"); }
  json_writer& end_object() { return close("}"); }
  json_writer& begin_array() { return open("["); }
  json_writer& end_array() { return close("]"); }

  /// Effects: the name of the value that is written next. Expects: an object is open.
  json_writer& key(std::string_view name) {
    comma();
    quoted(name);
    out_.text(":");
    is_first_ = true;
    return *this;
  }

  json_writer& value(std::integral auto number) {
    comma();
    if constexpr (std::same_as<decltype(number), bool>) out_.text(number ? "true" : "false");
    else out_.number(number);
    return *this;
  }

  json_writer& value(std::string_view text) {
    comma();
    quoted(text);
    return *this;
  }
  json_writer& value(const char* text) { return value(std::string_view(text)); }

  template <class Value>
  json_writer& member(std::string_view name, Value&& what) {
    return key(name).value(what);
  }

  /// Effects: hands over the rest. Expects: what was begun has ended.
  void finish() {
    ASHLAR_EXPECTS(depth_ == 0, "finished JSON inside an object or array");
    out_.flush();
  }

private:
  json_writer& open(std::string_view bracket) {
    comma();
    out_.text(bracket);
    is_first_ = true;
    ++depth_;
    return *this;
  }

  json_writer& close(std::string_view bracket) {
    ASHLAR_EXPECTS(depth_ != 0, "ended a JSON object or array that was not begun");
    out_.text(bracket);
    is_first_ = false;
    --depth_;
    return *this;
  }

  void comma() {
    if (!is_first_) out_.text(",");
    is_first_ = false;
  }

  void quoted(std::string_view text) {
    out_.text("\"");
    for (const char& c : text) escaped(c);
    out_.text("\"");
  }

  void escaped(const char& c) {
    const auto code = static_cast<unsigned char>(c);
    if (code < 0x20) out_.text(code < 0x10 ? "\\u000" : "\\u001").hex(code % 16u);
    else if (c == '"' || c == '\\') out_.text("\\").text({&c, 1});
    else out_.text({&c, 1});
  }

  text_writer<Out> out_;
  std::size_t depth_ = 0;  // objects and arrays that are open
  bool is_first_ = true;   // nothing stands before the next value that a comma would part it from
};

}  // namespace detail
}  // namespace ASHLAR_ABI
}  // namespace ashlar
