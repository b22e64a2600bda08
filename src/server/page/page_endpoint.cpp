#include "server/page/page_endpoint.h"

#include <string>
#include <string_view>

// The bytes of the bundle. The assembler puts them into the read-only data, because a C++ array of them takes seconds
// to compile.
#ifdef __APPLE__
#define INFERFLUX_READ_ONLY ".const_data\n"
#define INFERFLUX_SYMBOL(name) "_" name
#else
#define INFERFLUX_READ_ONLY ".section .rodata\n"
#define INFERFLUX_SYMBOL(name) name
#endif
#define INFERFLUX_EMBED(name, file)                                                    \
  __asm__(INFERFLUX_READ_ONLY ".global " INFERFLUX_SYMBOL(name) "\n" INFERFLUX_SYMBOL( \
      name) ":\n.incbin \"" file                                                       \
            "\"\n.global " INFERFLUX_SYMBOL(name "_end") "\n" INFERFLUX_SYMBOL(name "_end") ":\n.byte 0\n.text\n")

INFERFLUX_EMBED("inferflux_page", INFERFLUX_PAGE_FOLDER "/page.html");
INFERFLUX_EMBED("inferflux_page_gzip", INFERFLUX_PAGE_FOLDER "/page.html.gz");
INFERFLUX_EMBED("inferflux_page_policy", INFERFLUX_PAGE_FOLDER "/page_policy.txt");

extern "C" {
extern const char inferflux_page[], inferflux_page_end[];
extern const char inferflux_page_gzip[], inferflux_page_gzip_end[];
extern const char inferflux_page_policy[], inferflux_page_policy_end[];
}

namespace inferflux::server {

bool HasPage() { return true; }

net::Response Page(const net::Request& request) {
  const bool gzip = net::FindHeader(request.headers, "Accept-Encoding").find("gzip") != std::string_view::npos;
  net::Response out(200, "text/html; charset=utf-8",
                    gzip ? std::string(inferflux_page_gzip, inferflux_page_gzip_end)
                         : std::string(inferflux_page, inferflux_page_end));
  if (gzip) out.headers.push_back({"Content-Encoding", "gzip"});
  out.headers.push_back({"Vary", "Accept-Encoding"});
  out.headers.push_back({"Content-Security-Policy", std::string(inferflux_page_policy, inferflux_page_policy_end)});
  out.headers.push_back({"X-Content-Type-Options", "nosniff"});
  out.headers.push_back({"Referrer-Policy", "no-referrer"});
  out.headers.push_back({"Cache-Control", "no-cache"});
  return out;
}

}  // namespace inferflux::server
