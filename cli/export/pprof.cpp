// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Writes pprof's profile.proto: values, samples, mappings, locations, functions and texts, each by its number.
#include <map>

#ifdef ASHLAR_CLI_ZLIB
#include <zlib.h>
#endif

#include "cli/export/formats.hpp"
#include "cli/export/proto.hpp"
#include "cli/support/text.hpp"

namespace ashlar::cli {

namespace {

/// Texts by number, equal ones once; 0 is the empty one.
class proto_texts {
public:
  std::uint64_t operator[](const std::string& text) {
    const auto [at, is_new] = numbers_.try_emplace(text, all_.size());
    if (is_new) all_.push_back(&at->first);
    return at->second;
  }
  void write(proto_message& to, unsigned field) const {
    for (const std::string* const text : all_) to.part(field, *text);
  }

private:
  std::map<std::string, std::uint64_t> numbers_{{"", 0}};
  std::vector<const std::string*> all_{&numbers_.begin()->first};
};

proto_message value_type(proto_texts& texts, const char* name, const char* unit) {
  proto_message m;
  m.number(1, texts[name]).number(2, texts[unit]);
  return m;
}

proto_message sample(const profile_stack& stack) {
  std::string locations, values;
  for (const std::uint32_t frame : stack.frames) append_varint(locations, frame + std::uint64_t{1});
  for (const stack_value& value : stack_values) append_varint(values, value.of(stack.sum));
  proto_message m;
  m.part(1, locations).part(2, values);
  return m;
}

/// The offset of a whole file is 0. It has functions, files, lines and inlined frames: pprof need not look them up.
proto_message mapping(proto_texts& texts, const trace::mapped_module& module, std::size_t number) {
  proto_message m;
  m.number(1, number).number(2, module.begin).number(3, module.end);
  m.number(5, texts[clean_text(module.path)]).number(6, texts[clean_text(module.build_id)]);
  for (const unsigned has : {7U, 8U, 9U, 10U}) m.number(has, 1);
  return m;
}

proto_message location(const profile_frame& frame, std::size_t number) {
  proto_message m;
  m.number(1, number).number(2, frame.module).number(3, frame.address);
  for (const profile_call& call : frame.calls) {
    proto_message line;
    line.number(1, call.function + std::uint64_t{1}).number(2, static_cast<std::uint64_t>(call.line));
    m.part(4, line);
  }
  return m;
}

proto_message function(proto_texts& texts, const profile_function& function, std::size_t number) {
  proto_message m;
  m.number(1, number).number(2, texts[function.name]).number(4, texts[function.file]);
  return m;
}

/// Returns: the bytes of a file of gzip; the same ones if they cannot be compressed, which readers take too.
std::string gzipped(const std::string& bytes) {
#ifdef ASHLAR_CLI_ZLIB
  constexpr int with_gzip_header = 16, most_memory = 8;
  z_stream stream{};
  std::string packed(::deflateBound(nullptr, bytes.size()) + 32, '\0');
  if (packed.size() > UINT32_MAX ||
      ::deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, MAX_WBITS + with_gzip_header, most_memory,
                     Z_DEFAULT_STRATEGY) != Z_OK)
    return bytes;
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  const bool is_whole = ::deflate(&stream, Z_FINISH) == Z_STREAM_END;
  packed.resize(stream.total_out);
  ::deflateEnd(&stream);
  if (is_whole) return packed;
#endif
  return bytes;
}

}  // namespace

std::string pprof_file(const stack_profile& profile, const export_request& request) {
  proto_texts texts;
  proto_message all;
  for (const stack_value& value : stack_values) all.part(1, value_type(texts, value.name, value.unit));
  for (const profile_stack& stack : profile.stacks) all.part(2, sample(stack));
  std::size_t number = 0;
  for (const trace::mapped_module& module : profile.modules) all.part(3, mapping(texts, module, ++number));
  number = 0;
  for (const profile_frame& frame : profile.frames) all.part(4, location(frame, ++number));
  number = 0;
  for (const profile_function& each : profile.functions) all.part(5, function(texts, each, ++number));
  all.number(9, profile.info.start_unix_ns).number(10, profile.duration_ns);
  all.part(11, value_type(texts, "space", "bytes")).number(12, 1);
  for (const std::string& comment :
       {"command: " + profile.program,
        std::string("recorded by ashlar: each allocation"
                    " counts, none is sampled; times are those of a recorded run, which is slower")})
    all.number(13, texts[comment]);
  all.number(14, texts[request.value->name]);
  texts.write(all, 6);
  return gzipped(all.bytes());
}

}  // namespace ashlar::cli
