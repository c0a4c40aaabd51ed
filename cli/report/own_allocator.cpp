// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The table of known allocators (docs/recording.md has the sources of its rows), and the thresholds.
#include "cli/report/own_allocator.hpp"

#include <array>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/support/output.hpp"
#include "cli/support/text.hpp"

namespace ashlar::cli {

namespace {

constexpr std::uint64_t mib = std::uint64_t{1} << 20;

/// A program, or a library, by the beginning of its file's name.
struct known_file {
  std::string_view name;
  allocator_facts facts;
};

constexpr allocator_facts cpython{"CPython", "it with PYTHONMALLOC=malloc"}, php{"PHP", "it with USE_ZEND_ALLOC=0"},
    ruby{"Ruby", ""}, v8{"V8", ""}, jvm{"the Java virtual machine", ""},
    tcl{"Tcl", "a build of Tcl with -DPURIFY", true}, ghostscript{"Ghostscript", ""},
    ghc{"the run-time system of GHC", ""}, racket{"Racket", ""}, erlang{"Erlang", "it with ERL_FLAGS='+Mea min'"},
    postgres{"PostgreSQL", "", true};

/// Names of programs, of which digits, points and hyphens may follow.
constexpr std::array programs = {
    known_file{"python", cpython},
    known_file{"php", php},
    known_file{"php-fpm", php},
    known_file{"php-cgi", php},
    known_file{"ruby", ruby},
    known_file{"node", v8},
    known_file{"nodejs", v8},
    known_file{"d8", v8},
    known_file{"deno", v8},
    known_file{"java", jvm},
    known_file{"ghc", ghc},
    known_file{"pandoc", ghc},
    known_file{"shellcheck", ghc},
    known_file{"racket", racket},
    known_file{"tclsh", tcl},
    known_file{"wish", tcl},
    known_file{"expect", tcl},
    known_file{"gs", ghostscript},
    known_file{"sbcl", {"SBCL", ""}},
    known_file{"beam.smp", erlang},
    known_file{"postgres", postgres},
    known_file{"julia", {"Julia", ""}},
    known_file{"guile", {"Guile", ""}},
    known_file{"mono", {"Mono", ""}},
    known_file{"dotnet", {".NET", ""}},
};

/// Libraries that bring an allocator into any program.
constexpr std::array libraries = {
    known_file{"libpython", cpython},
    known_file{"libphp", php},
    known_file{"libruby", ruby},
    known_file{"libnode", v8},
    known_file{"libv8", v8},
    known_file{"libjvm", jvm},
    known_file{"libHSrts", ghc},
    known_file{"libtcl", tcl},
    known_file{"libgs.so", ghostscript},
    known_file{"libjulia", {"Julia", ""}},
    known_file{"libguile", {"Guile", ""}},
    known_file{"libgc.so", {"the collector of Boehm", ""}},
    known_file{"libmono", {"Mono", ""}},
    known_file{"libcoreclr", {".NET", ""}},
};

std::string_view file_of(std::string_view path) { return path.substr(path.rfind('/') + 1); }

std::optional<allocator_facts> of_program(std::string_view file) {
  for (const known_file& known : programs)
    if (file.starts_with(known.name) && file.find_first_not_of("0123456789.-", known.name.size()) == file.npos)
      return known.facts;
  return std::nullopt;
}

std::optional<allocator_facts> of_libraries(std::span<const trace::mapped_module> modules) {
  for (const known_file& known : libraries)
    for (const trace::mapped_module& m : modules)
      if (file_of(m.path).starts_with(known.name)) return known.facts;
  return std::nullopt;
}

/// Of a known program a half is hidden if it looks so; an unknown one may have fragments in malloc, or large arrays.
struct suspicion {
  std::uint64_t least_missing;
  std::uint64_t most_share;  ///< Of malloc: a part in as many.
};
constexpr suspicion of_known{2 * mib, 2}, of_unknown{8 * mib, 4};

/// Returns: the memory that malloc holds for its blocks: a header each.
std::uint64_t held_by_malloc(const study::amount& peak) { return peak.bytes + 16 * peak.objects; }

bool is_hidden(std::uint64_t held, std::uint64_t all, const suspicion& s) {
  return all > held && all - held >= s.least_missing && held <= all / s.most_share;
}

/// "0.1 of 150 MiB"
std::string part_text(std::uint64_t held, std::uint64_t all) {
  const auto in_mib = [](std::uint64_t bytes) { return static_cast<double>(bytes) / static_cast<double>(mib); };
  return fmt::format("{:.1f} of {:.0f} MiB", in_mib(held), in_mib(all));
}

}  // namespace

std::optional<own_allocator> find_own_allocator(const memory_peaks& peaks, std::string_view program,
                                                std::span<const trace::mapped_module> modules) {
  const auto known = of_program(file_of(program));
  const std::uint64_t held = held_by_malloc(peaks.malloc);
  const bool is_inside = known && known->is_inside;
  if (!is_inside && !is_hidden(held, peaks.anonymous, known ? of_known : of_unknown)) return std::nullopt;
  const auto facts = known ? known : of_libraries(modules);
  return own_allocator{held, peaks.anonymous, facts.value_or(allocator_facts{})};
}

std::string own_allocator_text(const own_allocator& own) {
  const allocator_facts& f = own.facts;
  const std::string held = "malloc held " + part_text(own.malloc_bytes, own.memory_bytes) + ": this";
  std::string text = (f.is_inside ? "This" : held) + " program has an allocator of its own";
  if (f.runtime.empty()) text += ", or keeps its data in pages that it maps, large static arrays or stacks.";
  else text += fmt::format(" ({}){}.", f.runtime, f.is_inside ? ", in blocks that malloc gives it" : "");
  text += " Its objects are in no trace, and what was seen is too small a part of them to advise on.";
  if (!f.shown_by.empty()) return text + fmt::format(" To see them, record {}.", f.shown_by);
  return text + (f.runtime.empty() ? "" : " No switch is known that shows them.");
}

nlohmann::json own_allocator_json(const std::optional<own_allocator>& own) {
  if (!own) return nullptr;
  return {{"malloc_bytes", own->malloc_bytes},
          {"memory_bytes", own->memory_bytes},
          {"runtime", or_null(own->facts.runtime)},
          {"shown_by", or_null(own->facts.shown_by)},
          {"text", own_allocator_text(*own)}};
}

}  // namespace ashlar::cli
