// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A plan for the library that routes: bound to the files that stand there now, and as lines of text in a variable of
// the environment; and how a router comes from a frame to its caller without an unwinder, by the tables of exceptions.
#pragma once

#include <memory>

#include "cli/routes/plan.hpp"
#include "cli/support/elf_file.hpp"

namespace ashlar::cli {

/// Effects: the program's sites are sites of the file `program`, by its absolute path, which may have been moved since
/// the plan was made. Returns: the reason why the plan is not for that program, an ELF file, or not for the libraries
/// that stand in their places now; empty if it is. A plan without groups is for all programs.
[[nodiscard]] std::string bind_plan(route_plan& plan, const std::string& program);

inline constexpr const char* route_variable = "ASHLAR_ROUTE";

/// Returns: the value of the variable; malloc/route/text.hpp describes it. `reports`: the library prints what it has
/// routed as the program ends. Throws: `std::runtime_error` for a plan with sites in more than 256 modules, for one
/// with more than 127 KiB of sites, which is what the environment takes, for a frame whose offset is not in the code of
/// its module, and for a chain whose frames no fixed offsets lead through, with the site and the frame.
[[nodiscard]] std::string handover_text(const route_plan& plan, bool reports);

/// The canonical frame address at a return address: rsp or rbp, plus an offset.
struct frame_step {
  bool from_rbp = false;
  std::uint64_t cfa_offset = 0;
  std::uint64_t rbp_offset = 0;  ///< Of the caller's rbp below it; 0: rbp is unchanged.
};

/// Reads the steps of files, and where their code is. It keeps them open.
class frame_steps {
public:
  /// Returns: the step of the function that is called from before `offset`, a return address less the load bias;
  /// nothing if the file has no table for it, or if its frame is of another form.
  [[nodiscard]] std::optional<frame_step> at(const std::string& path, std::uint64_t offset);

  /// Returns: whether a call may return to `offset`: the byte in front of it lies in an executable segment of the file.
  /// Throws: `std::runtime_error` if it is not a file of the ELF format that can be read.
  [[nodiscard]] bool is_code(const std::string& path, std::uint64_t offset);

private:
  [[nodiscard]] const elf_file& opened(const std::string& path);

  std::map<std::string, std::unique_ptr<elf_file>> files_;
};

}  // namespace ashlar::cli
