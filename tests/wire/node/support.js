// What the tests of every client from npm share: where the server is, and news of keys that expired.

const net = require("node:net");

const port = Number(process.env.LAPSE_PORT);
if (!port) throw new Error("LAPSE_PORT is not set: run these tests by tests/wire/with_server.py");

// Resolves when the server has told that a key expired which the predicate accepts. It listens on a connection of its
// own, with no client library, from before listen() resolves.
async function listenForExpiry() {
  const socket = net.connect(port, "127.0.0.1");
  let heard = "";
  let look = () => {};
  socket.setEncoding("latin1");
  socket.on("data", (chunk) => {
    heard += chunk;
    look();
  });
  const until = (test) =>
    new Promise((resolve) => {
      look = () => {
        const found = test();
        if (found) resolve(found);
      };
      look();
    });
  socket.write("CONFIG SET notify-keyspace-events KEA\r\nPSUBSCRIBE __keyevent@*__:expired\r\n");
  await until(() => heard.includes("psubscribe"));
  return {
    // The key ends its message, as a bulk string.
    of: (key) => until(() => heard.includes(`\r\n${key}\r\n`)),
    close: () => socket.destroy(),
  };
}

module.exports = { port, listenForExpiry };
