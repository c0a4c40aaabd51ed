// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Functions of the C library whose blocks the caller frees, and others that allocate inside.
#include <cxxabi.h>
#include <dirent.h>
#include <execinfo.h>
#include <glob.h>
#include <netdb.h>
#include <regex.h>
#include <search.h>
#include <unistd.h>

#include <algorithm>
#include <clocale>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cwchar>
#include <string>

#include "tests/malloc/rule.hpp"

namespace malloc_rules {
namespace {

RULE(libc, copies_of_strings) {
  for (const std::size_t n : {0u, 1u, 15u, 100u, 5000u, 300'000u}) {
    const std::string text(n, 's');
    char* const copy = ::strdup(text.c_str());
    char* const part = ::strndup(text.c_str(), n / 2);
    expect(text == copy && std::strlen(part) == n / 2, "strdup or strndup", n);
    std::free(copy);
    std::free(part);
    wchar_t* const wide = ::wcsdup(std::wstring(n, L'w').c_str());
    expect(std::wcslen(wide) == n, "wcsdup", n);
    std::free(wide);
  }
}

RULE(libc, formatted_strings) {
  for (const int n : {1, 100, 5000, 400'000}) {
    char* text = nullptr;
    expect(::asprintf(&text, "%0*d", n, 7) == n && text[n - 1] == '7', "asprintf");
    std::free(text);
  }
}

RULE(libc, lines) {
  const std::string text = std::string(10, 'a') + "\n" + std::string(100'000, 'b') + "\n" + "c;d";
  std::FILE* const file = ::fmemopen(const_cast<char*>(text.data()), text.size(), "r");
  char* line = nullptr;
  std::size_t capacity = 0;
  expect(::getline(&line, &capacity, file) == 11, "getline");
  expect(::getline(&line, &capacity, file) == 100'001 && capacity > 100'001, "getline of a long line");
  expect(std::count(line, line + 100'000, 'b') == 100'000, "getline lost a part of a long line");
  expect(::getdelim(&line, &capacity, ';', file) == 2, "getdelim");
  std::free(line);
  std::fclose(file);
}

RULE(libc, streams_in_memory) {
  char* text = nullptr;
  std::size_t length = 0;
  std::FILE* const stream = ::open_memstream(&text, &length);
  for (int i = 0; i < 50'000; ++i) std::fprintf(stream, "%05d\n", i);
  std::fclose(stream);
  expect(length == 300'000 && std::strncmp(text + length - 6, "49999\n", 6) == 0, "open_memstream", length);
  std::free(text);
  wchar_t* wide = nullptr;
  std::FILE* const wide_stream = ::open_wmemstream(&wide, &length);
  std::fwprintf(wide_stream, L"%05d", 17);
  std::fclose(wide_stream);
  expect(length == 5 && std::wcscmp(wide, L"00017") == 0, "open_wmemstream", length);
  std::free(wide);
}

RULE(libc, paths) {
  char* const here = ::getcwd(nullptr, 0);
  char* const real = ::realpath("/usr/../usr/.", nullptr);
  expect(here != nullptr && real != nullptr && std::strcmp(real, "/usr") == 0, "getcwd or realpath");
  std::free(here);
  std::free(real);
}

RULE(libc, folders) {
  dirent** entries = nullptr;
  const int count = ::scandir("/usr/bin", &entries, nullptr, ::alphasort);
  expect(count > 10, "scandir");
  for (int i = 0; i < count; ++i) std::free(entries[i]);
  std::free(entries);
  glob_t found = {};
  expect(::glob("/usr/bin/*", 0, nullptr, &found) == 0 && found.gl_pathc > 10, "glob");
  ::globfree(&found);
}

RULE(libc, files) {
  for (int i = 0; i < 100; ++i) {
    std::FILE* const file = std::tmpfile();
    std::setvbuf(file, nullptr, _IOFBF, std::size_t{100'000});
    std::fprintf(file, "%d", i);
    std::rewind(file);
    int read = -1;
    expect(std::fscanf(file, "%d", &read) == 1 && read == i, "a file of stdio");
    std::fclose(file);
  }
}

RULE(libc, scanned_strings) {
  char* word = nullptr;
  const std::string text(3000, 'w');
  expect(std::sscanf(text.c_str(), "%ms", &word) == 1 && text == word, "%ms of scanf");
  std::free(word);
}

RULE(libc, expressions) {
  regex_t pattern;
  expect(::regcomp(&pattern, "(a|b)*c{2,5}[[:alpha:]]+$", REG_EXTENDED) == 0, "regcomp");
  expect(::regexec(&pattern, "ababcccxyz", 0, nullptr, 0) == 0, "regexec");
  ::regfree(&pattern);
}

RULE(libc, trees) {
  static int numbers[1000];
  void* root = nullptr;
  const auto order = [](const void* a, const void* b) {
    return *static_cast<const int*>(a) - *static_cast<const int*>(b);
  };
  for (int i = 0; i < 1000; ++i) {
    numbers[i] = i * 7 % 1000;
    expect(::tsearch(&numbers[i], &root, order) != nullptr, "tsearch");
  }
  for (int i = 0; i < 500; ++i) ::tdelete(&numbers[i], &root, order);
  ::tdestroy(root, [](void*) {});
}

RULE(libc, sorted_arrays) {
  constexpr std::size_t count = 200'000;  // qsort takes a buffer from malloc
  auto* const numbers = static_cast<int*>(std::malloc(count * sizeof(int)));
  random_numbers random{4};
  for (std::size_t i = 0; i < count; ++i) numbers[i] = static_cast<int>(random.below(1'000'000));
  std::qsort(numbers, count, sizeof(int),
             [](const void* a, const void* b) { return *static_cast<const int*>(a) - *static_cast<const int*>(b); });
  expect(std::is_sorted(numbers, numbers + count), "qsort");
  std::free(numbers);
}

RULE(libc, addresses) {
  addrinfo* list = nullptr;
  addrinfo hints = {};
  hints.ai_flags = AI_NUMERICHOST;
  expect(::getaddrinfo("127.0.0.1", "80", &hints, &list) == 0, "getaddrinfo");
  ::freeaddrinfo(list);
}

RULE(libc, environment) {
  for (int i = 0; i < 500; ++i) {
    const std::string name = "RULE_" + std::to_string(i);
    expect(::setenv(name.c_str(), std::string(100, 'e').c_str(), 1) == 0, "setenv");
  }
  expect(std::strlen(std::getenv("RULE_250")) == 100, "getenv");
  for (int i = 0; i < 500; ++i) ::unsetenv(("RULE_" + std::to_string(i)).c_str());
  std::setlocale(LC_ALL, "C.UTF-8");
}

RULE(libc, names) {
  int status = -1;
  auto* buffer = static_cast<char*>(std::malloc(1));
  std::size_t length = 1;
  buffer = abi::__cxa_demangle("_ZNSt6vectorIiSaIiEE9push_backERKi", buffer, &length, &status);
  expect(status == 0 && length > 20, "__cxa_demangle did not grow the block that it was given");
  std::free(buffer);
  void* frames[10];
  char** const symbols = ::backtrace_symbols(frames, ::backtrace(frames, 10));
  expect(symbols != nullptr, "backtrace_symbols");
  std::free(symbols);
}

}  // namespace

}  // namespace malloc_rules
