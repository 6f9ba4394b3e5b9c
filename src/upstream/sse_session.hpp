// One session over the transport of 2024-11-05 (HTTP+SSE): a GET stream that carries every answer,
// and POSTs to the endpoint that its first event names, which must be of the same origin.
#pragma once

#include "aio/latch.hpp"
#include "net/http_client.hpp"
#include "upstream/duplex.hpp"
#include "upstream/request_headers.hpp"
#include "wire/sse.hpp"

#include <memory>
#include <optional>
#include <string>

namespace sluice::upstream {

class sse_session final : public duplex {
public:
    sse_session(
        std::shared_ptr<core> shared, std::shared_ptr<net::http_pool> pool, header_list forwarded
    );

    // The stream, its endpoint event, then the MCP session; on a fault nothing is left open.
    aio::task<base::result<void>> start(open_request request);
    aio::task<> close() override;
    aio::task<base::result<std::unique_ptr<reply>>> call(outgoing request) override;

private:
    using self = std::shared_ptr<sse_session>;
    base::result<void> put(std::string bytes, std::uint64_t id) override;
    aio::task<base::result<void>> open_stream(aio::instant until);
    static aio::task<> read_all(self me);
    static aio::task<> post(self me, net::fields headers, std::string bytes, std::uint64_t id);
    base::result<void> take_endpoint(const std::string& reference);
    net::fields headers() const;

    std::shared_ptr<net::http_pool> pool_;
    header_list forwarded_;
    net::fields own_;
    std::unique_ptr<net::client_response> stream_;
    wire::sse_decoder decoder_;
    std::string endpoint_;
};

} // namespace sluice::upstream
