/* hiredis, by its public interface, against the server whose port is in LAPSE_PORT. Fails at the first thing that is not
   as it should be, and says which. */

#include <hiredis/hiredis.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void fail(const char* what, const char* detail) {
  fprintf(stderr, "hiredis: %s: %s\n", what, detail ? detail : "?");
  exit(1);
}

static void check(int holds, const char* what) {
  if (!holds) fail("does not hold", what);
}

static redisContext* connect_to_server(void) {
  const char* port = getenv("LAPSE_PORT");
  if (port == NULL) fail("connect", "LAPSE_PORT is not set");
  const struct timeval patience = {120, 0};
  redisContext* context = redisConnectWithTimeout("127.0.0.1", atoi(port), patience);
  if (context == NULL || context->err != 0) fail("connect", context ? context->errstr : "no memory");
  redisSetTimeout(context, patience);
  return context;
}

static redisReply* expect(void* reply, int type, const char* what) {
  redisReply* is = reply;
  if (is == NULL) fail(what, "no reply");
  if (is->type != type) fail(what, is->str ? is->str : "another type");
  return is;
}

static void expect_text(void* reply, int type, const char* text, const char* what) {
  redisReply* is = expect(reply, type, what);
  if (strcmp(is->str, text) != 0) fail(what, is->str);
  freeReplyObject(is);
}

static void expect_integer(void* reply, long long number, const char* what) {
  redisReply* is = expect(reply, REDIS_REPLY_INTEGER, what);
  check(is->integer == number, what);
  freeReplyObject(is);
}

static void strings(redisContext* c) {
  expect_text(redisCommand(c, "SET %s %s EX %d", "greeting", "hello", 100), REDIS_REPLY_STATUS, "OK", "SET");
  expect_text(redisCommand(c, "GET %s", "greeting"), REDIS_REPLY_STRING, "hello", "GET");
  freeReplyObject(expect(redisCommand(c, "GET nothing"), REDIS_REPLY_NIL, "GET of nothing"));
  expect_text(redisCommand(c, "INCR greeting"), REDIS_REPLY_ERROR,
              "ERR value is not an integer or out of range", "INCR of text");

  const char key[] = {'\0', '\r', '\n', '\xff'};
  const char value[] = "a\0b";
  expect_text(redisCommand(c, "SET %b %b", key, sizeof key, value, sizeof value), REDIS_REPLY_STATUS, "OK",
              "SET of bytes");
  redisReply* reply = expect(redisCommand(c, "GET %b", key, sizeof key), REDIS_REPLY_STRING, "GET of bytes");
  check(reply->len == sizeof value && memcmp(reply->str, value, sizeof value) == 0, "bytes come back");
  freeReplyObject(reply);
}

static void pipelines(redisContext* c) {
  enum { kCommands = 10000 };
  for (int i = 0; i < kCommands; ++i)
    check(redisAppendCommand(c, "INCR visits") == REDIS_OK, "a command is appended");
  for (long long i = 1; i <= kCommands; ++i) {
    void* reply = NULL;
    check(redisGetReply(c, &reply) == REDIS_OK, "a reply of the pipeline");
    expect_integer(reply, i, "INCR in a pipeline");
  }
}

static void transactions(redisContext* c, redisContext* other) {
  expect_text(redisCommand(c, "WATCH stock"), REDIS_REPLY_STATUS, "OK", "WATCH");
  expect_text(redisCommand(other, "SET stock 9"), REDIS_REPLY_STATUS, "OK", "SET by another");
  expect_text(redisCommand(c, "MULTI"), REDIS_REPLY_STATUS, "OK", "MULTI");
  expect_text(redisCommand(c, "SET stock 8"), REDIS_REPLY_STATUS, "QUEUED", "SET in MULTI");
  freeReplyObject(expect(redisCommand(c, "EXEC"), REDIS_REPLY_NIL, "EXEC after a conflict"));

  expect_text(redisCommand(c, "MULTI"), REDIS_REPLY_STATUS, "OK", "MULTI");
  expect_text(redisCommand(c, "DECR stock"), REDIS_REPLY_STATUS, "QUEUED", "DECR in MULTI");
  redisReply* reply = expect(redisCommand(c, "EXEC"), REDIS_REPLY_ARRAY, "EXEC");
  check(reply->elements == 1 && reply->element[0]->integer == 8, "EXEC has the reply of DECR");
  freeReplyObject(reply);
}

/* A lifetime that passes: the event is waited for, however long it takes. */
static void lifetimes(redisContext* c, redisContext* listener) {
  expect_text(redisCommand(c, "CONFIG SET notify-keyspace-events Ex"), REDIS_REPLY_STATUS, "OK",
              "CONFIG SET");
  freeReplyObject(
      expect(redisCommand(listener, "SUBSCRIBE __keyevent@0__:expired"), REDIS_REPLY_ARRAY, "SUBSCRIBE"));
  expect_text(redisCommand(c, "SET code 1234 PX 50"), REDIS_REPLY_STATUS, "OK", "SET with PX");
  void* message = NULL;
  check(redisGetReply(listener, &message) == REDIS_OK, "a message");
  redisReply* event = expect(message, REDIS_REPLY_ARRAY, "the expired event");
  check(event->elements == 3 && strcmp(event->element[2]->str, "code") == 0, "the event names the key");
  freeReplyObject(event);
  freeReplyObject(expect(redisCommand(c, "GET code"), REDIS_REPLY_NIL, "GET after expiry"));
}

static void scans(redisContext* c) {
  expect_text(redisCommand(c, "FLUSHDB"), REDIS_REPLY_STATUS, "OK", "FLUSHDB");
  for (int i = 0; i < 500; ++i)
    expect_text(redisCommand(c, "SET stay:%d x", i), REDIS_REPLY_STATUS, "OK", "SET");
  size_t seen = 0;
  char cursor[32] = "0";
  do {
    redisReply* page =
        expect(redisCommand(c, "SCAN %s MATCH stay:* COUNT 7", cursor), REDIS_REPLY_ARRAY, "SCAN");
    snprintf(cursor, sizeof cursor, "%s", page->element[0]->str);
    seen += page->element[1]->elements;
    freeReplyObject(page);
    expect_text(redisCommand(c, "SET come:%s x", cursor), REDIS_REPLY_STATUS, "OK", "SET during a SCAN");
  } while (strcmp(cursor, "0") != 0);
  check(seen == 500, "SCAN shows each key that stays once");
}

int main(void) {
  redisContext* c = connect_to_server();
  redisContext* other = connect_to_server();
  redisContext* listener = connect_to_server();
  strings(c);
  pipelines(c);
  transactions(c, other);
  lifetimes(c, listener);
  scans(c);
  redisFree(c);
  redisFree(other);
  redisFree(listener);
  puts("hiredis: all is as it should be");
  return 0;
}
