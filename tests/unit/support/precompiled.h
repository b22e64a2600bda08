// What nearly every unit test includes, compiled once. Never included by hand.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/precompiled.h"
