// How records of sessions are found in the store besides by their key. Internal to session.
#pragma once

#include <string>
#include <string_view>

namespace sluice::session {

inline constexpr std::string_view who_field = "who";

inline std::string roster_of(std::string_view principal) {
    return "k:" + std::string(principal);
}

} // namespace sluice::session
