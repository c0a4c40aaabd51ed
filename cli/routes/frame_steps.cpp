// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Reads unwind tables as the recorder does.
#include "cli/routes/frame_steps.hpp"

#include <stdexcept>
#include <string_view>

#include "cli/preload/frame.hpp"

namespace ashlar::cli {

namespace {

/// Returns: the rule at a return address; `unknown` without one.
recorder::frame_rule rule_at(const elf_file& file, std::uint64_t offset) {
  for (const GElf_Phdr& tables : file.headers())
    for (const GElf_Phdr& part : file.headers()) {
      const std::string_view contents = file.contents(part);
      const bool is_there =
          tables.p_type == PT_GNU_EH_FRAME && part.p_type == PT_LOAD && tables.p_vaddr - part.p_vaddr < contents.size();
      if (!is_there) continue;
      const auto* const begin = reinterpret_cast<const std::byte*>(contents.data());
      return recorder::compile_rule({begin + (tables.p_vaddr - part.p_vaddr), begin, begin + contents.size()},
                                    reinterpret_cast<std::uintptr_t>(begin) + (offset - part.p_vaddr));
    }
  return {};
}

}  // namespace

const elf_file& frame_steps::opened(const std::string& path) {
  auto& file = files_[path];
  if (file == nullptr) file = std::make_unique<elf_file>(path);
  return *file;
}

bool frame_steps::is_code(const std::string& path, std::uint64_t offset) {
  const elf_file& file = opened(path);
  if (!file.is_elf()) throw std::runtime_error(path + ": not an ELF file, or unreadable");
  for (const GElf_Phdr& part : file.headers())
    if (part.p_type == PT_LOAD && (part.p_flags & PF_X) != 0 && offset - 1 - part.p_vaddr < part.p_memsz) return true;
  return false;
}

std::optional<frame_step> frame_steps::at(const std::string& path, std::uint64_t offset) {
  using enum recorder::frame_base;
  const recorder::frame_rule rule = rule_at(opened(path), offset);
  constexpr std::uint64_t most_cfa = std::uint64_t{1} << 20, most_rbp = 256, word = 8;
  const frame_step step{.from_rbp = rule.base == frame_pointer,
                        .cfa_offset = static_cast<std::uint64_t>(std::int64_t{rule.offset}),
                        .rbp_offset = static_cast<std::uint64_t>(std::int64_t{rule.saved_words}) * word};
  const bool is_known = rule.base == stack_pointer || rule.base == frame_pointer;
  const bool is_small = step.cfa_offset >= word && step.cfa_offset <= most_cfa && step.rbp_offset <= most_rbp;
  if (!is_known || !is_small || step.cfa_offset % word != 0) return std::nullopt;
  return step;
}

}  // namespace ashlar::cli
