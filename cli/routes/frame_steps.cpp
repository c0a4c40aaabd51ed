// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Reads .eh_frame with libdw, and program headers with libelf.
#include "cli/routes/frame_steps.hpp"

#include <cstdlib>
#include <stdexcept>

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <fcntl.h>
#include <gelf.h>
#include <unistd.h>

namespace ashlar::cli {

struct frame_steps::open_file {
  explicit open_file(const std::string& path) : descriptor(open(path.c_str(), O_RDONLY | O_CLOEXEC)) {
    elf_version(EV_CURRENT);
    if (descriptor >= 0) elf = elf_begin(descriptor, ELF_C_READ, nullptr);
    if (elf != nullptr) table = dwarf_getcfi_elf(elf);
  }
  open_file(const open_file&) = delete;
  open_file& operator=(const open_file&) = delete;
  ~open_file() {
    if (table != nullptr) dwarf_cfi_end(table);
    elf_end(elf);
    if (descriptor >= 0) close(descriptor);
  }

  int descriptor;
  Elf* elf = nullptr;
  Dwarf_CFI* table = nullptr;
};

namespace {

// The numbers of registers in the tables of x86-64.
constexpr std::uint64_t rbp = 6, rsp = 7;

/// Returns: whether the operations are one register plus an offset, which is rbp's or rsp's.
bool read_cfa(Dwarf_Frame* frame, frame_step& to) {
  Dwarf_Op* operations = nullptr;
  std::size_t n = 0;
  if (dwarf_frame_cfa(frame, &operations, &n) != 0 || n != 1) return false;
  const Dwarf_Op& first = operations[0];
  const bool is_long = first.atom == DW_OP_bregx;
  const std::uint64_t number = is_long ? first.number : std::uint64_t{first.atom} - DW_OP_breg0;
  to.cfa_offset = is_long ? first.number2 : first.number;
  to.from_rbp = number == rbp;
  return number == rbp || number == rsp;
}

/// Returns: whether the caller's rbp is unchanged, or lies in the frame.
bool read_rbp(Dwarf_Frame* frame, frame_step& to) {
  Dwarf_Op memory[3];
  Dwarf_Op* operations = nullptr;
  std::size_t n = 0;
  if (dwarf_frame_register(frame, int{rbp}, memory, &operations, &n) != 0) return false;
  if (n == 0) return true;  // unchanged, or not to be had: then no step may need it
  const bool is_in_frame =
      n == 2 && operations[0].atom == DW_OP_call_frame_cfa && operations[1].atom == DW_OP_plus_uconst;
  to.rbp_offset = is_in_frame ? 0 - operations[1].number : 0;
  return is_in_frame;
}

}  // namespace

frame_steps::frame_steps() = default;
frame_steps::~frame_steps() = default;

const frame_steps::open_file& frame_steps::opened(const std::string& path) {
  auto& file = files_[path];
  if (file == nullptr) file = std::make_unique<open_file>(path);
  return *file;
}

bool frame_steps::is_code(const std::string& path, std::uint64_t offset) {
  Elf* const elf = opened(path).elf;
  std::size_t headers = 0;
  if (elf == nullptr || elf_getphdrnum(elf, &headers) != 0)
    throw std::runtime_error(path + ": not an ELF file, or unreadable");
  for (std::size_t i = 0; i != headers; ++i) {
    GElf_Phdr part;
    if (gelf_getphdr(elf, static_cast<int>(i), &part) == nullptr) return false;
    if (part.p_type == PT_LOAD && (part.p_flags & PF_X) != 0 && offset - 1 - part.p_vaddr < part.p_memsz) return true;
  }
  return false;
}

std::optional<frame_step> frame_steps::at(const std::string& path, std::uint64_t offset) {
  Dwarf_CFI* const table = opened(path).table;
  Dwarf_Frame* frame = nullptr;
  if (table == nullptr || dwarf_cfi_addrframe(table, offset - 1, &frame) != 0) return std::nullopt;
  frame_step step;
  const bool is_read = read_cfa(frame, step) && read_rbp(frame, step);
  std::free(frame);
  constexpr std::uint64_t most_cfa = std::uint64_t{1} << 20, most_rbp = 256, word = 8;
  const bool is_small = step.cfa_offset >= word && step.cfa_offset <= most_cfa && step.rbp_offset <= most_rbp;
  if (!is_read || !is_small || step.cfa_offset % word != 0 || step.rbp_offset % word != 0) return std::nullopt;
  return step;
}

}  // namespace ashlar::cli
