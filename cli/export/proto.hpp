// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Messages of protocol buffers, of which the files of pprof and Perfetto are made.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "cli/export/varint.hpp"

namespace ashlar::cli {

/// `number` leaves out a 0, as most readers expect.
class proto_message {
public:
  proto_message& number(unsigned field, std::uint64_t value) { return value == 0 ? *this : always(field, value); }
  proto_message& always(unsigned field, std::uint64_t value) {
    append_varint(bytes_, field << 3);
    append_varint(bytes_, value);
    return *this;
  }
  proto_message& part(unsigned field, std::string_view bytes) {
    append_varint(bytes_, field << 3 | 2);
    append_varint(bytes_, bytes.size());
    bytes_ += bytes;
    return *this;
  }
  proto_message& part(unsigned field, const proto_message& message) { return part(field, message.bytes_); }

  [[nodiscard]] const std::string& bytes() const noexcept { return bytes_; }

private:
  std::string bytes_;
};

}  // namespace ashlar::cli
