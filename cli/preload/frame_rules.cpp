// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Reads .eh_frame_hdr and .eh_frame: finds the function's entry, and runs its call frame instructions. The Linux
// Standard Base 5.0, core, describes the format in chapter 10.6.
#include "cli/preload/frame.hpp"

#include <cstring>

namespace ashlar::recorder {

namespace {

constexpr std::uint64_t frame_pointer = 6, stack_pointer = 7, return_address_column = 16;  // of x86-64's ABI

/// Bytes of a table. A read beyond its end yields 0, and is not `ok`.
class table_cursor {
public:
  table_cursor(const std::byte* at, const std::byte* end) noexcept : at_(at), end_(end) {}

  [[nodiscard]] const std::byte* at() const noexcept { return at_; }
  [[nodiscard]] bool ok() const noexcept { return ok_; }
  [[nodiscard]] bool at_end() const noexcept { return !ok_ || at_ >= end_; }

  template <class T>
  T get() noexcept {
    T value{};
    if (!has(sizeof value)) return value;
    std::memcpy(&value, at_, sizeof value);
    at_ += sizeof value;
    return value;
  }
  void skip(std::uint64_t bytes) noexcept {
    if (has(bytes)) at_ += bytes;
  }
  std::uint64_t unsigned_leb() noexcept { return leb().value; }
  std::int64_t signed_leb() noexcept {
    const auto [value, bits, is_negative] = leb();
    return static_cast<std::int64_t>(is_negative && bits < 64 ? value | ~std::uint64_t{0} << bits : value);
  }

private:
  struct number {
    std::uint64_t value;
    unsigned bits;
    bool is_negative;
  };

  [[nodiscard]] bool has(std::uint64_t bytes) noexcept {
    ok_ = ok_ && bytes <= static_cast<std::uint64_t>(end_ - at_);
    return ok_;
  }
  number leb() noexcept {
    number n{0, 0, false};
    for (std::uint8_t byte = 0x80; (byte & 0x80) != 0 && ok_;) {
      byte = get<std::uint8_t>();
      if (n.bits < 64) n.value |= static_cast<std::uint64_t>(byte & 0x7f) << n.bits;
      n.bits += 7;
      n.is_negative = (byte & 0x40) != 0;
    }
    return n;
  }

  const std::byte* at_;
  const std::byte* end_;
  bool ok_ = true;
};

[[nodiscard]] std::uint64_t address_of(const std::byte* p) noexcept { return reinterpret_cast<std::uintptr_t>(p); }

/// A common information entry: what the entries of several functions share.
struct common_entry {
  std::uint64_t code_factor = 0;
  std::int64_t data_factor = 0;
  std::uint8_t pointer_encoding = 0;
  bool has_lengths = false;  // of augmentation data
  const std::byte* instructions = nullptr;
  const std::byte* end = nullptr;
};

constexpr std::uint8_t relative_4_bytes = 0x1b;  // to its own address, signed: as linkers write them

/// Returns: the bytes of an encoded pointer; 0 for an encoding that is not read.
[[nodiscard]] std::uint64_t pointer_bytes(std::uint8_t encoding) noexcept {
  switch (encoding & 0x0f) {
    case 0x0:
    case 0x4:
    case 0xc: return 8;
    case 0x2:
    case 0xa: return 2;
    case 0x3:
    case 0xb: return 4;
    default: return 0;
  }
}

/// Effects: reads the augmentation data. Returns: false for what is not read, such as the frame of a signal handler.
[[nodiscard]] bool read_augmentation(table_cursor& from, const char* letters, common_entry& entry) noexcept {
  if (*letters == '\0') return true;
  if (*letters != 'z') return false;
  const std::uint64_t bytes = from.unsigned_leb();
  const std::byte* const start = from.at();
  from.skip(bytes);
  if (!from.ok()) return false;
  table_cursor data(start, from.at());
  for (++letters; *letters != '\0'; ++letters) {
    if (*letters == 'R') entry.pointer_encoding = data.get<std::uint8_t>();
    else if (*letters == 'L') data.skip(1);
    else if (*letters == 'P') data.skip(pointer_bytes(data.get<std::uint8_t>()));
    else if (*letters != 'B') return false;
  }
  entry.has_lengths = true;
  return from.ok() && data.ok();
}

/// Returns: whether the entry at `at` was read.
[[nodiscard]] bool read_common(const std::byte* at, const std::byte* limit, common_entry& entry) noexcept {
  table_cursor from(at, limit);
  const auto length = from.get<std::uint32_t>();
  const std::byte* const start = from.at();
  if (!from.ok() || length > static_cast<std::uint64_t>(limit - start)) return false;
  table_cursor body(start, start + length);
  if (body.get<std::uint32_t>() != 0) return false;
  const auto version = body.get<std::uint8_t>();
  const auto* const letters = reinterpret_cast<const char*>(body.at());
  while (body.get<char>() != '\0') {
  }
  entry.code_factor = body.unsigned_leb();
  entry.data_factor = body.signed_leb();
  const std::uint64_t column = version == 1 ? body.get<std::uint8_t>() : body.unsigned_leb();
  if (!body.ok() || column != return_address_column || !read_augmentation(body, letters, entry)) return false;
  entry.instructions = body.at();
  entry.end = start + length;
  return entry.pointer_encoding == relative_4_bytes;
}

/// A row of the table that call frame instructions describe: where the CFA, the frame pointer and the return address
/// are.
struct row {
  enum class place : std::uint8_t { in_register, saved, elsewhere, undefined };

  std::uint64_t base = 0;
  std::int64_t offset = 0;
  std::int64_t frame_pointer_at = 0, return_address_at = 0;  // from the CFA
  place frame_pointer_is = place::in_register;
  place return_address_is = place::in_register;
};

/// Runs call frame instructions up to the row of one address.
class row_machine {
public:
  row_machine(const common_entry& common, std::uint64_t begin, std::uint64_t target) noexcept
      : common_(common), at_(begin), target_(target) {}

  /// Returns: false for an instruction that is not understood.
  [[nodiscard]] bool run(const std::byte* from, const std::byte* end) noexcept {
    table_cursor code(from, end);
    while (!code.at_end() && at_ <= target_)
      if (!step(code)) return false;
    return code.ok();
  }
  /// Effects: the present row is the one that functions start with.
  void begin_function() noexcept { initial_ = now_; }
  [[nodiscard]] const row& result() const noexcept { return now_; }

private:
  static constexpr std::size_t most_remembered = 8;

  [[nodiscard]] bool step(table_cursor& code) noexcept {
    const auto op = code.get<std::uint8_t>();
    const std::uint64_t low = op & 0x3f;
    if (op >> 6 == 1) return advance(low);
    if (op >> 6 == 2) return save(low, static_cast<std::int64_t>(code.unsigned_leb()) * common_.data_factor);
    if (op >> 6 == 3) return restore(low);
    return op >= 0x0a && op <= 0x13 && op != 0x10 && op != 0x11 ? step_frame(op, code) : step_register(op, code);
  }

  /// The instructions about the CFA and whole rows.
  [[nodiscard]] bool step_frame(std::uint8_t op, table_cursor& code) noexcept {
    switch (op) {
      case 0x0a: return remember();
      case 0x0b: return recall();
      case 0x0c:
        now_.base = code.unsigned_leb();
        now_.offset = static_cast<std::int64_t>(code.unsigned_leb());
        return true;
      case 0x0d: now_.base = code.unsigned_leb(); return true;
      case 0x0e: now_.offset = static_cast<std::int64_t>(code.unsigned_leb()); return true;
      case 0x0f:  // an expression
        now_.base = return_address_column;
        code.skip(code.unsigned_leb());
        return true;
      case 0x12:
        now_.base = code.unsigned_leb();
        now_.offset = code.signed_leb() * common_.data_factor;
        return true;
      default: now_.offset = code.signed_leb() * common_.data_factor; return true;  // 0x13
    }
  }

  /// The instructions about single registers, and about locations.
  [[nodiscard]] bool step_register(std::uint8_t op, table_cursor& code) noexcept {
    switch (op) {
      case 0x00: return true;
      case 0x02: return advance(code.get<std::uint8_t>());
      case 0x03: return advance(code.get<std::uint16_t>());
      case 0x04: return advance(code.get<std::uint32_t>());
      case 0x05: return save_next(code, false);
      case 0x06: return restore(code.unsigned_leb());
      case 0x07: return place(code.unsigned_leb(), row::place::undefined);
      case 0x08: return place(code.unsigned_leb(), row::place::in_register);
      case 0x09: return place_next(code);
      case 0x11: return save_next(code, true);
      case 0x10:
      case 0x16: {  // expressions
        const std::uint64_t column = code.unsigned_leb();
        code.skip(code.unsigned_leb());
        return place(column, row::place::elsewhere);
      }
      case 0x14:
      case 0x15: return place_next(code);
      case 0x2e: return code.unsigned_leb(), true;  // bytes of arguments
      default: return false;
    }
  }

  [[nodiscard]] bool advance(std::uint64_t steps) noexcept {
    at_ += steps * common_.code_factor;
    return true;
  }
  [[nodiscard]] bool save_next(table_cursor& code, bool is_signed) noexcept {
    const std::uint64_t column = code.unsigned_leb();
    const std::int64_t factor = is_signed ? code.signed_leb() : static_cast<std::int64_t>(code.unsigned_leb());
    return save(column, factor * common_.data_factor);
  }
  [[nodiscard]] bool place_next(table_cursor& code) noexcept {
    const std::uint64_t column = code.unsigned_leb();
    code.unsigned_leb();
    return place(column, row::place::elsewhere);
  }
  [[nodiscard]] bool save(std::uint64_t column, std::int64_t offset) noexcept {
    if (column == frame_pointer) now_.frame_pointer_at = offset;
    if (column == return_address_column) now_.return_address_at = offset;
    return place(column, row::place::saved);
  }
  [[nodiscard]] bool place(std::uint64_t column, row::place where) noexcept {
    if (column == frame_pointer) now_.frame_pointer_is = where;
    if (column == return_address_column) now_.return_address_is = where;
    return column != stack_pointer;  // its value is the CFA, for all code that is compiled
  }
  [[nodiscard]] bool restore(std::uint64_t column) noexcept {
    if (column == frame_pointer) {
      now_.frame_pointer_is = initial_.frame_pointer_is;
      now_.frame_pointer_at = initial_.frame_pointer_at;
    }
    if (column == return_address_column) {
      now_.return_address_is = initial_.return_address_is;
      now_.return_address_at = initial_.return_address_at;
    }
    return true;
  }
  [[nodiscard]] bool remember() noexcept {
    if (remembered_ == most_remembered) return false;
    memory_[remembered_++] = now_;
    return true;
  }
  [[nodiscard]] bool recall() noexcept {
    if (remembered_ == 0) return false;
    now_ = memory_[--remembered_];
    return true;
  }

  const common_entry& common_;
  std::uint64_t at_, target_;
  row now_, initial_;
  row memory_[most_remembered];
  std::size_t remembered_ = 0;
};

[[nodiscard]] frame_rule rule_of(const row& r) noexcept {
  constexpr std::int64_t word = 8, most_offset = INT32_MAX, most_words = INT16_MAX;
  if (r.return_address_is == row::place::undefined) return {.base = frame_base::none};
  const bool is_plain = r.return_address_is == row::place::saved && r.return_address_at == -word && r.offset >= 0 &&
                        r.offset <= most_offset && (r.base == stack_pointer || r.base == frame_pointer);
  if (!is_plain) return {};
  const frame_base base = r.base == stack_pointer ? frame_base::stack_pointer : frame_base::frame_pointer;
  const auto offset = static_cast<std::int32_t>(r.offset);
  if (r.frame_pointer_is == row::place::in_register) return {.offset = offset, .base = base};
  const std::int64_t words = -r.frame_pointer_at / word;
  if (r.frame_pointer_is != row::place::saved || r.frame_pointer_at % word != 0 || words <= 0 || words > most_words)
    return {};
  return {.offset = offset, .saved_words = static_cast<std::int16_t>(words), .base = base};
}

/// Returns: the entry of the function with the address, by the table in .eh_frame_hdr; null without one.
[[nodiscard]] const std::byte* find_entry(const unwind_tables& of, std::uint64_t address) noexcept {
  constexpr std::uint8_t unsigned_4_bytes = 0x03, header_relative_4_bytes = 0x3b;
  table_cursor from(of.header, of.end);
  const auto version = from.get<std::uint8_t>(), entries = from.get<std::uint8_t>();
  const auto count_encoding = from.get<std::uint8_t>(), table_encoding = from.get<std::uint8_t>();
  if (version != 1 || count_encoding != unsigned_4_bytes || table_encoding != header_relative_4_bytes) return nullptr;
  from.skip(pointer_bytes(entries));
  const std::uint64_t count = from.get<std::uint32_t>();
  const std::byte* const table = from.at();
  if (!from.ok() || count == 0 || count > static_cast<std::uint64_t>(of.end - table) / 8) return nullptr;
  const auto word = [&](std::uint64_t index, std::size_t at) {
    std::int32_t distance = 0;
    std::memcpy(&distance, table + index * 8 + at, sizeof distance);
    return of.header + distance;
  };
  std::uint64_t low = 0, high = count;  // the last function that begins at or before the address
  while (high - low > 1) {
    const std::uint64_t middle = low + (high - low) / 2;
    (address_of(word(middle, 0)) <= address ? low : high) = middle;
  }
  return address_of(word(low, 0)) <= address ? word(low, 4) : nullptr;
}

}  // namespace

ASHLAR_COLD frame_rule compile_rule(const unwind_tables& of, std::uint64_t return_address) noexcept {
  if (of.header < of.begin || of.header >= of.end) return {};
  const std::uint64_t call = return_address - 1;  // the return address may belong to the next function
  const std::byte* const entry = find_entry(of, call);
  if (entry == nullptr || entry < of.begin || entry >= of.end) return {};
  table_cursor from(entry, of.end);
  const auto length = from.get<std::uint32_t>();
  const std::byte* const start = from.at();
  if (!from.ok() || length > static_cast<std::uint64_t>(of.end - start)) return {};
  table_cursor body(start, start + length);
  const auto distance = body.get<std::uint32_t>();
  common_entry common;
  if (distance == 0 || distance > static_cast<std::uint64_t>(start - of.begin) ||
      !read_common(start - distance, of.end, common))
    return {};
  const std::uint64_t base = address_of(body.at());
  const std::uint64_t begin = base + static_cast<std::uint64_t>(std::int64_t{body.get<std::int32_t>()});
  const std::uint64_t bytes = body.get<std::uint32_t>();
  if (common.has_lengths) body.skip(body.unsigned_leb());
  if (!body.ok() || call < begin || call - begin >= bytes) return {};
  row_machine machine(common, begin, call);
  if (!machine.run(common.instructions, common.end)) return {};
  machine.begin_function();
  return machine.run(body.at(), start + length) ? rule_of(machine.result()) : frame_rule{};
}

}  // namespace ashlar::recorder
