// Boost.Beast's compiled part; the only file that includes it.
#include <boost/beast/src.hpp>
