// ioredis, by its public interface.

const assert = require("node:assert/strict");
const { test, before, after, beforeEach } = require("node:test");
const { Redis } = require("ioredis");
const { port, listenForExpiry } = require("./support");

let client, other, expiry;

// A client that a test has for itself.
function connectFor(t, options) {
  const own = new Redis({ port, host: "127.0.0.1", ...options });
  t.after(() => own.disconnect());
  return own;
}

before(async () => {
  client = new Redis(port, "127.0.0.1");
  other = new Redis(port, "127.0.0.1");
  expiry = await listenForExpiry();
});
beforeEach(() => client.flushall());
after(() => {
  expiry.close();
  client.disconnect();
  other.disconnect();
});

test("a session slides while it is used and dies when it is not", async () => {
  await client.set("session:42", "ada", "EX", 30);
  assert.equal(await client.expire("session:42", 1800), 1);
  assert.ok((await client.ttl("session:42")) > 30);
  assert.equal(await client.getex("session:42", "PX", 100), "ada");
  await expiry.of("session:42");
  assert.equal(await client.get("session:42"), null);
});

test("a cache: what has no lifetime stays", async () => {
  await client.set("page", "html", "EX", 100);
  await client.set("page", "html 2");
  assert.equal(await client.ttl("page"), -1);
  await client.set("page", "html 3", "PX", 60_000, "GET").then((before) => assert.equal(before, "html 2"));
  await client.set("page", "html 4", "KEEPTTL");
  assert.ok((await client.pttl("page")) > 0);
});

test("a pipeline", async () => {
  const pipeline = client.pipeline();
  for (let i = 0; i < 5000; ++i) pipeline.incr("counter");
  const replies = await pipeline.exec();
  assert.deepEqual(replies[4999], [null, 5000]);
});

test("commands pipelined by themselves", async (t) => {
  const automatic = connectFor(t, { enableAutoPipelining: true });
  const values = await Promise.all(Array.from({ length: 500 }, (_, i) => automatic.set(`k${i}`, i)));
  assert.ok(values.every((value) => value === "OK"));
  assert.equal(await automatic.dbsize(), 500);
});

test("WATCH: a conflict, and the next attempt", async () => {
  await client.set("stock", 10);
  await client.watch("stock");
  await other.decr("stock");
  assert.equal(await client.multi().set("stock", 9).exec(), null);
  assert.deepEqual(await client.multi().decr("stock").get("stock").exec(), [
    [null, 8],
    [null, "8"],
  ]);
});

test("an error within MULTI stays with its command", async () => {
  const replies = await client.multi().set("text", "x").incr("text").get("text").exec();
  assert.equal(replies[0][1], "OK");
  assert.match(replies[1][0].message, /not an integer/);
  assert.equal(replies[2][1], "x");
});

test("publish and subscribe", async (t) => {
  const subscriber = connectFor(t);
  const heard = new Promise((resolve) => {
    const messages = [];
    const add = (message) => messages.push(message) === 2 && resolve(messages);
    subscriber.on("message", (channel, text) => add([channel, text]));
    subscriber.on("pmessage", (pattern, channel, text) => add([pattern, channel, text]));
  });
  await subscriber.subscribe("news");
  await subscriber.psubscribe("w*");
  await client.publish("news", "first");
  await client.publish("weather", "rain");
  assert.deepEqual(await heard, [
    ["news", "first"],
    ["w*", "weather", "rain"],
  ]);
});

test("a scan shows what stays, whatever is written meanwhile", async () => {
  await client.mset(Object.fromEntries(Array.from({ length: 500 }, (_, i) => [`stay:${i}`, i])));
  const seen = [];
  let round = 0;
  for await (const keys of client.scanStream({ match: "stay:*", count: 13 })) {
    seen.push(...keys);
    await other.set(`come:${++round}`, "x");
    await other.set(`a-come:${round}`, "x");
  }
  assert.equal(seen.length, 500);
  assert.equal(new Set(seen).size, 500);
});

test("large and binary values", async () => {
  const large = Buffer.alloc(16 << 20, "\x00\xff\r\n", "latin1");
  await client.set("large", large);
  assert.ok(large.equals(await client.getBuffer("large")));
});

test("databases, and families by name", async (t) => {
  const third = connectFor(t, { db: 3 });
  await third.set("k", "three");
  assert.equal(await client.get("k"), null);
  await third.call("FAMILY", "CREATE", "docs", "history-keep-last", "3");
  await third.call("SELECT", "docs");
  await third.set("motto", "first");
  await third.set("motto", "second");
  const history = await third.call("HISTORY", "motto");
  assert.deepEqual(
    history.map((entry) => entry[1]),
    ["second", "first"],
  );
  await third.call("FAMILY", "DROP", "docs");
});
