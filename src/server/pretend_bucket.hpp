// A bucket in this process, for tests of what talks to S3. It takes nothing whose signature it
// cannot make itself, from the secret and from what arrived.
#pragma once
#include "core/sha256.hpp"
#include "server/http_server.hpp"
#include "server/storage_drivers.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <map>
#include <mutex>
#include <regex>
#include <sstream>

namespace dw::server {

class PretendBucket final : public Handler {
 public:
  static constexpr std::string_view secret = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY";

  PretendBucket() { port_ = server_.start().value(); }
  ~PretendBucket() override { server_.stop({}); }

  std::string endpoint() const { return fmt::format("http://127.0.0.1:{}", port_); }
  S3Place place() const {
    return {.bucket = "payloads",
            .prefix = "billing",
            .region = "eu-central-1",
            .endpoint = endpoint(),
            .credentials = {"AKIDEXAMPLE", std::string{secret}}};
  }

  std::map<std::string, std::string> objects() {
    const std::lock_guard lock{mutex_};
    return objects_;
  }
  void change(const std::string& path, std::string bytes) {
    const std::lock_guard lock{mutex_};
    objects_[path] = std::move(bytes);
  }
  // What the next requests are answered with, instead of what they ask for.
  void refuse_with(int status, std::string body) {
    const std::lock_guard lock{mutex_};
    refusal_ = Response{status, {}, std::move(body)};
  }
  // Requests are heard and never answered.
  void fall_silent() {
    const std::lock_guard lock{mutex_};
    silent_ = true;
  }
  std::vector<Request> heard() {
    const std::lock_guard lock{mutex_};
    return heard_;
  }

  void handle(Request request, Respond respond) override {
    const std::lock_guard lock{mutex_};
    heard_.push_back(request);
    if (silent_) return unanswered_.push_back(std::move(respond));
    if (refusal_) return respond(*refusal_);
    if (!is_signed(request)) return respond(no(403, "SignatureDoesNotMatch"));
    respond(answer(request));
  }

 private:
  static Response no(int status, std::string_view code) {
    return {status, {}, fmt::format("<Error><Code>{}</Code></Error>", code)};
  }

  Response answer(const Request& request) {
    if (request.method == "PUT") {
      objects_[request.target] = request.body;
      return {200, {}, ""};
    }
    if (request.method == "DELETE") {
      objects_.erase(request.target);
      return {204, {}, ""};
    }
    const auto found = objects_.find(request.target);
    return found == objects_.end() ? no(404, "NoSuchKey") : Response{200, {}, found->second};
  }

  static std::string keyed(std::string_view key, std::string_view text) {
    unsigned char digest[EVP_MAX_MD_SIZE];
    unsigned int size = 0;
    HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()),
         reinterpret_cast<const unsigned char*>(text.data()), text.size(), digest, &size);
    return {reinterpret_cast<const char*>(digest), size};
  }

  static bool is_signed(const Request& request) {
    static const std::regex form{
        "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/([0-9]{8})/eu-central-1/s3/aws4_request, "
        "SignedHeaders=([a-z0-9;-]+), Signature=([0-9a-f]{64})"};
    const std::string given{request.header("Authorization")};
    std::smatch part;
    if (!std::regex_match(given, part, form)) return false;
    const auto content = sha256_hex(request.body);
    if (request.header("x-amz-content-sha256") != content) return false;
    const std::string day = part[1], names = part[2];
    std::string canonical = fmt::format("{}\n{}\n\n", request.method, request.target);
    std::istringstream each{names};
    for (std::string name; std::getline(each, name, ';');) {
      canonical += fmt::format("{}:{}\n", name, request.header(name));
    }
    canonical += fmt::format("\n{}\n{}", names, content);
    const auto scope = day + "/eu-central-1/s3/aws4_request";
    const auto text = fmt::format("AWS4-HMAC-SHA256\n{}\n{}\n{}", request.header("x-amz-date"),
                                  scope, sha256_hex(canonical));
    std::string key = keyed("AWS4" + std::string{secret}, day);
    for (const auto* step : {"eu-central-1", "s3", "aws4_request"}) key = keyed(key, step);
    return hmac_sha256_hex(key, text) == part[3];
  }

  std::mutex mutex_;
  std::map<std::string, std::string> objects_;  // by path; guarded by mutex_, like all below
  std::optional<Response> refusal_;
  bool silent_ = false;
  std::vector<Respond> unanswered_;
  std::vector<Request> heard_;
  HttpServer server_{{.max_body_bytes = 32 * 1024 * 1024}, *this};
  unsigned short port_ = 0;
};

}  // namespace dw::server
