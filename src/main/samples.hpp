// Workflows that come with the development server, for people who want to see one before they
// write one.
#pragma once
#include <dw/dw.hpp>

namespace dw::app {

// shop.place_order, an order saga; sample.tally, which counts what it is told until that is enough.
void register_samples(Registry& registry);

}  // namespace dw::app
