// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The names of addresses: their cost in files of many symbols, and the choice among symbols.
#include <chrono>
#include <filesystem>
#include <random>
#include <tuple>

#include <dlfcn.h>
#include <elfutils/libdwfl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <link.h>

#include "cli/support/elf_file.hpp"
#include "cli/support/function_names.hpp"
#include "cli/support/symbolise.hpp"

namespace {

using namespace ashlar::cli;
using clock = std::chrono::steady_clock;

struct mapped_file {
  std::string path;
  std::uint64_t bias = 0, begin = 0, end = 0;  // of its code, in the file
};

/// A library of the test program, by a symbol in it.
mapped_file file_with(const void* symbol) {
  mapped_file found;
  Dl_info info;
  link_map* map = nullptr;
  if (::dladdr1(symbol, &info, reinterpret_cast<void**>(&map), RTLD_DL_LINKMAP) == 0) return found;
  found.path = std::filesystem::canonical(info.dli_fname);
  found.bias = map->l_addr;
  const elf_file file(found.path);
  for (const GElf_Phdr& part : file.headers())
    if (part.p_type == PT_LOAD && (part.p_flags & PF_X) != 0)
      std::tie(found.begin, found.end) = std::pair(part.p_vaddr, part.p_vaddr + part.p_memsz);
  return found;
}

const void* symbol_in(const char* path, const std::string& name) {
  void* const library = ::dlopen(path, RTLD_NOW);
  return library == nullptr ? nullptr : ::dlsym(library, name.c_str());
}

const void* many_symbols(const char* name) { return symbol_in(ASHLAR_MANY_SYMBOLS, name); }

/// libdw's own answer, for which it walks all symbols.
class walking_reference {
public:
  explicit walking_reference(const std::string& path) {
    ::dwfl_report_begin(session_.get());
    module_ = ::dwfl_report_elf(session_.get(), path.c_str(), path.c_str(), -1, 0, true);
    ::dwfl_report_end(session_.get(), nullptr, nullptr);
  }

  [[nodiscard]] std::string at(std::uint64_t address) const {
    GElf_Off offset = 0;
    GElf_Sym symbol;
    const char* const name = ::dwfl_module_addrinfo(module_, address, &offset, &symbol, nullptr, nullptr, nullptr);
    return name == nullptr ? "" : whole_function_name(name);
  }

private:
  Dwfl_Callbacks callbacks_ = {&dwfl_build_id_find_elf, &dwfl_standard_find_debuginfo, nullptr, nullptr};
  std::unique_ptr<Dwfl, void (*)(Dwfl*)> session_{::dwfl_begin(&callbacks_), &::dwfl_end};
  Dwfl_Module* module_ = nullptr;
};

std::string symbol_at(symboliser& names, const mapped_file& file, std::uint64_t address) {
  return names.places(file.path, "", address + 1).back().whole;
}

TEST(symbolise, the_names_of_a_file_cost_one_walk_of_its_tables) {
  const mapped_file file = file_with(many_symbols("symbol_0"));
  const std::uint64_t first = reinterpret_cast<std::uint64_t>(many_symbols("symbol_0")) - file.bias;
  symboliser names;
  const auto start = clock::now();
  EXPECT_EQ(symbol_at(names, file, first + 7), "symbol_0");
  const auto tables_read = clock::now();
  for (std::uint64_t i = 1; i < 100'000; i += 100)
    ASSERT_EQ(symbol_at(names, file, first + 16 * i + 7), "symbol_" + std::to_string(i));
  EXPECT_LT((clock::now() - tables_read) / 10, tables_read - start) << "for 1,000 names";
}

TEST(symbolise, an_inlined_function_without_a_symbol_costs_one_walk_of_its_unit) {
  const mapped_file file = file_with(symbol_in(ASHLAR_MANY_INLINED, "calls_000"));
  symboliser names;
  const auto inlined_in = [&](int number) {
    const void* const begin = symbol_in(ASHLAR_MANY_INLINED, fmt::format("calls_{:03x}", number));
    return names.places(file.path, "", reinterpret_cast<std::uint64_t>(begin) - file.bias + 6).front().function;
  };
  const auto start = clock::now();
  EXPECT_EQ(inlined_in(0), "inner");
  const auto unit_read = clock::now();
  for (int i = 1; i <= 1000; ++i) ASSERT_EQ(inlined_in(i), "inner");
  EXPECT_LT((clock::now() - unit_read) / 10, unit_read - start) << "for 1,000 calls";
}

TEST(symbolise, chooses_among_symbols_as_libdw_does) {
  const std::vector<mapped_file> files = {
      file_with(many_symbols("odd_begin")), file_with(reinterpret_cast<const void*>(&::dlsym)),
      file_with(reinterpret_cast<const void*>(&::dwfl_begin)), file_with(reinterpret_cast<const void*>(&file_with))};
  std::mt19937_64 random(7);
  for (const mapped_file& file : files) {
    const walking_reference reference(file.path);
    symboliser names;
    std::uniform_int_distribution<std::uint64_t> any(file.begin, file.end - 1);
    for (int i = 0; i < 8; ++i) {
      const std::uint64_t address = any(random);
      EXPECT_EQ(symbol_at(names, file, address), reference.at(address)) << file.path << " " << std::hex << address;
    }
  }
  const mapped_file& odd = files.front();
  const walking_reference reference(odd.path);
  symboliser names;
  const auto address_of = [&](const char* name) {
    return reinterpret_cast<std::uint64_t>(many_symbols(name)) - odd.bias;
  };
  for (std::uint64_t address = address_of("odd_begin"); address <= address_of("odd_end"); ++address)
    EXPECT_EQ(symbol_at(names, odd, address), reference.at(address)) << address - address_of("odd_begin");
}

}  // namespace
