// The upstream sessions of one host session: one per upstream, opened on first use, never shared with
// another host (decision 1). Hung on the session; closed when it ends.
#pragma once

#include "aio/latch.hpp"
#include "aio/task.hpp"
#include "base/result.hpp"
#include "gateway/operation.hpp"
#include "session/session.hpp"
#include "upstream/link.hpp"

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace sluice::gateway {

using shared_link = std::shared_ptr<upstream::link>;

class session_links : public session::attachment {
public:
    session_links(house& in, session::session& host) : in_(in), host_(host) {}

    // The link to that server, opened when there is none usable; many callers wait for one opening.
    aio::task<base::result<shared_link>>
    ensure(std::size_t server, std::shared_ptr<const net::fields> headers, aio::instant until);

    // Links that are open now, with their server.
    std::vector<std::pair<std::size_t, shared_link>> open() const;

    aio::task<> close() override;

private:
    struct slot {
        explicit slot(aio::executor ex) : ready(ex) {}
        shared_link link;
        bool opening = false;
        base::fault last;
        aio::latch ready;
    };

    aio::task<base::result<shared_link>>
    open_one(std::size_t server, std::shared_ptr<const net::fields> headers, aio::instant until);
    aio::task<> set_level(shared_link link, aio::instant until);

    house& in_;
    session::session& host_;
    std::map<std::size_t, std::unique_ptr<slot>> slots_;
};

session_links& links_of(house& in, session::session& host);

// The host's headers that this server's configuration lets go up.
std::vector<std::pair<std::string, std::string>>
headers_for(const upstream::server_settings& server, const net::fields* from);

}  // namespace sluice::gateway
