// What a replica sends another on its own account: a message that an upstream said where all calls
// of a session are heard, for the call there that it belongs to. Implemented by front (peers);
// decision 3.
#pragma once

#include "aio/task.hpp"
#include "base/result.hpp"

#include <string>

namespace sluice::gateway {

struct forwarded_message {
    std::string replica;   // an id
    std::string principal; // whose session it is: policy::principal::id
    std::string session;   // its id
    std::string scope;     // its endpoint, below the mount path
    std::string upstream;  // who said it: the field of the session's record for that upstream
    std::string bytes;
};

class courier {
public:
    virtual ~courier() = default;
    // False when no call there takes it, or it never left; a fault when that is not known within a
    // second.
    virtual aio::task<base::result<bool>> deliver(forwarded_message what) = 0;
};

} // namespace sluice::gateway
