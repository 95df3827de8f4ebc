#include "server/cluster_info.hpp"

#include "server/answer.hpp"

#include <gmock/gmock.h>

namespace dw::server {
namespace {

const Value& info() {
  static const Value told = cluster_info({"host-1", "0.1.0", "default", 2'097'152});
  return told;
}

TEST(ClusterInfo, HasEveryPartThatTheProtocolNames) {
  for (const auto key : {"server_id",
                         "version",
                         "default_namespace",
                         "supported_sdk_versions",
                         "capabilities",
                         "worker_fleet",
                         "task_repair",
                         "limits",
                         "structural_limits",
                         "topology",
                         "coordination_health",
                         "client_compatibility",
                         "surface_stability_contract",
                         "platform_protocol_specs",
                         "platform_conformance_suite",
                         "sdk_neutrality_contract",
                         "auth_composition_contract",
                         "control_plane",
                         "worker_protocol",
                         "bridge_adapter_outcome_contract",
                         "replay_verification_contract"}) {
    EXPECT_NE(info().find(key), nullptr) << key;
  }
}

TEST(ClusterInfo, TellsTheLimitsThatCommandsMeet) {
  const Value& limits = *info().find("structural_limits");
  EXPECT_EQ(*limits.find("pending_signal_count"), Value{5000});
  EXPECT_EQ(*limits.find("payload_size_bytes"), Value{2'097'152});
  EXPECT_EQ(*info().find("limits")->find("max_memo_bytes"), Value{262'144});
}

TEST(ClusterInfo, NamesNoCodingsWhereNothingIsCompressed) {
  About about{"host-1", "0.1.0", "default", 2'097'152};
  const auto codings = [&] {
    const Value told = cluster_info(about);
    const Value& workers = *told.find("worker_protocol")->find("server_capabilities");
    EXPECT_EQ(to_json(workers), worker_capabilities(about.compression)) << "told twice, alike";
    EXPECT_EQ(*told.find("capabilities")->find("response_compression"),
              *workers.find("response_compression"));
    return to_json(*workers.find("response_compression"));
  };
  EXPECT_EQ(codings(), R"(["gzip","deflate"])");
  about.compression = false;
  EXPECT_EQ(codings(), "[]");
}

}  // namespace
}  // namespace dw::server
