// Malloc and its kin, taken over from glibc: for the one file of a program, or of a library that is preloaded
// into one, that watches memory or lets it run out. That file includes this where three functions of its own
// are in sight:
//   bool Fails();                  this allocation is refused; errno says why
//   void* Taken(void* block);      a block was handed out (null: none); returns it
//   void GivenBack(void* block);   a block is about to go (null: none)
#pragma once

#include <errno.h>
#include <stddef.h>

// What glibc itself calls its allocator by.
extern "C" {
void* __libc_malloc(size_t bytes);
void* __libc_calloc(size_t count, size_t bytes);
void* __libc_realloc(void* block, size_t bytes);
void* __libc_memalign(size_t alignment, size_t bytes);
void __libc_free(void* block);

void* malloc(size_t bytes) { return Fails() ? nullptr : Taken(__libc_malloc(bytes)); }
void* calloc(size_t count, size_t bytes) { return Fails() ? nullptr : Taken(__libc_calloc(count, bytes)); }
void* realloc(void* block, size_t bytes) {
  if (bytes != 0 && Fails()) return nullptr;
  GivenBack(block);
  void* moved = __libc_realloc(block, bytes);
  Taken(moved == nullptr && bytes != 0 ? block : moved);
  return moved;
}
void* memalign(size_t alignment, size_t bytes) {
  return Fails() ? nullptr : Taken(__libc_memalign(alignment, bytes));
}
void* aligned_alloc(size_t alignment, size_t bytes) { return memalign(alignment, bytes); }
int posix_memalign(void** block, size_t alignment, size_t bytes) {
  void* got = memalign(alignment, bytes);
  if (got == nullptr) return ENOMEM;
  *block = got;
  return 0;
}
void free(void* block) {
  GivenBack(block);
  __libc_free(block);
}
}
