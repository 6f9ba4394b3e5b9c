// What one upstream says outside calls, on its way to one host session: who may see it, and how
// often. Hung on the upstream's link as its listener; owned by the session's links. Spec:
// list_changed, resources/updated and logging notifications; "Listening for Messages".
#pragma once

#include "gateway/operation.hpp"
#include "session/session.hpp"
#include "upstream/link.hpp"

#include <memory>

namespace sluice::gateway {

class session_links;

class hearing final : public upstream::listener {
public:
    hearing(
        const grounds& in, session::session& host, session_links& of, const shared_served& server
    )
        : lists_(in.lists), host_(host), of_(of), server_(server) {}

    bool unclaimed(const wire::message& said) override;
    void heard(const wire::message& note) override;
    void reopened() override;
    void missed() override;
    void lost() override;

private:
    bool may_see(const wire::message& note) const;

    catalog::index& lists_;
    session::session& host_;
    session_links& of_; // owns this
    shared_served server_;
};

// Whether the level of a logging notification is one that this host asked for. A host that asked
// for none takes what its own upstream session sends, and nothing of an upstream that others share.
bool asked_for_level(const session::session& host, const wire::message& note, bool shared);

} // namespace sluice::gateway
