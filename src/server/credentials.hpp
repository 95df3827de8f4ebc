// The secrets in force, which may change while requests are being served.
#pragma once
#include "server/auth.hpp"

#include <memory>
#include <mutex>

namespace dw::server {

class Credentials {
 public:
  explicit Credentials(Auth auth) : auth_(std::make_shared<const Auth>(std::move(auth))) {}

  // Whoever holds it judges by it to the end of a request.
  std::shared_ptr<const Auth> in_force() const {
    const std::lock_guard lock{mutex_};
    return auth_;
  }
  void replace(Auth auth) {
    auto fresh = std::make_shared<const Auth>(std::move(auth));
    const std::lock_guard lock{mutex_};
    auth_.swap(fresh);
  }

 private:
  mutable std::mutex mutex_;
  std::shared_ptr<const Auth> auth_;  // guarded by mutex_
};

}  // namespace dw::server
