// redis (node-redis), by its public interface, in RESP2 and in RESP3.

const assert = require("node:assert/strict");
const { test, before, after, beforeEach, describe } = require("node:test");
const { createClient, WatchError } = require("redis");
const { port, listenForExpiry } = require("./support");

const connect = (RESP) => createClient({ socket: { host: "127.0.0.1", port }, RESP }).connect();

for (const RESP of [2, 3]) {
  describe(`RESP${RESP}`, () => {
    let client, other, expiry;
    before(async () => {
      client = await connect(RESP);
      other = await connect(RESP);
      expiry = await listenForExpiry();
    });
    beforeEach(() => client.flushAll());
    after(() => {
      expiry.close();
      client.destroy();
      other.destroy();
    });

    test("a session slides while it is used and dies when it is not", async () => {
      const key = `session:${RESP}`;
      await client.set(key, "ada", { EX: 30 });
      await client.expire(key, 1800);
      assert.ok((await client.ttl(key)) > 30);
      assert.equal(await client.getEx(key, { type: "PX", value: 100 }), "ada");
      await expiry.of(key);
      assert.equal(await client.get(key), null);
      assert.equal(await client.ttl(key), -2);
    });

    test("conditions and lifetimes of SET", async () => {
      assert.equal(await client.set("k", "1", { NX: true }), "OK");
      assert.equal(await client.set("k", "2", { NX: true }), null);
      assert.equal(await client.set("k", "3", { XX: true, GET: true, EX: 100 }), "1");
      await client.set("k", "4", { KEEPTTL: true });
      assert.ok((await client.ttl("k")) > 0);
      assert.equal(await client.getDel("k"), "4");
    });

    test("commands sent together", async () => {
      await Promise.all(Array.from({ length: 2000 }, () => client.incr("counter")));
      assert.equal(await client.get("counter"), "2000");
    });

    test("MULTI, and a WATCH that is broken", async () => {
      assert.deepEqual(await client.multi().set("a", "1").incrBy("a", 41).get("a").exec(), ["OK", 42, "42"]);
      await client.watch("a");
      await other.set("a", "changed");
      await assert.rejects(client.multi().set("a", "mine").exec(), WatchError);
      assert.equal(await client.get("a"), "changed");
    });

    test("publish and subscribe", async (t) => {
      const subscriber = await connect(RESP);
      t.after(() => subscriber.destroy());
      const heard = new Promise((resolve) => {
        subscriber
          .subscribe("news", (message, channel) => resolve([channel, message]))
          .then(() => client.publish("news", "first"));
      });
      assert.deepEqual(await heard, ["news", "first"]);
      const matched = new Promise((resolve) => {
        subscriber
          .pSubscribe("w*", (message, channel) => resolve([channel, message]))
          .then(() => client.publish("weather", "rain"));
      });
      assert.deepEqual(await matched, ["weather", "rain"]);
    });

    test("the expired event of a key", async (t) => {
      const subscriber = await connect(RESP);
      t.after(() => subscriber.destroy());
      let told;
      const gone = new Promise((resolve) => (told = resolve));
      await subscriber.subscribe("__keyspace@0__:code", (event) => event === "expired" && told());
      await client.set("code", "1234", { PX: 50 });
      await gone;
      assert.equal(await client.exists("code"), 0);
    });

    test("a scan shows what stays, whatever is written meanwhile", async () => {
      await client.mSet(Array.from({ length: 500 }, (_, i) => [`stay:${i}`, `${i}`]));
      const seen = [];
      for await (const keys of client.scanIterator({ MATCH: "stay:*", COUNT: 13 })) {
        seen.push(...keys);
        await other.set(`come:${seen.length}`, "x");
      }
      assert.equal(seen.length, 500);
      assert.equal(new Set(seen).size, 500);
    });

    test("a large value", async () => {
      const large = "x".repeat(8 << 20);
      await client.set("large", large);
      assert.equal(await client.get("large"), large);
      assert.equal(await client.strLen("large"), large.length);
    });

    test("maps are maps in RESP3 and arrays in RESP2", async () => {
      const purged = await client.sendCommand(["PURGE"]);
      if (RESP === 2) assert.deepEqual(purged, ["removed", 0, "more-due", 0]);
      else assert.deepEqual({ ...purged }, { removed: 0, "more-due": false });
    });
  });
}
