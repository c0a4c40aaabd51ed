// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The table of names.
#include "cli/preload/names.hpp"

#include <cstddef>
#include <cstring>
#include <span>
#include <string_view>

#include <ashlar/detail/trace/format.hpp>
#include <ashlar/detail/trace/table_chunks.hpp>

#include "cli/preload/written_once.hpp"

namespace ashlar::recorder {

namespace {

constinit written_once<detail::trace_io::chunk_kind::names, 4096, 8192> table;

}  // namespace

std::uint32_t id_of_name(const char* name) noexcept {
  if (name == nullptr) return 0;
  const std::string_view text(name, ::strnlen(name, detail::trace_io::max_name_bytes));
  const std::uint64_t hash = detail::trace_io::checksum(std::as_bytes(std::span(text))) | 1;
  if (const std::uint32_t known = table.find(hash); known != 0) return known;
  return table.add(hash, detail::trace_io::name_bound(text.size()),
                   [text](std::byte* to) { return detail::trace_io::put_text(to, text); });
}

bool write_names() noexcept { return table.write(); }
void reset_names() noexcept { table.reset(); }

}  // namespace ashlar::recorder
