// Everything a program needs to run durable workflows in its own process.
#pragma once
#include <dw/activity.hpp>
#include <dw/engine.hpp>
#include <dw/exceptions.hpp>
#include <dw/registry.hpp>
#include <dw/workflow.hpp>
