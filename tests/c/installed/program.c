/* Built by installed_test.sh against the installed tree alone. */
#include <stdio.h>
#include <string.h>

#include "kvstore.h"

int main(int argc, char** argv) {
  KVStore* kv = NULL;
  void* value = NULL;
  int length = 0;
  int same = 0;
  if (kvstore_open(argc > 1 ? argv[1] : NULL, &kv, KVSTORE_JOURNAL_WAL) != KVSTORE_OK) {
    fprintf(stderr, "%s\n", kvstore_errmsg(NULL));
    return 1;
  }
  if (kvstore_put_ttl(kv, "key", 3, "value", 5, kvstore_now_ms() + 60000) != KVSTORE_OK ||
      kvstore_get(kv, "key", 3, &value, &length) != KVSTORE_OK) {
    fprintf(stderr, "%s\n", kvstore_errmsg(kv));
    return 1;
  }
  same = length == 5 && memcmp(value, "value", 5) == 0;
  snkv_free(value);
  return kvstore_close(kv) == KVSTORE_OK && same ? 0 : 1;
}
