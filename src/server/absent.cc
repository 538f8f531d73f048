#include "server/absent.h"

#include <algorithm>
#include <array>
#include <span>

#include "server/text.h"

namespace lapse::server {

namespace {

constexpr auto kLists = std::to_array<std::string_view>(
    {"blmove", "blmpop", "blpop", "brpop",     "brpoplpush", "lindex", "linsert", "llen",
     "lmove",  "lmpop",  "lpop",  "lpos",      "lpush",      "lpushx", "lrange",  "lrem",
     "lset",   "ltrim",  "rpop",  "rpoplpush", "rpush",      "rpushx", "sort",    "sort_ro"});
constexpr auto kHashes = std::to_array<std::string_view>(
    {"hdel",    "hexists",  "hexpire",  "hexpireat",    "hexpiretime",  "hget",  "hgetall",
     "hgetdel", "hgetex",   "hincrby",  "hincrbyfloat", "hkeys",        "hlen",  "hmget",
     "hmset",   "hpersist", "hpexpire", "hpexpireat",   "hpexpiretime", "hpttl", "hrandfield",
     "hscan",   "hset",     "hsetex",   "hsetnx",       "hstrlen",      "httl",  "hvals"});
constexpr auto kSets = std::to_array<std::string_view>(
    {"sadd", "scard", "sdiff", "sdiffstore", "sinter", "sintercard", "sinterstore", "sismember", "smembers",
     "smismember", "smove", "spop", "srandmember", "srem", "sscan", "sunion", "sunionstore"});
constexpr auto kSortedSets =
    std::to_array<std::string_view>({"bzmpop",         "bzpopmax",        "bzpopmin",
                                     "zadd",           "zcard",           "zcount",
                                     "zdiff",          "zdiffstore",      "zincrby",
                                     "zinter",         "zintercard",      "zinterstore",
                                     "zlexcount",      "zmpop",           "zmscore",
                                     "zpopmax",        "zpopmin",         "zrandmember",
                                     "zrange",         "zrangebylex",     "zrangebyscore",
                                     "zrangestore",    "zrank",           "zrem",
                                     "zremrangebylex", "zremrangebyrank", "zremrangebyscore",
                                     "zrevrange",      "zrevrangebylex",  "zrevrangebyscore",
                                     "zrevrank",       "zscan",           "zscore",
                                     "zunion",         "zunionstore"});
constexpr auto kStreams = std::to_array<std::string_view>(
    {"xack", "xackdel", "xadd", "xautoclaim", "xclaim", "xdel", "xdelex", "xgroup", "xinfo", "xlen",
     "xpending", "xrange", "xread", "xreadgroup", "xrevrange", "xsetid", "xtrim"});
constexpr auto kGeo = std::to_array<std::string_view>(
    {"geoadd", "geodist", "geohash", "geopos", "georadius", "georadius_ro", "georadiusbymember",
     "georadiusbymember_ro", "geosearch", "geosearchstore"});
constexpr auto kHyperLogLogs =
    std::to_array<std::string_view>({"pfadd", "pfcount", "pfdebug", "pfmerge", "pfselftest"});
constexpr auto kVectorSets =
    std::to_array<std::string_view>({"vadd", "vcard", "vdim", "vemb", "vgetattr", "vinfo", "vismember",
                                     "vlinks", "vrandmember", "vrange", "vrem", "vsetattr", "vsim"});
constexpr auto kBitFields = std::to_array<std::string_view>({"bitfield", "bitfield_ro", "bitop"});
constexpr auto kScripts = std::to_array<std::string_view>(
    {"eval", "eval_ro", "evalsha", "evalsha_ro", "fcall", "fcall_ro", "function", "script"});
constexpr auto kCluster =
    std::to_array<std::string_view>({"asking", "cluster", "readonly", "readwrite", "restore-asking"});
constexpr auto kMigration = std::to_array<std::string_view>({"migrate"});
constexpr auto kShards = std::to_array<std::string_view>({"spublish", "ssubscribe", "sunsubscribe"});
constexpr auto kReplication =
    std::to_array<std::string_view>({"failover", "psync", "replconf", "replicaof", "slaveof", "sync"});
constexpr auto kModules = std::to_array<std::string_view>({"module"});
constexpr auto kRewriting = std::to_array<std::string_view>({"bgrewriteaof"});
constexpr auto kWaiting = std::to_array<std::string_view>({"waitaof"});

struct Absent {
  std::span<const std::string_view> commands;
  std::string_view why;
  bool is_redis_error = false;  // what a Redis says that has been told to do without: clients know it
};

constexpr auto kAbsent = std::to_array<Absent>({
    {kLists, "Lapse has no lists, only strings"},
    {kHashes, "Lapse has no hashes, only strings"},
    {kSets, "Lapse has no sets, only strings"},
    {kSortedSets, "Lapse has no sorted sets, only strings"},
    {kStreams, "Lapse has no streams, only strings"},
    {kGeo, "Lapse has no geographic indexes, only strings"},
    {kHyperLogLogs, "Lapse has no HyperLogLogs, only strings"},
    {kVectorSets, "Lapse has no vector sets, only strings"},
    {kBitFields, "Lapse has single bits only: SETBIT, GETBIT, BITCOUNT, BITPOS"},
    {kScripts, "Lapse has no scripts"},
    {kCluster, "This instance has cluster support disabled", true},
    {kMigration, "Lapse moves no keys between servers; DUMP and RESTORE do"},
    {kShards, "Lapse has no shards; SUBSCRIBE and PUBLISH do the same"},
    {kReplication, "Lapse has no replication"},
    {kModules, "Lapse has no modules"},
    {kRewriting, "Lapse has no append-only file; SAVE brings its journal into the tree"},
    {kWaiting, "Lapse has no append-only file; at durability full, what has been answered is on disk"},
});

}  // namespace

std::string error_of_absent(std::string_view command) {
  const auto is_it = [&](std::string_view name) { return same_word(name, command); };
  for (const Absent& absent : kAbsent) {
    if (!std::any_of(absent.commands.begin(), absent.commands.end(), is_it)) continue;
    const std::string subject =
        absent.is_redis_error ? "" : "unknown command '" + std::string(command) + "': ";
    return "ERR " + subject + std::string(absent.why);
  }
  return {};
}

}  // namespace lapse::server
