// What dead replicas have left: for each session on the roll of one, the replica that is quickest
// takes its calls over (resuming.hpp), also where no host comes back to ask for them: answers are
// fetched to their end, open questions are refused to who asked, and an HTTP+SSE session, whose one
// stream is gone, is ended with its upstream sessions. Decisions 2 and 4.
#pragma once

#include "aio/nursery.hpp"
#include "aio/task.hpp"
#include "gateway/operation.hpp"

#include <functional>
#include <map>
#include <memory>
#include <string>

namespace sluice::gateway {

class estates {
public:
    // `newest`: the house of the configuration in force.
    estates(const grounds& on, std::function<house&()> newest);

    void start();
    aio::task<> shut_down();

private:
    // Of one session in the estate of one replica.
    struct share {
        std::string dead;
        std::string session; // key
        std::string holder;  // who looks after it
    };

    aio::task<> look_round();
    aio::task<> look();
    aio::task<> settle(std::string dead);
    aio::task<bool> settle_one(share what); // true: there is nothing to be done (any more)
    aio::task<bool> hold(const share& what);
    aio::task<bool> settle_calls(std::shared_ptr<session::session> host, std::string dead);

    const grounds& on_;
    std::function<house&()> newest_;
    struct death {
        aio::instant seen;
        bool said = false;
    };
    std::map<std::string, death> deaths_;
    aio::nursery looking_;
};

} // namespace sluice::gateway
