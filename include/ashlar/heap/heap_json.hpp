// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The statistics of a heap as JSON; each key is the C++ name of its figure.
#pragma once

#include <concepts>
#include <cstddef>
#include <string_view>

#include <ashlar/base/config.hpp>
#include <ashlar/base/error.hpp>
#include <ashlar/detail/slab/size_classes.hpp>
#include <ashlar/detail/support/text_writer.hpp>
#include <ashlar/heap/heap_statistics.hpp>

namespace ashlar::ASHLAR_ABI::detail {

/// Writes one value, which may be an object or an array. The following code writes {"blocks":3,"sizes":[48,64]}:
///
///     json_writer json(out);
///     json.begin_object().member("blocks", 3);
///     json.key("sizes").begin_array().value(48).value(64).end_array().end_object();
///     json.finish();
///
/// Text must be UTF-8. Thread safety: none.
template <text_sink Out>
class json_writer {
public:
  /// Expects: `out` outlives the writer.
  explicit json_writer(Out& out) noexcept : out_(out) {}

  json_writer& begin_object() { return open("{"); }
  json_writer& end_object() { return close("}"); }
  json_writer& begin_array() { return open("["); }
  json_writer& end_array() { return close("]"); }

  /// Effects: writes the name of the next value. Expects: an object is open.
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

  json_writer& members(const heap_statistics::share& share) {
    return member("live_blocks", share.live_blocks)
        .member("live_bytes", share.live_bytes)
        .member("spare_blocks", share.spare_blocks)
        .member("spare_bytes", share.spare_bytes)
        .member("dropped_bytes", share.dropped_bytes)
        .member("waste_bytes", share.waste_bytes)
        .member("slabs", share.slabs);
  }

  /// Effects: flushes the rest. Expects: all objects and arrays are closed.
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

  ASHLAR_INLINE_FOR_SIZE void escaped(const char& c) {
    const auto code = static_cast<unsigned char>(c);
    if (code < 0x20) out_.text(code < 0x10 ? "\\u000" : "\\u001").hex(code % 16u);
    else if (c == '"' || c == '\\') out_.text("\\").text({&c, 1});
    else out_.text({&c, 1});
  }

  text_writer<Out> out_;
  std::size_t depth_ = 0;  // open objects and arrays
  bool is_first_ = true;   // whether the next value needs no comma before it
};

}  // namespace ashlar::ASHLAR_ABI::detail

namespace ashlar::ASHLAR_ABI {

/// Effects: writes the statistics as one JSON object to `out(std::string_view)`, in pieces. Size classes without a slab
/// are left out. Allocates nothing. Throws: as `out`.
template <class Out>
  requires detail::text_sink<Out>
ASHLAR_INLINE_FOR_SIZE inline void write_json(const heap_statistics& statistics, Out&& out) {
  detail::json_writer json(out);
  json.begin_object()
      .member("held_bytes", statistics.held_bytes)
      .member("free_bytes", statistics.free_bytes)
      .member("fresh_bytes", statistics.fresh_bytes)
      .member("head_bytes", statistics.head_bytes)
      .member("table_bytes", statistics.table_bytes)
      .member("cached_bytes", statistics.cached_bytes)
      .member("segments", statistics.segments)
      .member("page_faults_avoided", statistics.page_faults_avoided);
  json.key("all").begin_object().members(statistics.all).end_object();
  json.key("spans").begin_object().members(statistics.spans).end_object();
  json.key("huge").begin_object().members(statistics.huge).end_object();
  json.key("classes").begin_array();
  for (std::size_t size_class = 1; size_class <= detail::size_classes::count; ++size_class) {
    if (statistics.of_class[size_class].slabs == 0) continue;
    json.begin_object()
        .member("size_class", size_class)
        .member("cell_bytes", detail::size_classes::bytes_of(size_class));
    json.members(statistics.of_class[size_class]).end_object();
  }
  json.end_array().end_object().finish();
}

}  // namespace ashlar::ASHLAR_ABI
