// Whom a call is about, and how its failure is told. For the services of this room.
#pragma once
#include "server/front_desk.hpp"
#include "store/store.hpp"

namespace dw::server {

store::InstanceKey instance_of(const Call& call);
// Absent: whichever run is the instance's current one.
std::optional<RunId> run_of(const Call& call);

Answer no_such_instance(const Call& call);
// What went wrong on our side of the desk, or on the way to the disk.
Answer failed(const Error& error, const Call& call);

}  // namespace dw::server
