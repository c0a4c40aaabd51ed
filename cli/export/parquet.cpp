// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Writes Parquet: pages, and at the end their description in Thrift's compact protocol.
//
//     "PAR1", pages of column 0, pages of column 1, …, description, its length in 4 bytes, "PAR1"
//     pages of a column = [page of distinct texts,] page of values
//
// A column that has no nulls needs no levels. Texts are numbers of their dictionary, as runs: a table in order has few.
#include <limits>
#include <span>
#include <stdexcept>
#include <unordered_map>

#include "cli/export/table.hpp"
#include "cli/export/varint.hpp"
#include "cli/support/zstd_codec.hpp"

namespace ashlar::cli {

namespace {

// Numbers of the format.
constexpr int type_int64 = 2, type_bytes = 6, converted_utf8 = 0, required = 0;
constexpr int plain = 0, run_lengths = 3, dictionary_codes = 8, compressed_by_zstd = 6;
constexpr int page_of_values = 0, page_of_dictionary = 2;

/// Thrift's compact protocol: fields by the difference of their numbers.
class thrift_writer {
public:
  thrift_writer& number(int field, std::int64_t value) { return head(field, 6), zigzag(value), *this; }
  thrift_writer& small(int field, std::int64_t value) { return head(field, 5), zigzag(value), *this; }
  thrift_writer& text(int field, const std::string& value) { return head(field, 8), element(value), *this; }
  thrift_writer& list(int field, std::size_t size, unsigned kind) {
    head(field, 9);
    const bool is_short = size < 15;
    bytes_.push_back(static_cast<char>((is_short ? size : 15) << 4 | kind));
    if (!is_short) append_varint(bytes_, size);
    return *this;
  }
  thrift_writer& begin(int field) { return head(field, 12), begin(); }
  thrift_writer& begin() { return last_.push_back(0), *this; }
  thrift_writer& end() {
    bytes_.push_back(0);
    last_.pop_back();
    return *this;
  }
  /// An element of a list.
  thrift_writer& element(const std::string& value) {
    append_varint(bytes_, value.size());
    bytes_ += value;
    return *this;
  }
  thrift_writer& element(std::int64_t value) { return zigzag(value), *this; }

  static constexpr unsigned small_kind = 5, text_kind = 8, struct_kind = 12;

  /// Effects: ends the outermost structure.
  [[nodiscard]] const std::string& finish() { return end().bytes_; }

private:
  void head(int field, int kind) {
    bytes_.push_back(static_cast<char>((field - last_.back()) << 4 | kind));  // fields here are near each other
    last_.back() = field;
  }
  void zigzag(std::int64_t value) {
    append_varint(bytes_, static_cast<std::uint64_t>(value) << 1 ^ static_cast<std::uint64_t>(value >> 63));
  }

  std::string bytes_;
  std::vector<int> last_{0};  // field, of each open structure
};

void append_fixed(std::string& to, std::uint64_t value, unsigned bytes) {
  for (unsigned i = 0; i < bytes; ++i) to.push_back(static_cast<char>(value >> (8 * i)));
}

struct coded_texts {
  std::string dictionary;
  std::size_t distinct = 0;
  std::string codes;
};

coded_texts code(const std::vector<std::string>& texts) {
  coded_texts all;
  std::unordered_map<std::string_view, std::uint64_t> numbers;
  for (const std::string& text : texts) {
    if (!numbers.try_emplace(text, numbers.size()).second) continue;
    append_fixed(all.dictionary, text.size(), 4);
    all.dictionary += text;
  }
  all.distinct = numbers.size();
  unsigned bits = 1;
  while (std::uint64_t{1} << bits < all.distinct) ++bits;
  all.codes.push_back(static_cast<char>(bits));
  for (std::size_t i = 0, next = 0; i < texts.size(); i = next) {
    for (next = i; next < texts.size() && texts[next] == texts[i];) ++next;
    append_varint(all.codes, (next - i) << 1);
    append_fixed(all.codes, numbers[texts[i]], (bits + 7) / 8);
  }
  return all;
}

std::string plain_numbers(const std::vector<std::uint64_t>& numbers) {
  std::string all;
  for (const std::uint64_t number : numbers) append_fixed(all, number, 8);
  return all;
}

class parquet_writer {
public:
  explicit parquet_writer(const flat_table& table) : rows_(static_cast<std::int64_t>(table.rows)) {
    description_.small(1, 1);
    describe_schema(table);
    description_.number(3, rows_).list(4, 1, thrift_writer::struct_kind).begin();
    description_.list(1, table.columns.size(), thrift_writer::struct_kind);
    std::int64_t bytes = 0;
    for (const flat_column& column : table.columns) bytes += write(column);
    description_.number(2, bytes).number(3, rows_).end().text(6, "ashlar");
  }

  [[nodiscard]] std::string finish() {
    const std::string& description = description_.finish();
    file_ += description;
    append_fixed(file_, description.size(), 4);
    return std::move(file_) + "PAR1";
  }

private:
  void describe_schema(const flat_table& table) {
    description_.list(2, table.columns.size() + 1, thrift_writer::struct_kind);
    description_.begin().text(4, "schema").small(5, static_cast<std::int64_t>(table.columns.size())).end();
    for (const flat_column& column : table.columns) {
      description_.begin().small(1, column.is_text ? type_bytes : type_int64).small(3, required).text(4, column.name);
      if (column.is_text) description_.small(6, converted_utf8);
      description_.end();
    }
  }

  /// Effects: writes the pages of a column, and describes them. Returns: their bytes before they are compressed.
  std::int64_t write(const flat_column& column) {
    const std::int64_t start = at();
    std::int64_t values = start, bytes = 0;
    if (column.is_text) {
      const coded_texts texts = code(column.texts);
      bytes += page(page_of_dictionary, plain, texts.dictionary, static_cast<std::int64_t>(texts.distinct));
      values = at();
      bytes += page(page_of_values, dictionary_codes, texts.codes, rows_);
    } else {
      bytes += page(page_of_values, plain, plain_numbers(column.numbers), rows_);
    }
    description_.begin().number(2, start).begin(3).small(1, column.is_text ? type_bytes : type_int64);
    description_.list(2, column.is_text ? 2 : 1, thrift_writer::small_kind).element(plain);
    if (column.is_text) description_.element(dictionary_codes);
    description_.list(3, 1, thrift_writer::text_kind).element(column.name).small(4, compressed_by_zstd);
    description_.number(5, rows_).number(6, bytes).number(7, at() - start).number(9, values);
    if (column.is_text) description_.number(11, start);
    description_.end().end();
    return bytes;
  }

  /// Effects: writes a page behind its description. Returns: the bytes of both before it is compressed.
  std::int64_t page(int kind, int encoding, const std::string& body, std::int64_t values) {
    std::string packed(zstd_codec::bound(body.size()), '\0');
    packed.resize(codec_.pack(std::as_bytes(std::span(body)), std::as_writable_bytes(std::span(packed))));
    constexpr std::size_t most = std::numeric_limits<std::int32_t>::max();
    if (packed.empty() || body.size() > most) throw std::runtime_error("the table is too large for a file of Parquet");
    thrift_writer head;
    head.small(1, kind).small(2, static_cast<std::int64_t>(body.size()));
    head.small(3, static_cast<std::int64_t>(packed.size()));
    head.begin(kind == page_of_dictionary ? 7 : 5).small(1, values).small(2, encoding);
    if (kind == page_of_values) head.small(3, run_lengths).small(4, run_lengths);
    const std::string& description = head.end().finish();
    file_ += description;
    file_ += packed;
    return static_cast<std::int64_t>(description.size() + body.size());
  }

  [[nodiscard]] std::int64_t at() const noexcept { return static_cast<std::int64_t>(file_.size()); }

  std::int64_t rows_;
  std::string file_ = "PAR1";
  thrift_writer description_;
  zstd_codec codec_;
};

}  // namespace

std::string parquet_bytes(const flat_table& table) { return parquet_writer(table).finish(); }

}  // namespace ashlar::cli
