// Sessions of a web application: express-session with connect-redis, over HTTP.

const assert = require("node:assert/strict");
const { test, before, after } = require("node:test");
const express = require("express");
const session = require("express-session");
const { RedisStore } = require("connect-redis");
const { createClient } = require("redis");
const { port, listenForExpiry } = require("./support");

let client, expiry;
before(async () => {
  client = await createClient({ socket: { host: "127.0.0.1", port } }).connect();
  expiry = await listenForExpiry();
});
after(() => {
  expiry.close();
  client.destroy();
});

// An application that counts the visits of each session. `ask(path)` visits it with the cookie that it gave.
async function startApplication(t, cookie) {
  const application = express();
  const store = new RedisStore({ client, prefix: "app:" });
  application.use(session({ store, secret: "wire", resave: false, saveUninitialized: false, cookie }));
  application.get("/", (request, response) => {
    request.session.visits = (request.session.visits ?? 0) + 1;
    response.json({ id: request.sessionID, visits: request.session.visits });
  });
  application.get("/look", (request, response) => {
    response.json({ id: request.sessionID, visits: request.session.visits ?? 0 });
  });
  application.get("/logout", (request, response, next) => {
    request.session.destroy((error) => (error ? next(error) : response.json({})));
  });
  const server = await new Promise((resolve) => {
    const listening = application.listen(0, "127.0.0.1", () => resolve(listening));
  });
  t.after(() => (server.close(), server.closeAllConnections()));
  let sent = "";
  return {
    store,
    ask: async (path) => {
      const response = await fetch(`http://127.0.0.1:${server.address().port}${path}`, { headers: { cookie: sent } });
      const given = response.headers.get("set-cookie");
      if (given) sent = given.split(";")[0];
      return response.json();
    },
  };
}

test("a session lives over requests, and is gone after logout", async (t) => {
  const application = await startApplication(t, { maxAge: 3_600_000 });
  const first = await application.ask("/");
  assert.equal((await application.ask("/")).visits, 2);
  assert.ok((await client.ttl(`app:${first.id}`)) > 3_500);
  await application.ask("/logout");
  assert.equal(await client.exists(`app:${first.id}`), 0);
  assert.equal((await application.ask("/look")).visits, 0);
});

test("a session slides with each request", async (t) => {
  const application = await startApplication(t, { maxAge: 3_600_000 });
  const { id } = await application.ask("/");
  await client.expire(`app:${id}`, 60); // as if most of its time had passed
  assert.equal((await application.ask("/look")).visits, 1);
  assert.ok((await client.ttl(`app:${id}`)) > 3_500);
});

test("a session that is not used dies", async (t) => {
  const application = await startApplication(t, { maxAge: 3_600_000 });
  const { id } = await application.ask("/");
  await client.pExpire(`app:${id}`, 50);
  await expiry.of(`app:${id}`);
  const next = await application.ask("/");
  assert.notEqual(next.id, id);
  assert.equal(next.visits, 1);
});

test("the store lists, counts and clears its sessions", async (t) => {
  await client.flushAll();
  const application = await startApplication(t, { maxAge: 3_600_000 });
  await application.ask("/");
  const other = await startApplication(t, { maxAge: 3_600_000 });
  await other.ask("/");
  await client.set("not-a-session", "stays");
  const all = await application.store.all();
  assert.equal(all?.length ?? (await application.store.ids()).length, 2);
  assert.equal(await application.store.length(), 2);
  await application.store.clear();
  assert.equal(await application.store.length(), 0);
  assert.equal(await client.get("not-a-session"), "stays");
});
