#include "server/commands/scan_head.h"

#include "server/server.h"

namespace lapse::server {

std::string head_of_scan(Call& call, uint64_t cursor, const std::optional<std::string>& last, size_t keys) {
  ScanCursors& cursors = call.server.scan_cursors();
  cursors.supersede(cursor);
  const auto most = static_cast<size_t>(call.server.config().max_scan_cursors);
  const uint64_t next = last ? cursors.add(*last, most) : 0;
  std::string head;
  resp::ReplyWriter writer(&head, call.reply.protocol());
  writer.array(2);
  writer.bulk(std::to_string(next));
  writer.array(keys);
  return head;
}

}  // namespace lapse::server
