// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Writes packets of Perfetto: live bytes over time as a counter; of each thread its spans as slices, its marks as
// instants.
#include <set>

#include "cli/export/formats.hpp"
#include "cli/export/proto.hpp"
#include "cli/report/trace.hpp"

namespace ashlar::cli {

namespace {

// Numbers of the format.
constexpr unsigned slice_begin = 1, slice_end = 2, instant = 3, counter = 4, unit_bytes = 3;
constexpr unsigned process_track = 1, counter_track = 2, first_thread_track = 3;

class perfetto_writer {
public:
  explicit perfetto_writer(const stack_profile& profile) : process_(profile.info.process) {
    proto_message process, bytes, track;
    process.number(1, process_).part(6, profile.program);
    bytes.number(3, unit_bytes);
    describe(track.number(1, process_track).part(3, process));
    track = {};
    describe(track.number(1, counter_track).number(5, process_track).part(2, "live bytes").part(8, bytes));
    for (const study::timeline::point& point : profile.live_bytes)
      for (const std::uint64_t value : {point.greatest, point.least}) {
        proto_message event;
        event.number(9, counter).number(11, counter_track).always(30, value);
        add_event(point.time_ns, event);
      }
  }

  void add(const trace::event& e, const trace::name_table& names) {
    using enum trace::operation;
    if (e.op == thread_name) describe_thread(e.thread, std::string(names[e.size]));
    if (e.op == span_begin) add(e, slice_begin, std::string(names[e.size]));
    if (e.op == span_end) add(e, slice_end, "");
    if (e.op == mark) add(e, instant, "mark " + std::to_string(e.size));
  }

  [[nodiscard]] const std::string& bytes() const noexcept { return file_.bytes(); }

private:
  void add(const trace::event& e, unsigned type, const std::string& name) {
    if (!threads_.contains(e.thread)) describe_thread(e.thread, "");
    proto_message event;
    event.number(9, type).number(11, first_thread_track + std::uint64_t{e.thread});
    if (!name.empty()) event.part(23, clean_text(name));
    add_event(e.time_ns, event);
  }

  /// The first thread has the number of the process, as in Linux; those of the others are unknown.
  void describe_thread(std::uint32_t thread, const std::string& name) {
    threads_.insert(thread);
    proto_message described, track;
    described.number(1, process_).number(2, process_ + std::uint64_t{thread});
    if (!name.empty()) described.part(5, clean_text(name));
    describe(track.number(1, first_thread_track + std::uint64_t{thread}).number(5, process_track).part(4, described));
  }

  void describe(const proto_message& track) {
    proto_message packet;
    packet.number(10, 1).part(60, track);
    file_.part(1, packet);
  }
  void add_event(std::uint64_t time_ns, const proto_message& event) {
    proto_message packet;
    packet.always(8, time_ns).number(10, 1).part(11, event);
    file_.part(1, packet);
  }

  std::uint64_t process_;
  proto_message file_;
  std::set<std::uint32_t> threads_;  // that are described
};

}  // namespace

std::string perfetto_file(const stack_profile& profile, const export_request& request) {
  trace_input input(request.trace, request.prefix);
  perfetto_writer writer(profile);
  for (auto batch = input.next_batch(); !batch.empty(); batch = input.next_batch())
    for (const trace::event& e : batch) writer.add(e, input.names());
  return writer.bytes();
}

}  // namespace ashlar::cli
