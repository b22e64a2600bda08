// The headers that nearly every file of the server includes, compiled once. Never include this file by hand.
#pragma once

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>

#include "base/precompiled.h"
#include "net/precompiled.h"
