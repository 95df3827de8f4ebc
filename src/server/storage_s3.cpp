#include "core/sha256.hpp"
#include "server/storage_drivers.hpp"

#include <curl/curl.h>
#include <fmt/format.h>

#include <algorithm>

namespace dw::server {
namespace {

struct FreeEasy {
  void operator()(CURL* easy) const { curl_easy_cleanup(easy); }
};
struct FreeHeaders {
  void operator()(curl_slist* list) const { curl_slist_free_all(list); }
};
using Easy = std::unique_ptr<CURL, FreeEasy>;
using HeaderList = std::unique_ptr<curl_slist, FreeHeaders>;

struct S3Request {
  const char* method;
  std::string key;
  std::string_view body = {};
  bool has_body = false;
};

struct S3Answer {
  long status = 0;
  std::string body;
};

bool library_is_ready() {
  static const bool ready = curl_global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK;
  return ready;
}

std::size_t take_body(char* data, std::size_t size, std::size_t count, void* into) {
  auto& body = *static_cast<std::string*>(into);
  const std::size_t bytes = size * count;
  if (body.size() + bytes > largest_blob) return 0;  // which ends the transfer
  body.append(data, bytes);
  return bytes;
}

int ask_whether_given_up(void* given_up, curl_off_t, curl_off_t, curl_off_t, curl_off_t) {
  return (*static_cast<const std::function<bool()>*>(given_up))() ? 1 : 0;
}

bool add_header(HeaderList& list, const std::string& line) {
  curl_slist* longer = curl_slist_append(list.get(), line.c_str());
  if (!longer) return false;
  (void)list.release();  // it is the beginning of the longer one
  list.reset(longer);
  return true;
}

// "NoSuchBucket" of "<Error><Code>NoSuchBucket</Code>…"; empty when it says nothing of the kind.
std::string_view code_in(std::string_view xml) {
  constexpr std::string_view before = "<Code>", after = "</Code>";
  const auto begin = xml.find(before);
  if (begin == xml.npos) return {};
  const auto code = xml.substr(begin + before.size());
  const auto word = code.substr(0, code.find(after));
  const bool plain =
      word.size() <= 64 && std::ranges::all_of(word, [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
      });
  return plain ? word : std::string_view{};
}

class S3Blobs final : public BlobStore {
 public:
  explicit S3Blobs(S3Place place)
      : place_(std::move(place)), signer_(fmt::format("aws:amz:{}:s3", place_.region)) {
    while (place_.endpoint.ends_with('/')) place_.endpoint.pop_back();
  }

  std::string uri_of(std::string_view key) const override {
    return fmt::format("s3://{}/{}", place_.bucket, object(key));
  }

 private:
  Result<void> write(const std::string& key, std::string_view bytes) override {
    const S3Request request{"PUT", key, bytes, true};
    const auto answer = DW_TRY(ask(request));
    if (answer.status / 100 != 2) return refused_by_s3(request, answer);
    return {};
  }

  Result<std::string> read(const std::string& key) override {
    const S3Request request{"GET", key};
    auto answer = DW_TRY(ask(request));
    if (answer.status != 200) return refused_by_s3(request, answer);
    return std::move(answer.body);
  }

  Result<void> erase(const std::string& key) override {
    const S3Request request{"DELETE", key};
    const auto answer = DW_TRY(ask(request));
    const bool gone = answer.status == 404 && code_in(answer.body) != "NoSuchBucket";
    if (answer.status / 100 != 2 && !gone) return refused_by_s3(request, answer);
    return {};
  }

  std::string object(std::string_view key) const {
    return place_.prefix.empty() ? std::string{key} : fmt::format("{}/{}", place_.prefix, key);
  }

  Error no_answer(const S3Request& request, ErrorCode code, std::string_view why) const {
    return {code, fmt::format("{} of {} at {} failed: {}; see that the endpoint is right and can "
                              "be reached from here",
                              request.method, uri_of(request.key), place_.endpoint, why)};
  }

  Error refused_by_s3(const S3Request& request, const S3Answer& answer) const {
    const auto code = code_in(answer.body);
    const bool missing = answer.status == 404 && code != "NoSuchBucket";
    return {missing ? ErrorCode::not_found : ErrorCode::unavailable,
            fmt::format("{} of {} at {} was answered with {}{}{}; see that bucket, region and "
                        "credentials are right",
                        request.method, uri_of(request.key), place_.endpoint, answer.status,
                        code.empty() ? "" : " ", code)};
  }

  Result<S3Answer> ask(const S3Request& request) const {
    const Easy easy{library_is_ready() ? curl_easy_init() : nullptr};
    HeaderList headers;
    S3Answer answer;
    char detail[CURL_ERROR_SIZE] = {};
    if (!easy || !prepare(easy.get(), request, headers, answer.body)) {
      return no_answer(request, ErrorCode::unavailable, "libcurl takes no such request");
    }
    curl_easy_setopt(easy.get(), CURLOPT_ERRORBUFFER, detail);
    const CURLcode done = curl_easy_perform(easy.get());
    if (done != CURLE_OK) {
      const auto code = done == CURLE_OPERATION_TIMEDOUT    ? ErrorCode::timed_out
                        : done == CURLE_ABORTED_BY_CALLBACK ? ErrorCode::shutting_down
                                                            : ErrorCode::unavailable;
      return no_answer(request, code, detail[0] ? detail : curl_easy_strerror(done));
    }
    curl_easy_getinfo(easy.get(), CURLINFO_RESPONSE_CODE, &answer.status);
    return answer;
  }

  // Everything that a request is, signed by libcurl. Nothing is written to any log, and a redirect
  // is not followed: it would carry the signature elsewhere.
  bool prepare(CURL* easy, const S3Request& request, HeaderList& headers, std::string& body) const {
    // The service wants the digest, and before version 8 libcurl signs it only if it is told.
    bool fine = add_header(headers, "Content-Type: application/octet-stream") &&
                add_header(headers, "x-amz-content-sha256: " + sha256_hex(request.body));
    const auto& who = place_.credentials;
    if (!who.session_token.empty()) {
      fine = fine && add_header(headers, "x-amz-security-token: " + who.session_token);
    }
    const auto set = [&](CURLoption option, auto value) {
      fine = fine && curl_easy_setopt(easy, option, value) == CURLE_OK;
    };
    const auto url = fmt::format("{}/{}/{}", place_.endpoint, place_.bucket, object(request.key));
    set(CURLOPT_URL, url.c_str());
    set(CURLOPT_PROTOCOLS_STR, "http,https");
    set(CURLOPT_AWS_SIGV4, signer_.c_str());
    set(CURLOPT_USERNAME, who.access_key_id.c_str());
    set(CURLOPT_PASSWORD, who.secret_access_key.c_str());
    set(CURLOPT_HTTPHEADER, headers.get());
    set(CURLOPT_CUSTOMREQUEST, request.method);
    if (request.has_body) {
      set(CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(request.body.size()));
      set(CURLOPT_POSTFIELDS, request.body.data());
    }
    set(CURLOPT_WRITEFUNCTION, take_body);
    set(CURLOPT_WRITEDATA, static_cast<void*>(&body));
    set(CURLOPT_NOSIGNAL, 1L);
    set(CURLOPT_CONNECTTIMEOUT_MS, static_cast<long>(place_.connect_within.count()));
    set(CURLOPT_TIMEOUT_MS, static_cast<long>(place_.answer_within.count()));
    if (place_.given_up) {
      set(CURLOPT_NOPROGRESS, 0L);
      set(CURLOPT_XFERINFOFUNCTION, ask_whether_given_up);
      set(CURLOPT_XFERINFODATA, const_cast<void*>(static_cast<const void*>(&place_.given_up)));
    }
    return fine;
  }

  S3Place place_;
  const std::string signer_;
};

}  // namespace

std::unique_ptr<BlobStore> s3_blobs(S3Place place) {
  return std::make_unique<S3Blobs>(std::move(place));
}

}  // namespace dw::server
