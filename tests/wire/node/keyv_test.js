// Keyv with @keyv/redis: a cache with lifetimes and namespaces.

const assert = require("node:assert/strict");
const { test, before, after } = require("node:test");
const { Keyv } = require("keyv");
const { default: KeyvRedis } = require("@keyv/redis");
const { port, listenForExpiry } = require("./support");

const url = `redis://127.0.0.1:${port}`;
let expiry;
before(async () => {
  expiry = await listenForExpiry();
});
after(() => expiry.close());

function openCache(t, namespace) {
  const cache = new Keyv(new KeyvRedis(url), { namespace });
  cache.on("error", (error) => {
    throw error;
  });
  t.after(() => cache.disconnect());
  return cache;
}

test("values come back as they were, until they expire", async (t) => {
  const cache = openCache(t, "pages");
  await cache.set("front", { title: "Lapse", tags: ["time", "keys"] });
  assert.deepEqual(await cache.get("front"), { title: "Lapse", tags: ["time", "keys"] });
  await cache.set("flash", "soon gone", 200);
  // @keyv/redis has its namespace in the key; whichever way it writes that, the event has the same key.
  const key = (await cache.store.client.keys("*flash"))[0];
  if (key !== undefined) await expiry.of(key);
  assert.equal(await cache.get("flash"), undefined);
  assert.deepEqual(await cache.get("front"), { title: "Lapse", tags: ["time", "keys"] });
});

test("namespaces are apart, and cleared apart", async (t) => {
  const mine = openCache(t, "mine");
  const yours = openCache(t, "yours");
  await Promise.all([mine.set("k", 1), yours.set("k", 2)]);
  assert.deepEqual([await mine.get("k"), await yours.get("k")], [1, 2]);
  await mine.clear();
  assert.deepEqual([await mine.get("k"), await yours.get("k")], [undefined, 2]);
});

test("many at once, and deletes", async (t) => {
  const cache = openCache(t, "many");
  await cache.setMany(Array.from({ length: 100 }, (_, i) => ({ key: `k${i}`, value: i, ttl: 60_000 })));
  assert.deepEqual(await cache.getMany(["k0", "k99", "k100"]), [0, 99, undefined]);
  assert.equal(await cache.has("k5"), true);
  assert.equal(await cache.delete("k5"), true);
  assert.equal(await cache.has("k5"), false);
  const keys = [];
  for await (const [key] of cache.store.iterator("many")) keys.push(key);
  assert.equal(keys.length, 99);
});
