// A run as one verifiable document, with everything the store knows of it.
#pragma once
#include "bundle/export.hpp"
#include "store/store.hpp"

namespace dw::server {

Result<bundle::Inputs> export_inputs(store::Store& store, const store::LoadedRun& run,
                                     Timestamp now);

}  // namespace dw::server
