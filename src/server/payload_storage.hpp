// Payloads outside of history. A BlobStore keeps bytes in some place, in the layout that published
// SDKs use, so that either can read what the other wrote; PayloadStorage knows which place a
// namespace has, and tries it out when an administrator asks.
#pragma once
#include "core/executor.hpp"
#include "core/random.hpp"
#include "server/namespaces.hpp"

#include <filesystem>
#include <memory>

namespace dw::server {

inline constexpr std::size_t largest_blob = std::size_t{64} * 1024 * 1024;

// Blobs are found by what they are: a key is "avro/ab/abcd…", the SHA-256 of the bytes. So a blob
// never changes, writing it twice is writing it once, and a damaged one is noticed.
std::string blob_key(std::string_view bytes);
bool is_blob_key(std::string_view key);

class BlobStore {
 public:
  virtual ~BlobStore() = default;

  // Gives the key. Durable when it returns; what was damaged there is whole again.
  Result<std::string> put(std::string_view bytes);
  // Fails with not_found, or with store_corrupt when the bytes are not those of the key.
  Result<std::string> get(std::string_view key);
  // One that is gone already is fine.
  Result<void> remove(std::string_view key);

  // As a reference names it.
  virtual std::string uri_of(std::string_view key) const = 0;

 private:
  // Only ever called with a key that is one.
  virtual Result<void> write(const std::string& key, std::string_view bytes) = 0;
  virtual Result<std::string> read(const std::string& key) = 0;
  virtual Result<void> erase(const std::string& key) = 0;
};

struct PayloadStorageParts {
  const Namespaces& namespaces;
  Executor& patient;                 // a thread of its own: disks and networks take their time
  Random& random;                    // used on that thread only
  std::filesystem::path local_root;  // for namespaces that name no directory
  std::function<std::string(const char* name)> variable;  // of the environment; may be empty
};

class PayloadStorage {
 public:
  explicit PayloadStorage(PayloadStorageParts parts) : parts_(std::move(parts)) {}

  // Writes, reads and removes a small and a large payload where the namespace keeps its own.
  void test(const Call& call, Reply reply);

  // The place that the policy names. `given_up` is asked now and then during long transfers.
  Result<std::unique_ptr<BlobStore>> open(const Namespace& ns, const StoragePolicy& policy,
                                          std::function<bool()> given_up = {}) const;

 private:
  struct Trial;
  Answer tested(const Trial& trial);
  Result<Value::Map> round_trip(BlobStore& blobs, std::int64_t size, bool with_uri);
  std::string noise(std::int64_t size);

  const PayloadStorageParts parts_;
};

}  // namespace dw::server
