// COMMAND, as clients read it; and what there is no command for.

#include "server/command_table.h"
#include "test_server.h"

namespace lapse::server {
namespace {

class CommandCommands : public testing::Test {
 protected:
  TestServer server_;
  TestClient client_{server_};
};

TEST_F(CommandCommands, InfoHasTenThings) {
  const resp::Reply get = client_.ask({"COMMAND", "INFO", "get"}).elements[0];
  const std::vector<std::string> expected = {
      "\"get\"",
      "(integer) 2",
      "1) readonly\n2) fast",
      "(integer) 1",
      "(integer) 1",
      "(integer) 1",
      "1) @read\n2) @string\n3) @fast",
      "(empty array)",
      "1) 1) \"flags\"\n   2) 1) RO\n      2) access\n   3) \"begin_search\"\n   4) 1) \"type\"\n      2) "
      "\"index\"\n"
      "      3) \"spec\"\n      4) 1) \"index\"\n         2) (integer) 1\n   5) \"find_keys\"\n   6) 1) "
      "\"type\"\n"
      "      2) \"range\"\n      3) \"spec\"\n      4) 1) \"lastkey\"\n         2) (integer) 0\n"
      "         3) \"keystep\"\n         4) (integer) 1\n         5) \"limit\"\n         6) (integer) 0",
      "(empty array)"};
  ASSERT_EQ(expected.size(), get.elements.size());
  for (size_t i = 0; i < expected.size(); ++i) EXPECT_EQ(expected[i], resp::describe(get.elements[i]));
}

TEST_F(CommandCommands, InfoKnowsSubcommandsAndSaysNilOfOthers) {
  const resp::Reply reply = client_.ask({"COMMAND", "INFO", "client|id", "nosuch", "client", "lpush"});
  ASSERT_EQ(4U, reply.elements.size());
  EXPECT_EQ("client|id", reply.elements[0].elements[0].text);
  EXPECT_EQ(resp::Reply::Type::kNull, reply.elements[1].type);
  EXPECT_EQ(find_command("client")->subcommands.size(), reply.elements[2].elements[9].elements.size());
  EXPECT_EQ(resp::Reply::Type::kNull, reply.elements[3].type);
  client_.send("COMMAND INFO nosuch\r\n");
  EXPECT_EQ("*1\r\n$-1\r\n", client_.received_bytes());
}

TEST_F(CommandCommands, InfoTellsWhatIsDoneToEachKey) {
  const resp::Reply reply = client_.ask({"COMMAND", "INFO", "del", "rename", "mset", "set"});
  const auto specs = [&](size_t i) { return reply.elements[i].elements[8].elements; };
  const auto flags = [](const resp::Reply& spec) { return resp::describe(spec.elements[1]); };
  ASSERT_EQ(1U, specs(0).size());
  EXPECT_EQ("1) RM\n2) delete", flags(specs(0)[0]));
  ASSERT_EQ(2U, specs(1).size());
  EXPECT_EQ("1) RW\n2) access\n3) delete", flags(specs(1)[0]));
  EXPECT_EQ("1) OW\n2) update", flags(specs(1)[1]));
  ASSERT_EQ(1U, specs(2).size());
  EXPECT_EQ("1) OW\n2) update", flags(specs(2)[0]));
  ASSERT_EQ(1U, specs(3).size());
  EXPECT_EQ("1) RW\n2) access\n3) update\n4) variable_flags", flags(specs(3)[0])) << "it may have GET";
}

TEST_F(CommandCommands, DangerousOnesAreOfThatCategory) {
  const std::string dangerous = client_("COMMAND LIST FILTERBY ACLCAT dangerous");
  for (const char* name : {"flushall", "flushdb", "keys", "swapdb", "restore", "debug", "shutdown"})
    EXPECT_NE(std::string::npos, dangerous.find("\"" + std::string(name) + "\"")) << name;
}

TEST_F(CommandCommands, PlainIsInfoOfAll) {
  const resp::Reply all = client_.ask({"COMMAND"});
  EXPECT_EQ(all_commands().size(), all.elements.size());
  EXPECT_EQ(all, client_.ask({"COMMAND", "INFO"}));
  EXPECT_EQ("(integer) " + std::to_string(all.elements.size()), client_("COMMAND COUNT"));
  for (const resp::Reply& command : all.elements) EXPECT_EQ(10U, command.elements.size());
}

TEST_F(CommandCommands, EveryRowIsInOrder) {
  const auto check = [](const Command& command) {
    EXPECT_FALSE(command.summary.empty()) << command.name;
    EXPECT_TRUE(command.summary.ends_with('.')) << command.name;
    EXPECT_FALSE(command.group.empty() || command.since.empty()) << command.name;
    EXPECT_NE(0, command.arity) << command.name;
    EXPECT_TRUE(command.run != nullptr || !command.subcommands.empty()) << command.name;
    EXPECT_TRUE(command.keys.first == 0 || command.keys.step > 0) << command.name;
  };
  for (const Command* command : all_commands()) {
    check(*command);
    EXPECT_EQ(command, find_command(command->name)) << "twice: " << command->name;
    for (const Command& subcommand : command->subcommands) {
      check(subcommand);
      EXPECT_TRUE(subcommand.name.starts_with(std::string(command->name) + "|")) << subcommand.name;
    }
  }
}

TEST_F(CommandCommands, DocsHasSummaries) {
  const resp::Reply docs = client_.ask({"COMMAND", "DOCS", "get", "nosuch", "client"});
  ASSERT_EQ(4U, docs.elements.size());
  EXPECT_EQ("get", docs.elements[0].text);
  EXPECT_EQ("summary", docs.elements[1].elements[0].text);
  EXPECT_EQ("since", docs.elements[1].elements[2].text);
  EXPECT_EQ("group", docs.elements[1].elements[4].text);
  EXPECT_EQ("subcommands", docs.elements[3].elements[6].text);
  EXPECT_EQ(2 * all_commands().size(), client_.ask({"COMMAND", "DOCS"}).elements.size());
  client_.ask({"HELLO", "3"});
  EXPECT_EQ(resp::Reply::Type::kMap, client_.ask({"COMMAND", "DOCS", "get"}).type);
  const resp::Reply info = client_.ask({"COMMAND", "INFO", "get", "client"});
  for (const size_t i : {2U, 6U, 7U, 8U, 9U})
    EXPECT_EQ(resp::Reply::Type::kSet, info.elements[0].elements[i].type) << i;
  EXPECT_EQ(resp::Reply::Type::kArray, info.elements[1].elements[9].type);
}

TEST_F(CommandCommands, ListFilters) {
  const std::vector<resp::Reply> of_client =
      client_.ask({"COMMAND", "LIST", "FILTERBY", "PATTERN", "client*"}).elements;
  ASSERT_EQ(1 + find_command("client")->subcommands.size(), of_client.size());
  EXPECT_EQ("client", of_client[0].text);
  EXPECT_EQ("client|getname", of_client[1].text);
  EXPECT_EQ("1) \"client|id\"", client_("COMMAND LIST FILTERBY PATTERN client|id"));
  EXPECT_EQ("(empty array)", client_("COMMAND LIST FILTERBY MODULE json"));
  EXPECT_EQ("(empty array)", client_("COMMAND LIST FILTERBY ACLCAT nosuch"));
  EXPECT_NE(std::string::npos, client_("COMMAND LIST FILTERBY ACLCAT string").find("\"get\""));
  EXPECT_GT(client_.ask({"COMMAND", "LIST"}).elements.size(), all_commands().size());
  EXPECT_EQ("(error) ERR syntax error", client_("COMMAND LIST FILTERBY"));
  EXPECT_EQ("(error) ERR syntax error", client_("COMMAND LIST FILTERBY x y"));
}

TEST_F(CommandCommands, GetkeysFindsTheKeysOfACall) {
  EXPECT_EQ("1) \"a\"", client_("COMMAND GETKEYS SET a b"));
  EXPECT_EQ("1) \"a\"\n2) \"c\"", client_("COMMAND GETKEYS MSET a b c d"));
  EXPECT_EQ("1) \"a\"\n2) \"b\"", client_("COMMAND GETKEYS MGET a b"));
  EXPECT_EQ("1) \"a\"\n2) \"c\"", client_("COMMAND GETKEYS MSETEX 2 a b c d EX 10"));
  EXPECT_EQ("(error) ERR Invalid arguments specified for command", client_("COMMAND GETKEYS MSETEX x a b"));
  EXPECT_EQ("1) 1) \"a\"\n   2) 1) RO\n      2) access", client_("COMMAND GETKEYSANDFLAGS GET a"));
  EXPECT_EQ("1) 1) \"a\"\n   2) 1) OW\n      2) update", client_("COMMAND GETKEYSANDFLAGS SET a b"));
  EXPECT_EQ("1) 1) \"a\"\n   2) 1) RW\n      2) access\n      3) update",
            client_("COMMAND GETKEYSANDFLAGS SET a b GET"));
  EXPECT_EQ("1) 1) \"a\"\n   2) 1) RM\n      2) delete", client_("COMMAND GETKEYSANDFLAGS DEL a"));
  EXPECT_EQ("1) 1) \"a\"\n   2) 1) RO\n      2) access\n2) 1) \"b\"\n   2) 1) OW\n      2) update",
            client_("COMMAND GETKEYSANDFLAGS COPY a b"));
  EXPECT_EQ("(error) ERR The command has no key arguments", client_("COMMAND GETKEYS PING"));
  EXPECT_EQ("(error) ERR Invalid command specified", client_("COMMAND GETKEYS nosuch"));
  EXPECT_EQ("(error) ERR Invalid number of arguments specified for command",
            client_("COMMAND GETKEYS SET a"));
  EXPECT_EQ("(error) ERR wrong number of arguments for 'command|getkeys' command",
            client_("COMMAND GETKEYS"));
  EXPECT_EQ("COMMAND <subcommand> [<arg> [value] [opt] ...]. Subcommands are:",
            client_.ask({"COMMAND", "HELP"}).elements[0].text);
}

TEST_F(CommandCommands, WhatThereIsNotSaysWhy) {
  EXPECT_EQ("(error) ERR unknown command 'LPUSH': Lapse has no lists, only strings", client_("LPUSH list a"));
  EXPECT_EQ("(error) ERR unknown command 'hset': Lapse has no hashes, only strings",
            client_("hset hash f v"));
  EXPECT_EQ("(error) ERR unknown command 'EVAL': Lapse has no scripts", client_("EVAL x 0"));
  EXPECT_EQ("(error) ERR This instance has cluster support disabled", client_("CLUSTER INFO"));
  EXPECT_EQ("(error) ERR unknown command 'REPLICAOF': Lapse has no replication", client_("REPLICAOF no one"));
  EXPECT_EQ("(error) ERR unknown command 'nosuch', with args beginning with: 'a' 'b' ",
            client_("nosuch a b"));
}

TEST_F(CommandCommands, WhatThereIsNotSpoilsATransaction) {
  EXPECT_EQ("OK", client_("MULTI"));
  EXPECT_TRUE(client_("SADD set a").starts_with("(error) ERR unknown command 'SADD'"));
  EXPECT_EQ("(error) EXECABORT Transaction discarded because of previous errors.", client_("EXEC"));
}

}  // namespace
}  // namespace lapse::server
