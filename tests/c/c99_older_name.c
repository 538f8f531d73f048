/* sqlite3_free(), as programs have it that declare it themselves: before the include, after it, and by its address. */
extern void sqlite3_free(void*);

#include "kvstore.h"

extern void sqlite3_free(void*);

void free_by_its_older_name(void* memory);

void free_by_its_older_name(void* memory) {
  void (*const by_address)(void*) = sqlite3_free;
  by_address(memory);
  sqlite3_free(NULL);
}
