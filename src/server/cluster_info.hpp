// What a client reads before it asks for anything: which contracts this server keeps.
#pragma once
#include <dw/value.hpp>

#include <string>

namespace dw::server {

struct About {
  std::string server_id;
  std::string version;
  std::string default_namespace;
  std::int64_t max_payload_bytes = 0;
  bool compression = true;  // long answers are compressed for clients that ask for it
};

Value cluster_info(const About& about);

// What workers may count on, as JSON: it comes with every answer they get.
const std::string& worker_capabilities(bool compression);

}  // namespace dw::server
