// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// fork, exec with the preload library in the environment, wait; then the headers of the fresh traces are read, and what
// processes have told in shared memory, which is found by its id.
#include "cli/record/recording.hpp"

#include <csignal>
#include <cstdlib>
#include <ctime>
#include <set>

#include <poll.h>
#include <sys/prctl.h>
#include <sys/shm.h>
#include <sys/wait.h>

#include <fmt/format.h>

#include "cli/preload/clock.hpp"
#include "cli/preload/memory_use.hpp"
#include "cli/preload/thread_log.hpp"
#include "cli/record/run_note.hpp"
#include "cli/support/companion.hpp"
#include "cli/support/text.hpp"

namespace ashlar::cli {

namespace {

volatile std::sig_atomic_t running_child = 0;

void pass_on(int signal) {
  if (running_child != 0) kill(static_cast<pid_t>(running_child), signal);
}

/// Ctrl-C goes to the whole process group: the program decides what it means, the recorder waits. Other requests to end
/// come to the recorder alone, which passes them on. SIGCHLD must not be ignored, or the exit status of the child is
/// lost. The program starts with the signals as the recorder found them. Until there is a process to pass them on to,
/// requests wait.
class signals_for_child {
public:
  signals_for_child() {
    sigset_t waiting;
    sigemptyset(&waiting);
    sigaddset(&waiting, SIGTERM);
    sigaddset(&waiting, SIGHUP);
    sigprocmask(SIG_BLOCK, &waiting, &mask_);
    for (int i = 0; i < count; ++i) {
      struct sigaction action{};
      action.sa_handler = handlers[i];
      sigaction(signals[i], &action, &before_[i]);
    }
  }
  ~signals_for_child() { restore(); }
  signals_for_child(const signals_for_child&) = delete;
  signals_for_child& operator=(const signals_for_child&) = delete;

  void restore() const noexcept {
    for (int i = 0; i < count; ++i) sigaction(signals[i], &before_[i], nullptr);
    admit();
  }
  void admit() const noexcept { sigprocmask(SIG_SETMASK, &mask_, nullptr); }

private:
  static constexpr int count = 5;
  static constexpr int signals[count] = {SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGCHLD};
  static inline const sighandler_t handlers[count] = {SIG_IGN, SIG_IGN, pass_on, pass_on, SIG_DFL};
  struct sigaction before_[count];
  sigset_t mask_;
};

void set_environment(const record_options& options) {
  setenv(recorder::file_variable, options.output.c_str(), 1);
  setenv(recorder::status_variable, options.status.c_str(), 1);
  setenv(recorder::session_variable, std::to_string(options.session).c_str(), 1);
  setenv(recorder::stacks_variable, std::to_string(options.stack_depth).c_str(), 1);
  setenv(recorder::first_variable, std::to_string(getpid()).c_str(), 1);
  setenv(recorder::only_variable, options.only.c_str(), 1);
  setenv(recorder::children_variable, options.has_children ? "1" : "0", 1);
}

/// Does not return. The errno of an exec that fails goes down the pipe, which an exec that succeeds closes.
[[noreturn]] void become(const record_options& options, int report) {
  set_environment(options);
  const int error = become_with(options.library, options.program);
  if (write(report, &error, sizeof error) != sizeof error) _exit(126);
  _exit(127);
}

/// Effects: takes the statuses of ended children, up to that of the program itself.
void reap_adopted(child_result& result) {
  siginfo_t found{};
  while (waitid(P_ALL, 0, &found, WEXITED | WNOHANG | WNOWAIT) == 0 && found.si_pid != 0) {
    if (found.si_pid == result.process && !result.ended.contains(result.process)) return;
    int status = 0;
    if (waitpid(found.si_pid, &status, 0) == found.si_pid) result.ended[found.si_pid] = status;
    found.si_pid = 0;
  }
}

/// A descriptor of the process is readable when it has ended. Before Linux 5.3 there is none, and no look.
void look_until_the_end_of(child_result& result, const std::function<std::chrono::milliseconds()>& look) {
  const int process = static_cast<int>(syscall(SYS_pidfd_open, result.process, 0));
  if (process < 0) return;
  pollfd end{.fd = process, .events = POLLIN, .revents = 0};
  while (poll(&end, 1, static_cast<int>(look().count())) <= 0) reap_adopted(result);
  close(process);
}

int wait_for(child_result& result) {
  int status = 0;
  while (waitpid(result.process, &status, 0) < 0 && errno == EINTR) {
  }
  result.ended[result.process] = status;
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

namespace fs = std::filesystem;

constexpr std::size_t most_listed = 4, most_named = 4;

std::size_t count_threads(const detail::trace_io::chunk_index& index) {
  std::set<std::uint32_t> streams;
  for (const detail::trace_io::chunk_entry& chunk : index.chunks(detail::trace_io::chunk_kind::events))
    streams.insert(chunk.header.stream);
  streams.erase(0xffff'ffff);  // shared by ending threads
  return streams.size();
}

/// The first one is the largest: `report` and `advise` take it unless the recorded program has more events.
std::string others_text(const std::vector<process_trace>& others, std::uint64_t own_events,
                        const std::string& pattern) {
  if (others.empty()) return {};
  std::string text = "; " + counted(others.size(), "more trace") + " in " + pattern + ": ";
  for (std::size_t i = 0; i < others.size() && i < most_listed; ++i)
    text += (i == 0 ? "" : ", ") + counted(others[i].events, "event") + " in " + others[i].path;
  if (others.size() > most_listed) text += fmt::format(", and {} more", grouped(others.size() - most_listed));
  if (others.front().events <= own_events) return text;
  return text + "; the largest is process " + title_of(others.front());
}

std::string trace_text(const detail::trace_io::chunk_index& index, std::uint64_t bytes, const std::string& path) {
  const std::string cut = index.error() ? ", damaged at byte " + std::to_string(index.error()->offset) : "";
  return counted(index.events(), "event") + ", " + counted(count_threads(index), "thread") + ", " +
         counted(bytes, "byte") + " in " + path + cut;
}

/// "up to 4,096 events", "up to 4,096 events of each of its 3 threads"
std::string last_events(std::uint32_t threads) {
  const std::string most = "up to " + counted(recorder::log_records, "event");
  return threads <= 1 ? most : most + " of each of its " + counted(threads, "thread");
}

std::string place_of(const record_status::unfinished& p, int program, const std::string& path,
                     const recording_summary& sum) {
  if (p.process == program) return sum.has_trace ? path : "";
  const process_trace* last = nullptr;  // after an exec
  for (const process_trace& t : sum.others)
    if (t.process == static_cast<std::uint32_t>(p.process) && (last == nullptr || t.start_ns > last->start_ns))
      last = &t;
  return last == nullptr ? "" : last->path;
}

std::string loss_of(const record_status::unfinished& p, const std::string& place) {
  const std::string process = "process " + std::to_string(p.process);
  const std::string state = p.is_running ? " is still running" : " was killed or ended by a system call of its own";
  const std::string lacks = place.empty() ? ", and has no trace: it lacks " : ": " + place + " lacks ";
  return process + state + lacks + last_events(p.threads);
}

namespace trace_io = detail::trace_io;

/// Returns: the time of this thread, which other processes do not prolong.
std::chrono::nanoseconds processor_time() {
  return std::chrono::nanoseconds(recorder::clock_ns(CLOCK_THREAD_CPUTIME_ID));
}

/// Returns: the figures that the trace has itself.
trace_io::memory_figures figures_in(trace::byte_source& source, const trace_io::chunk_index& index) {
  trace_io::memory_figures known;
  for (const trace_io::chunk_entry& entry : index.chunks(trace_io::chunk_kind::memory)) {
    std::vector<std::byte> payload(entry.header.stored_bytes);
    if (entry.header.codec == trace::codec_id::raw && source.read(entry.offset + trace_io::chunk_header_bytes, payload))
      static_cast<void>(trace_io::get_memory(payload, entry.header.count, known));
  }
  return known;
}

}  // namespace

child_result run_recorded(const record_options& options, const std::function<std::chrono::milliseconds()>& look) {
  int pipe_ends[2];
  if (pipe2(pipe_ends, O_CLOEXEC) != 0) return {.error = errno};
  const signals_for_child signals;
  if (options.adopts) prctl(PR_SET_CHILD_SUBREAPER, 1);
  const pid_t child = fork();
  if (child < 0) return {.error = errno};
  if (child == 0) {
    signals.restore();
    become(options, pipe_ends[1]);
  }
  running_child = child;
  signals.admit();
  close(pipe_ends[1]);
  child_result result{.process = child};
  ssize_t n = 0;
  while ((n = read(pipe_ends[0], &result.error, sizeof result.error)) < 0 && errno == EINTR) {
  }
  close(pipe_ends[0]);
  if (result.error == 0 && look) look_until_the_end_of(result, look);
  result.status = wait_for(result);
  running_child = 0;
  if (options.adopts) reap_adopted(result);
  return result;
}

namespace {

/// A zombie has ended.
bool runs(int process) {
  std::ifstream from("/proc/" + std::to_string(process) + "/stat");
  std::string line;
  std::getline(from, line);
  const std::size_t name_end = line.rfind(") ");
  return name_end != line.npos && line.size() > name_end + 2 && line[name_end + 2] != 'Z';
}

}  // namespace

/// Marked for removal at once: it ends with the last attached process, and can be attached until then.
record_status::record_status(std::uint64_t max_bytes) : id_(shmget(IPC_PRIVATE, sizeof *page_, IPC_CREAT | 0600)) {
  if (id_ < 0) return;
  void* const memory = shmat(id_, nullptr, 0);
  shmctl(id_, IPC_RMID, nullptr);
  if (memory == reinterpret_cast<void*>(-1)) return;
  page_ = static_cast<recorder::recording_status*>(memory);
  page_->magic = recorder::status_magic;
  page_->max_bytes = max_bytes;
}

record_status::~record_status() {
  if (page_ != nullptr) shmdt(page_);
}

std::string record_status::id() const { return page_ == nullptr ? std::string() : std::to_string(id_); }

bool record_status::any_trace() const noexcept { return page_ != nullptr && page_->traces.load() != 0; }

std::vector<record_status::unfinished> record_status::unfinished_processes() const {
  std::vector<unfinished> all;
  if (page_ == nullptr) return all;
  for (const recorder::recorded_process& p : page_->unfinished)
    if (const int id = p.id.load(); id != 0) all.push_back({id, p.threads.load(), runs(id)});
  std::sort(all.begin(), all.end(), [](const unfinished& a, const unfinished& b) { return a.process < b.process; });
  return all;
}

std::string record_status::failure(const std::string& place) const {
  const std::uint32_t failures = page_ == nullptr ? 0 : page_->failures.load();
  if (failures == 0) return {};
  const std::string path = place.empty() ? std::string(page_->path, page_->path_length.load()) : place;
  const std::string others = failures == 1 ? "" : "; so it went in " + counted(failures, "process", "processes");
  return path + ": " + describe_write_error(page_->first_error.load()) + others;
}

std::string describe_write_error(int error) {
  if (error == detail::trace_io::cut_by_program) return "the program cut its own trace short";
  if (error == detail::trace_io::size_was_reached) return "--max-size was reached";
  if (error == ENOSPC) return "the disk was full";
  if (error == ENOMEM) return "there was no memory for the recorder";
  return std::string("writing failed: ") + std::strerror(error);
}

recording_summary summarise_recording(const std::string& path, const std::string& output, std::uint64_t session) {
  recording_summary sum;
  sum.others = find_other_processes(path, output, session);
  trace::byte_source source(path);
  const detail::trace_io::chunk_index index(source);
  sum.events = index.events();
  const std::string others = others_text(sum.others, sum.events, pattern_of_names(path, output));
  std::error_code error;
  if (source.refusal() != nullptr && fs::exists(path, error)) {
    sum.text = path + " " + source.refusal() + others;
    return sum;
  }
  sum.has_trace = source.bytes() != 0;
  sum.text = (sum.has_trace ? trace_text(index, source.bytes(), path) : "nothing in " + path) + others;
  return sum;
}

recording_losses find_losses(const std::vector<record_status::unfinished>& processes, const child_result& program,
                             const std::string& path, const recording_summary& sum) {
  recording_losses found;
  for (std::size_t i = 0; i < processes.size(); ++i) {
    const record_status::unfinished& p = processes[i];
    const bool is_told = p.process == program.process && program.status >= 128;
    found.is_untold = found.is_untold || !(p.is_running || is_told);
    if (i < most_named) found.text += (i == 0 ? "" : "; ") + loss_of(p, place_of(p, program.process, path, sum));
  }
  if (processes.size() > most_named)
    found.text += "; likewise " + counted(processes.size() - most_named, "more process", "more processes");
  return found;
}

std::chrono::milliseconds memory_watch::look() {
  using namespace std::chrono_literals;
  if (page_ == nullptr) return 1h;
  const clock::time_point start = clock::now();
  const std::chrono::nanoseconds before = processor_time();
  for (const recorder::recorded_process& process : page_->unfinished)
    if (process.id.load(std::memory_order_acquire) != 0) look_at(process, start);
  const auto wait = std::chrono::ceil<std::chrono::milliseconds>(look_share * (processor_time() - before));
  return std::max<std::chrono::milliseconds>(least_wait, wait);
}

void memory_watch::look_at(const recorder::recorded_process& process, clock::time_point time) {
  const identity who(process.id.load(), process.start_ns.load(std::memory_order_acquire));
  watched& w = seen_.try_emplace(who, watched{.since = time, .next = time, .figures = {}}).first->second;
  if (time < w.next) return;
  w.next = time + (time - w.since) / life_share;
  const recorder::memory_use now = recorder::memory_in(("/proc/" + std::to_string(who.first) + "/status").c_str());
  trace_io::memory_figures& known = w.figures;
  known.resident = std::max(known.resident, now.peak);
  known.anonymous = std::max(known.anonymous, now.anonymous);
  const std::uint64_t logs =
      process.threads.load() * std::uint64_t{sizeof(recorder::thread_log) + sizeof(recorder::live_records)};
  known.foreign = std::max({known.foreign, process.inherited.load(), logs});
}

void memory_watch::append_to(const std::string& path) const {
  trace::byte_source source(path);
  if (source.refusal() != nullptr) return;
  const trace_io::chunk_index index(source);
  const trace_io::file_header& h = index.header();
  const auto seen = seen_.find({static_cast<std::int32_t>(h.process), h.start_ns});
  if (seen == seen_.end()) return;
  const trace_io::memory_figures own = figures_in(source, index);
  trace_io::memory_figures told = seen->second.figures;
  if (told.resident <= own.resident && told.anonymous <= own.anonymous) return;
  if (own.resident != 0) told.foreign = own.foreign;  // which the process knows better
  const auto count = static_cast<std::uint32_t>(index.chunks(trace_io::chunk_kind::memory).size());
  std::array<std::byte, trace_io::memory_figure_count * trace_io::max_varint_bytes> payload;
  const auto n = static_cast<std::size_t>(trace_io::put_memory(payload.data(), told) - payload.data());
  append_chunk(path, source, index,
               {.kind = trace_io::chunk_kind::memory, .sequence = count, .count = trace_io::memory_figure_count},
               std::span(payload).first(n));
}

}  // namespace ashlar::cli
