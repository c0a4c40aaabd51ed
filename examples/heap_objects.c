/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The texts of a request in a heap of their own, from C: a limit for each request, and one call frees all of it. */
#include <stdio.h>
#include <string.h>

#include <ashlar_malloc.h>

struct text {
  char* characters;
  size_t length;
  size_t room;
};

/* Returns: 1, or 0 if the heap has no memory left; then the text is as it was. */
static int append(ashlar_heap* heap, struct text* text, const char* word) {
  const size_t bytes = strlen(word), length = text->length + bytes;
  if (length > text->room) {
    char* const moved = ashlar_heap_realloc(heap, text->characters, ashlar_good_size(length + length / 2));
    if (moved == NULL) return 0;
    text->characters = moved;
    text->room = ashlar_usable_size(moved); /* no byte of the block is wasted */
  }
  memcpy(text->characters + text->length, word, bytes);
  text->length = length;
  return 1;
}

/* Returns: the words that fitted into 16 MiB. */
static size_t serve(size_t words) {
  ashlar_heap_options limits = {.struct_bytes = sizeof limits, .max_bytes = 16u << 20};
  ashlar_heap* const heap = ashlar_heap_new(&limits);
  struct text text = {NULL, 0, 0};
  size_t done = 0;
  while (heap != NULL && done < words && append(heap, &text, "word by word ")) ++done;
  ashlar_heap_delete(heap); /* and all of its blocks */
  return done;
}

/* As a library does, such as Lua, that its user gives a function and a heap. */
static int uses(void* (*allocate)(void* user, void* p, size_t old_bytes, size_t bytes), void* user) {
  void* const p = allocate(user, NULL, 0, 100);
  return p != NULL && allocate(user, p, 100, 0) == NULL;
}

static void log_misuse(const ashlar_misuse* misuse, void* stream) {
  fprintf(stream, "misuse of memory: %s: %s, %p\n", misuse->kind, misuse->what, misuse->pointer);
}

int main(void) {
  ashlar_statistics now = {.struct_bytes = sizeof now};
  ashlar_on_misuse(log_misuse, stderr); /* returns, so the process ends then */
  if (ashlar_option_set("decay", "100") != 0) return 1;
  if (!uses(ashlar_heap_lua_alloc, ashlar_heap_of_process())) return 1;

  const size_t small = serve(1000), large = serve(100000000);
  ashlar_trim(0);
  if (ashlar_heap_statistics(ashlar_heap_of_process(), &now) != 0) return 1;
  printf("level %s: %zu and %zu words; %zu bytes held, %zu of them live\n", ashlar_level(), small, large, now.held_bytes,
         now.live_bytes);
  return small == 1000 && large > 1000 && large < 100000000 ? 0 : 1;
}
