// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A plan of routes: which call sites of a program get their memory from which resource. A file of JSON lines, first
// {"plan":1,"program":…,"modules":{BUILD_ID:FILE}}, then a line for each group.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <istream>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

namespace ashlar::cli {

/// A return address in a module.
struct route_frame {
  std::string build_id;      ///< Of the module, in lower-case hexadecimal.
  std::uint64_t offset = 0;  ///< The address less the load bias, as in a trace.

  friend auto operator<=>(const route_frame&, const route_frame&) = default;
};

/// A call site: the shortest decisive suffix of its call chain, the call of malloc or of operator new first.
struct route_site {
  std::vector<route_frame> chain;
  std::string function;
  std::string source;  ///< FILE:LINE; empty if unknown.

  friend bool operator==(const route_site&, const route_site&) = default;
};

enum class route_remedy {
  pool,  ///< Equal cells.
  arena  ///< Chunks that give themselves back once all of their blocks are freed.
};

/// Call sites that share a resource.
struct route_group {
  std::string name;
  route_remedy remedy = route_remedy::pool;
  std::uint64_t cell_bytes = 0;    ///< The largest request of a pool. An arena has 0.
  std::uint64_t chunk_bytes = 0;   ///< A power of two.
  std::uint64_t budget_bytes = 0;  ///< Memory held beyond the live blocks, above which the group is given up.
  std::vector<route_site> sites;
  nlohmann::json evidence = nlohmann::json::object();  ///< Why; read by no router.

  friend bool operator==(const route_group&, const route_group&) = default;
};

struct route_plan {
  std::string program;
  std::map<std::string, std::string> modules;  ///< The file of each build id.
  std::vector<route_group> groups;
  std::string comment = {};  ///< Why there is no group, or that none was measured; read by no router.

  friend bool operator==(const route_plan&, const route_plan&) = default;
};

/// @{ What a plan may ask for. A chunk of a pool has room for at least `least_cells` cells.
inline constexpr std::uint64_t least_chunk_bytes = std::uint64_t{1} << 12;
inline constexpr std::uint64_t most_chunk_bytes = std::uint64_t{1} << 24;
inline constexpr std::uint64_t most_cell_bytes = std::uint64_t{1} << 15;
inline constexpr std::uint64_t least_cells = 4;
inline constexpr std::uint64_t most_offset = std::uint64_t{1} << 47;
inline constexpr std::size_t most_groups = 64;
inline constexpr std::size_t most_sites = std::size_t{1} << 16;
inline constexpr std::size_t most_frames = 64;
inline constexpr std::size_t most_plan_bytes = std::size_t{64} << 20;  ///< Of the text.
/// @}

[[nodiscard]] std::string hexadecimal(std::uint64_t value);

/// Returns: "parse (parser.cpp:12)"; of a site without a function, its offset.
[[nodiscard]] std::string name_of(const route_site& site);

/// Returns: the plan as text that `read_plan` reads. Bytes that are not UTF-8 are replaced.
[[nodiscard]] std::string to_text(const route_plan& plan);

/// Returns: the plan with the groups of these numbers alone, in this order.
[[nodiscard]] route_plan groups_of(const route_plan& plan, const std::vector<std::size_t>& numbers);

/// Returns: the plan of the stream. `name`: of the file, for errors. Throws: `std::runtime_error` with name, line and
/// reason for text that is no plan, is of another version or cut short within a line, has unknown, missing or repeated
/// members, sites or names, values out of the limits above, or a frame in no listed module.
[[nodiscard]] route_plan read_plan(std::istream& in, const std::string& name);

/// As above, from a file. Throws: also if it cannot be opened.
[[nodiscard]] route_plan read_plan(const std::string& path);

// ---- for people

/// Returns: "prog+0x1234", an address of the module in the file `path`.
[[nodiscard]] std::string address_text(const std::string& path, std::uint64_t offset);

/// Titles of the sites of a plan, each of which is one site's alone.
class site_titles {
public:
  /// `plan` outlives this.
  explicit site_titles(const route_plan& plan);

  /// Returns: "parse (parser.cpp:12)"; of sites with one name also the return addresses, the one in malloc's caller
  /// first: "parse (parser.cpp:12) at prog+0x1234 ← prog+0x5678". Expects: a site of the plan.
  [[nodiscard]] std::string of(const route_site& site) const;
  /// Returns: the same in lines of at most `columns`: the name is shortened, at most to half of them, and each address
  /// is whole, in a line of its own if it has more columns. Lines but the first begin with `indent`.
  [[nodiscard]] std::string of(const route_site& site, std::size_t columns, const std::string& indent) const;
  /// Returns: the titles of the first two sites, and the number of the others.
  [[nodiscard]] std::string of(const route_group& group) const;

private:
  /// Returns: " at prog+0x1234", " ← prog+0x5678"; nothing for a site whose name is its own.
  [[nodiscard]] std::vector<std::string> addresses(const route_site& site) const;

  const route_plan& plan_;
  std::map<std::string, std::size_t> uses_;
};

/// Returns: "3 sites in 2 groups".
[[nodiscard]] std::string plan_size_text(const route_plan& plan);

/// Returns: the objects of the recorded program that the group is for, if the plan has their number.
[[nodiscard]] std::optional<std::uint64_t> advised_objects(const route_group& group);

/// Returns: "a pool of cells of 96 B".
[[nodiscard]] std::string resource_text(const route_group& group);

/// Returns: a line for each of the first `groups`, and under it the titles of its first `sites`; further groups and
/// sites are counted. Lines have at most 100 columns, unless one address has more.
[[nodiscard]] std::string plan_text(const route_plan& plan, std::size_t groups, std::size_t sites);

/// Returns: the same with as many groups and sites as a page has room for, 48 together.
[[nodiscard]] std::string plan_page_text(const route_plan& plan);

}  // namespace ashlar::cli
