// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Opens traces and turns their errors into one line each.
#include "cli/report/trace.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "cli/preload/status.hpp"
#include "cli/record/recording.hpp"
#include "cli/report/read_ahead.hpp"
#include "cli/support/output.hpp"
#include "cli/support/terminal.hpp"
#include "cli/support/text.hpp"
#include "cli/support/zstd_codec.hpp"

namespace ashlar::cli {

namespace {

std::string line_of(const trace::trace_error& error) {
  if (error.offset == 0) return error.message;
  return fmt::format("{} at byte {}", error.message, error.offset);
}

}  // namespace

struct trace_input::open_reader {
  open_reader(const std::string& path, bool accept_prefix)
      : reader(path, {.accept_prefix = accept_prefix}), ahead(reader, [this, path](std::size_t n) { count(path, n); }) {
  }

  /// Effects: shows the progress twenty times a second.
  void count(const std::string& path, std::size_t events) {
    read += events;
    const double spent = clock.seconds();
    if (spent < shown + 0.05) return;
    shown = spent;
    const double share = std::min(1.0, static_cast<double>(read) / static_cast<double>(reader.info().events));
    show_progress(fmt::format("reading {}: {:.0f} %", path, 100 * share), spent / share - spent);
  }

  void check(const std::string& path) const {
    if (reader.error()) throw std::runtime_error(path + ": " + line_of(*reader.error()) + hint());
  }

  /// The sound part before the damage is readable, unless the header itself is damaged.
  std::string hint() const {
    const std::string cut =
        reader.info().write_error == detail::trace_io::cut_by_program ? "; the program cut its own trace" : "";
    const bool has_header = reader.error()->offset >= detail::trace_io::file_header_bytes;
    return cut + (has_header ? "; --damaged reads the part before it" : "");
  }

  trace_reader reader;
  std::uint64_t read = 0;
  stopwatch clock;
  double shown = 0;
  read_ahead<trace_reader> ahead;
};

trace_input::trace_input(const std::string& path, bool accept_prefix)
    : path_(path), reader_(std::make_unique<open_reader>(path, accept_prefix)) {
  reader_->check(path);
  info_ = reader_->reader.info();
}

trace_input::~trace_input() = default;

const trace::event* trace_input::next() {
  const trace::event* const event = reader_->ahead.next();
  if (event == nullptr) finish();
  return event;
}

std::span<const trace::event> trace_input::next_batch() {
  const std::span<const trace::event> batch = reader_->ahead.next_batch();
  if (batch.empty()) finish();
  return batch;
}

void trace_input::finish() {
  reader_->check(path_);
  info_ = reader_->reader.info();
}

const std::vector<trace::mapped_module>& trace_input::modules() const { return reader_->reader.modules(); }
const trace::stack_table& trace_input::stacks() const { return reader_->reader.stacks(); }
const trace::name_table& trace_input::names() const { return reader_->reader.names(); }

std::string trace_input::program_file() const {
  if (!modules().empty()) return modules().front().path;
  return info().command_line.empty() ? "" : info().command_line.front();
}

std::string trace_input::program() const { return joined(info().command_line); }

std::string damage_note(const trace::trace_info& info) {
  if (info.damage)
    return fmt::format("The trace is damaged: {}. The figures cover the events before the damage.",
                       line_of(*info.damage));
  if (info.write_error != 0)
    return fmt::format("The recording ended before the program: {}. The figures cover the events written until then.",
                       describe_write_error(info.write_error));
  if (!info.complete)
    return fmt::format("The program was killed or is still running: the last events of each of its threads are "
                       "missing, at most {}.",
                       grouped(recorder::log_records));
  if (info.dropped != 0)
    return fmt::format("The recorder had to drop {}: figures are too low.", counted(info.dropped, "event"));
  return "";
}

}  // namespace ashlar::cli
